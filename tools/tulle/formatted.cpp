// SPDX-License-Identifier: Apache-2.0
#include "formatted.hpp"

#include <cstdarg>
#include <cstdio>

std::string formatted(const char* form, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, form);
  std::vsnprintf(text, sizeof text, form, arguments);
  va_end(arguments);
  return text;
}
