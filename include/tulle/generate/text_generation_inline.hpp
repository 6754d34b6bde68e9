// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for text_generation.hpp (L4).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <tulle/core/compiled.hpp>
#include <tulle/format/tokenizer_files.hpp>
#include <tulle/generate/draft/make_speculation.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/model.hpp>
#include <tulle/generate/packed_cache.hpp>
#include <tulle/generate/text_generation.hpp>
#include <tulle/kernel/any_kernel.hpp>
#include <tulle/text/end_of_turn.hpp>

namespace tulle {

namespace detail {

inline PackOptions pack_options(const TextGenerationOptions& options) {
  PackOptions pack;
  pack.kernel = kernel_choice(options.kernel);
  return pack;
}

}  // namespace detail

TULLE_INLINE TextGeneration::TextGeneration(const std::string& path, const TextGenerationOptions& options)
    : TextGeneration(load_packed<AnyKernel>(*Checkpoint::open(path, options.adapters), detail::pack_options(options),
                                            {options.engine.packed_cache, options.engine.verify_packed},
                                            options.progress, options.engine.threads),
                     load_tokenizer(path), load_chat_template(path), options.engine) {
  const DraftTarget target{*engine_, *tokenizer_, options.engine,
                           [&] { return Checkpoint::open(path, options.adapters); }};
  engine_->speculate(make_speculation(target, options.draft, options.progress));
}

TULLE_INLINE TextGeneration::TextGeneration(std::shared_ptr<const Model<AnyKernel>> model,
                                            std::shared_ptr<const Tokenizer> tokenizer, std::string chat_template,
                                            const EngineOptions& options)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      chat_template_(std::move(chat_template)),
      engine_(make_engine(model_, options, tokenizer_->vocabulary_size())) {}

TULLE_INLINE TextGeneration::TextGeneration(TextGeneration&& other) noexcept = default;
TULLE_INLINE TextGeneration& TextGeneration::operator=(TextGeneration&& other) noexcept = default;
TULLE_INLINE TextGeneration::~TextGeneration() = default;

TULLE_INLINE TextGenerationOutput TextGeneration::operator()(std::string_view prompt,
                                                             const GenerationOptions& options) {
  const std::string one(prompt);
  return (*this)(std::span(&one, 1), options);
}

TULLE_INLINE TextGenerationOutput TextGeneration::operator()(std::span<const std::string> prompts,
                                                             const GenerationOptions& options) {
  TextStream stream = this->stream(prompts, options);
  while (stream.next()) {
  }
  return {{prompts.begin(), prompts.end()}, stream.results(), stream.timings()};
}

TULLE_INLINE TextStream TextGeneration::stream(std::string_view prompt, const GenerationOptions& options) {
  const std::string one(prompt);
  return stream(std::span(&one, 1), options);
}

TULLE_INLINE TextStream TextGeneration::stream(std::span<const std::string> prompts, const GenerationOptions& options) {
  return TextStream(*engine_, *tokenizer_, encode(prompts, options), options);
}

TULLE_INLINE std::vector<std::vector<Token>> TextGeneration::encode(std::span<const std::string> prompts,
                                                                    const GenerationOptions& options) const {
  std::vector<std::vector<Token>> tokens;
  for (const std::string& prompt : prompts) {
    tokens.push_back(tokenizer_->encode(prompt, {.add_special_tokens = options.add_special_tokens}));
  }
  return tokens;
}

TULLE_INLINE std::vector<Token> TextGeneration::chat_ends() const {
  std::vector<Token> ends = engine_->architecture().eos;
  for (const std::optional<Token>& token : {tokenizer_->eos_token(), end_of_turn(chat_template_, *tokenizer_)}) {
    if (token) ends.push_back(*token);
  }
  return ends;
}

}  // namespace tulle
