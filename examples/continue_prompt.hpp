// SPDX-License-Identifier: Apache-2.0
// The steps of lesson 2 for any kernel, cache and sampler: loads a model, builds a generator and prints a prompt with
// its continuation.
#pragma once

#include <exception>
#include <iostream>
#include <string>

#include <tulle/format/tokenizer_files.hpp>
#include <tulle/generate/generator.hpp>
#include <tulle/generate/model.hpp>
#include <tulle/text/token_stream.hpp>

/// `arguments`: the program, MODEL and perhaps PROMPT. Returns what main returns.
template <tulle::LinearKernel Kernel, tulle::CacheLayout Cache, tulle::Sampler Sampling>
int continue_prompt(int count, char** arguments) try {
  if (count < 2) tulle::fail(tulle::ErrorCode::invalid_argument, "usage: ", arguments[0], " MODEL [PROMPT]");
  const std::string prompt = count > 2 ? arguments[2] : "Once upon a time";
  const auto tokenizer = tulle::load_tokenizer(arguments[1]);
  const auto model = tulle::Model<Kernel>::load(arguments[1]);
  const tulle::Architecture& architecture = model->architecture();
  tulle::ThreadPool pool;

  Cache cache(cache_shape(architecture), 1, 512);
  tulle::Generator<Kernel, Cache, Sampling> generator(architecture, model->weights(), pool, std::move(cache), 256,
                                                      tokenizer->vocabulary_size());
  generator.start(tokenizer->encode(prompt, {.add_special_tokens = true}), Sampling(),
                  {.max_new_tokens = 64, .eos = architecture.eos});

  std::cout << prompt;
  tulle::TokenStream text(*tokenizer, true);
  while (generator.running()) {
    for (const tulle::Emission& emission : generator.step(generator.plan()).emissions) {
      if (emission.token >= 0) std::cout << text.push(emission.token) << std::flush;
    }
  }
  std::cout << text.finish() << "\n\nweights: " << model->weights().size_bytes()
            << " bytes, cache: " << generator.cache().size_bytes() << " bytes\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << arguments[0] << ": " << error.what() << "\n";
  return 1;
}
