// SPDX-License-Identifier: Apache-2.0
/// \file Text with numbers in it.
#pragma once

#include <string>

/// The output of printf, cut at 511 characters.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* form, ...);
