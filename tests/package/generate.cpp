// SPDX-License-Identifier: Apache-2.0
// The README's first program, as somebody who installed Tulle compiles it.
#include <iostream>
#include <tulle/tulle.hpp>

int main(int, char** arguments) {
  tulle::TextGeneration pipeline(arguments[1]);  // a Hugging Face directory or a GGUF file
  tulle::GenerationOptions options;
  options.max_new_tokens = 64;
  for (const tulle::TextPiece& piece : pipeline.stream(arguments[2], options)) {
    std::cout << piece.text << std::flush;
  }
}
