// SPDX-License-Identifier: Apache-2.0
/// \file How often the test program has allocated.
#pragma once

#include <atomic>
#include <cstddef>

namespace tulle::testing {

inline std::atomic<std::size_t> allocations = 0;

}  // namespace tulle::testing
