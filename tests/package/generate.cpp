// SPDX-License-Identifier: Apache-2.0
// The README's first program, as somebody who installed Tulle compiles it.
#include <tulle/tulle.hpp>

#include <iostream>

int main(int, char** arguments) {
  tulle::TextGeneration generate(arguments[1]);
  for (const auto& piece : generate.stream("Once upon a time", {.max_new_tokens = 8})) std::cout << piece.text;
  std::cout << std::endl;
}
