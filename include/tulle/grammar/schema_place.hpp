// SPDX-License-Identifier: Apache-2.0
/// \file Places of a JSON Schema that a `$ref` names (L3).
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <tulle/core/json.hpp>
#include <tulle/grammar/schema_values.hpp>

namespace tulle::detail {

/// The fragment of a URI with the bytes that stand there as %25 (RFC 6901, 6). Other percent signs are themselves.
inline std::string decoded_fragment(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::uint8_t byte = 0;
    const std::string_view digits = text.substr(std::min(at + 1, text.size()), 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    const bool is_escape =
        text[at] == '%' && digits.size() == 2 && error == std::errc() && end == digits.data() + digits.size();
    result += is_escape ? static_cast<char>(byte) : text[at];
    if (is_escape) at += 2;
  }
  return result;
}

/// What `uri`, "#" or "#/...", names. Errors: invalid_argument where nothing is there.
inline const OrderedJson& schema_target(const OrderedJson& root, const std::string& uri) {
  try {
    return root.at(OrderedJson::json_pointer(decoded_fragment(std::string_view(uri).substr(1))));
  } catch (const OrderedJson::exception&) {
    refuse_schema(uri, "is not there");
  }
}

}  // namespace tulle::detail
