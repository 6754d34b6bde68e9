// SPDX-License-Identifier: Apache-2.0
/// \file Comparison of secrets (L6).
#pragma once

#include <cstddef>
#include <string_view>

namespace tulle::serve {

/// Equal texts, in a time that depends on the length of `given` alone.
inline bool equal_in_constant_time(std::string_view given, std::string_view secret) noexcept {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char other = secret.empty() ? '\0' : secret[i % secret.size()];
    difference |= static_cast<unsigned>(static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(other));
  }
  return difference == 0;
}

}  // namespace tulle::serve
