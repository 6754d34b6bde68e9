// SPDX-License-Identifier: Apache-2.0
// Lesson 1: text in, text out.
//   usage: 01_generate MODEL [PROMPT]      MODEL is a Hugging Face folder or a GGUF file
#include <iostream>
#include <string>

#include <tulle/tulle.hpp>

int main(int count, char** arguments) try {
  if (count < 2) tulle::fail(tulle::ErrorCode::invalid_argument, "usage: 01_generate MODEL [PROMPT]");
  tulle::TextGeneration generate(arguments[1]);
  const std::string prompt = count > 2 ? arguments[2] : "Once upon a time";

  // A stream is a range: each step of the loop generates the next piece, and leaving the loop ends the generation.
  std::cout << prompt;
  for (const tulle::TextPiece& piece : generate.stream(prompt, {.max_new_tokens = 64})) {
    std::cout << piece.text << std::flush;
  }
  std::cout << "\n";

  // The same without streaming, but drawn by probability. The same seed always draws the same text.
  tulle::GenerationOptions options;
  options.max_new_tokens = 32;
  options.sampling.do_sample = true;
  options.sampling.temperature = 0.8f;
  options.seed = 42;
  const tulle::TextGenerationOutput output = generate(prompt, options);
  std::cout << "\n" << prompt << output.generations.front().text << "\n";
} catch (const tulle::Error& error) {
  std::cerr << "01_generate: " << error.what() << "\n";  // what is wrong, where, and what to do
  return 1;
}
