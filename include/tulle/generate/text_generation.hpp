// SPDX-License-Identifier: Apache-2.0
/// \file Text in, text out (L4).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/format/tokenizer_files.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/generation_options.hpp>
#include <tulle/generate/session.hpp>
#include <tulle/generate/text_stream.hpp>
#include <tulle/text/chat_template.hpp>

namespace tulle {

/// How a model is loaded and run; what one call generates stands in `GenerationOptions`.
struct TextGenerationOptions {
  std::string kernel = "auto";  ///< a name of `kernel_choices`
  EngineOptions engine = {};
  Progress progress = {};  ///< reports loading
};

/// A model, its tokenizer and an engine.
/// Threads: one call at a time; models may be shared between several pipelines.
class TextGeneration {
 public:
  /// Loads a Hugging Face directory or a GGUF file. Errors: those of loading, with what is wrong, where, and what to do.
  explicit TextGeneration(const std::string& path, const TextGenerationOptions& options = {})
      : TextGeneration(Model<AnyKernel>::load(path, pack_options(options), options.progress, options.engine.threads),
                       load_tokenizer(path), load_chat_template(path), options.engine) {}

  /// Puts loaded parts together. `chat_template` may be empty.
  TextGeneration(std::shared_ptr<const Model<AnyKernel>> model, std::shared_ptr<const Tokenizer> tokenizer,
                 std::string chat_template, const EngineOptions& options = {})
      : model_(std::move(model)),
        tokenizer_(std::move(tokenizer)),
        chat_template_(std::move(chat_template)),
        engine_(make_engine(model_, options, tokenizer_->vocabulary_size())) {}

  const Model<AnyKernel>& model() const noexcept { return *model_; }
  const Tokenizer& tokenizer() const noexcept { return *tokenizer_; }
  Engine& engine() noexcept { return *engine_; }

  /// Continues one prompt.
  TextGenerationOutput operator()(std::string_view prompt, const GenerationOptions& options = {}) {
    const std::string one(prompt);
    return (*this)(std::span(&one, 1), options);
  }

  /// Continues several prompts side by side. Errors: invalid_argument, capacity.
  TextGenerationOutput operator()(std::span<const std::string> prompts, const GenerationOptions& options = {}) {
    TextStream stream = this->stream(prompts, options);
    while (stream.next()) {
    }
    return {{prompts.begin(), prompts.end()}, stream.results(), stream.timings()};
  }

  /// Continues a prompt piece by piece, as the pieces are read. Lifetime: the pipeline must outlive the stream.
  TextStream stream(std::string_view prompt, const GenerationOptions& options = {}) {
    const std::string one(prompt);
    return stream(std::span(&one, 1), options);
  }
  TextStream stream(std::span<const std::string> prompts, const GenerationOptions& options = {}) {
    return TextStream(*engine_, *tokenizer_, encode(prompts, options), options);
  }

  /// An empty conversation that keeps its state between calls. Lifetime: the pipeline must outlive it.
  Session session() { return Session(*engine_, *tokenizer_); }

  bool has_chat_template() const noexcept { return !chat_template_.empty(); }

  /// The prompt that the model's own chat template makes of messages. Errors: unsupported when the model has none,
  /// malformed for a template that cannot be read, invalid_argument for messages it refuses.
  std::string apply_chat_template(std::span<const ChatMessage> messages, bool add_generation_prompt = true) const {
    return render_chat(chat_template_, *tokenizer_, messages, add_generation_prompt);
  }

 private:
  static PackOptions pack_options(const TextGenerationOptions& options) {
    PackOptions pack;
    pack.kernel = kernel_choice(options.kernel);
    return pack;
  }

  std::vector<std::vector<Token>> encode(std::span<const std::string> prompts, const GenerationOptions& options) const {
    std::vector<std::vector<Token>> tokens;
    for (const std::string& prompt : prompts) {
      tokens.push_back(tokenizer_->encode(prompt, {.add_special_tokens = options.add_special_tokens}));
    }
    return tokens;
  }

  std::shared_ptr<const Model<AnyKernel>> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::string chat_template_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace tulle
