// SPDX-License-Identifier: Apache-2.0
/// \file Text in, text out (L4).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/progress.hpp>
#include <tulle/core/types.hpp>
#include <tulle/format/lora/adapter_path.hpp>
#include <tulle/generate/draft/draft_options.hpp>
#include <tulle/generate/engine_options.hpp>
#include <tulle/generate/generation_options.hpp>
#include <tulle/generate/session.hpp>
#include <tulle/generate/text_stream.hpp>
#include <tulle/text/render_chat.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

struct AnyKernel;
template <class Kernel>
class Model;

/// How a model is loaded and run; what one call generates stands in `GenerationOptions`.
struct TextGenerationOptions {
  std::string kernel = "auto";             ///< a name of `kernel_choices`
  std::vector<AdapterPath> adapters = {};  ///< LoRA adapters, merged into the weights as they are read
  EngineOptions engine = {};
  DraftOptions draft = {};  ///< what guesses the next tokens; the text is the same without
  Progress progress = {};   ///< reports loading
};

/// A model, its tokenizer and an engine.
/// Threads: one call at a time; models may be shared between several pipelines.
class TextGeneration {
 public:
  /// Loads a Hugging Face directory or a GGUF file. Errors: those of loading, with what is wrong, where, and what to
  /// do.
  explicit TextGeneration(const std::string& path, const TextGenerationOptions& options = {});

  /// Puts loaded parts together. `chat_template` may be empty.
  TextGeneration(std::shared_ptr<const Model<AnyKernel>> model, std::shared_ptr<const Tokenizer> tokenizer,
                 std::string chat_template, const EngineOptions& options = {});
  TextGeneration(TextGeneration&& other) noexcept;
  TextGeneration& operator=(TextGeneration&& other) noexcept;
  ~TextGeneration();

  /// Complete with <tulle/generate/model.hpp> and <tulle/kernel/any_kernel.hpp>.
  const Model<AnyKernel>& model() const noexcept { return *model_.get(); }  // *model_ would look into the class
  const Tokenizer& tokenizer() const noexcept { return *tokenizer_; }
  Engine& engine() noexcept { return *engine_; }  ///< see <tulle/generate/engine.hpp>

  /// Continues one prompt.
  TextGenerationOutput operator()(std::string_view prompt, const GenerationOptions& options = {});

  /// Continues several prompts side by side. Errors: invalid_argument, capacity.
  TextGenerationOutput operator()(std::span<const std::string> prompts, const GenerationOptions& options = {});

  /// Continues a prompt piece by piece, as the pieces are read. Lifetime: the pipeline must outlive the stream.
  TextStream stream(std::string_view prompt, const GenerationOptions& options = {});
  TextStream stream(std::span<const std::string> prompts, const GenerationOptions& options = {});

  /// An empty conversation that keeps its state between calls. Lifetime: the pipeline must outlive it.
  Session session() { return Session(*engine_, *tokenizer_); }

  bool has_chat_template() const noexcept { return !chat_template_.empty(); }
  const std::string& chat_template() const noexcept { return chat_template_; }

  /// The prompt that the model's own chat template makes of messages. Errors: unsupported when the model has none,
  /// malformed for a template that cannot be read, invalid_argument for messages that it rejects.
  std::string apply_chat_template(std::span<const ChatMessage> messages, bool add_generation_prompt = true) const {
    return render_chat(chat_template_, *tokenizer_, messages, add_generation_prompt);
  }

  /// The tokens that end an answer in a conversation, for `SamplingOptions::eos`: the model's own, the tokenizer's end
  /// of text and the end of a turn in the chat template.
  std::vector<Token> chat_ends() const;

 private:
  std::vector<std::vector<Token>> encode(std::span<const std::string> prompts, const GenerationOptions& options) const;

  std::shared_ptr<const Model<AnyKernel>> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::string chat_template_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace tulle

#ifndef TULLE_COMPILED
#include <tulle/generate/text_generation_inline.hpp>
#endif
