// SPDX-License-Identifier: Apache-2.0
// Beside generate.cpp in one program: a function that is not inline, or a variable, would be defined twice.
#include <tulle/tulle.hpp>

std::size_t tokens_of(const tulle::GeneratedText& text) {
  return text.tokens.size();
}
