// SPDX-License-Identifier: Apache-2.0
/// \file Text with numbers in it.
#pragma once

#include <string>

/// What printf would write, as far as it fits into 511 characters.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* form, ...);
