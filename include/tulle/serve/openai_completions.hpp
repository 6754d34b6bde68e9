// SPDX-License-Identifier: Apache-2.0
/// \file OpenAI's POST /v1/completions (L6).
/// Source: https://platform.openai.com/docs/api-reference/completions
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/serve/openai_chat.hpp>
#include <tulle/serve/reply.hpp>
#include <tulle/serve/request_fields.hpp>
#include <tulle/serve/sampling_fields.hpp>
#include <tulle/serve/structured_output.hpp>
#include <tulle/text/token_stream.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle::serve {

namespace detail {

inline std::vector<Token> token_list(const Json& list) {
  std::vector<Token> tokens;
  for (const Json& id : list) {
    const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() <= std::numeric_limits<Token>::max();
    if (!fits) throw ApiError(400, "\"prompt\": " + id.dump() + " is no token id", "prompt");
    tokens.push_back(id.get<Token>());
  }
  return tokens;
}

/// How many characters a text has, as Python counts them.
inline std::size_t count_characters(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
}

/// Where the tokens of a text begin, in characters: also those whose text comes later, held back by a stop string or an
/// incomplete code point.
class TextOffset {
 public:
  explicit TextOffset(TokenStream text, std::size_t begin = 0) : text_(std::move(text)), offset_(begin) {}

  /// Of the token that comes next.
  std::size_t of(Token token) { return std::exchange(offset_, offset_ + count_characters(text_.push(token))); }

 private:
  TokenStream text_;
  std::size_t offset_;
};

/// The text of a token. A part of a character is written as OpenAI does: "bytes:\xf0\x9f" with the backslashes, so that
/// tokens with other bytes have other names.
inline std::string token_name(const Tokenizer& tokenizer, Token token) {
  std::string bytes = tokenizer.piece(token);
  if (is_valid_utf8(bytes)) return bytes;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string name = "bytes:";
  for (const char byte : bytes) {
    const auto value = static_cast<std::uint8_t>(byte);
    if (value >= ' ' && value <= '~' && byte != '\\') {
      name += byte;
    } else {
      name += {'\\', 'x', digits[value / 16], digits[value % 16]};
    }
  }
  return name;
}

/// The `logprobs` object of a completion, filled token by token.
class CompletionProbabilities {
 public:
  explicit CompletionProbabilities(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void add(Token token, std::optional<float> log_probability, std::span<const Candidate> alternatives,
           std::size_t text_offset) {
    tokens_.push_back(token_name(tokenizer_, token));
    token_log_probabilities_.push_back(log_probability ? Json(*log_probability) : Json(nullptr));
    Json top = log_probability ? Json::object() : Json(nullptr);
    // The most probable first: of tokens with one text it is the one that stays.
    for (const Candidate& each : alternatives) top.emplace(token_name(tokenizer_, each.token), each.log_probability);
    if (log_probability) top.emplace(token_name(tokenizer_, token), *log_probability);
    top_.push_back(std::move(top));
    offsets_.push_back(text_offset);
  }
  /// A prompt that is echoed, without its special tokens: the offsets are those in that text.
  void add(std::span<const PromptToken> prompt) {
    TextOffset offset(TokenStream(tokenizer_, true));
    for (const PromptToken& token : prompt) {
      add(token.token, token.log_probability, token.alternatives, offset.of(token.token));
    }
  }
  Json take() {
    return {{"tokens", std::exchange(tokens_, Json::array())},
            {"token_logprobs", std::exchange(token_log_probabilities_, Json::array())},
            {"top_logprobs", std::exchange(top_, Json::array())},
            {"text_offset", std::exchange(offsets_, Json::array())}};
  }

 private:
  const Tokenizer& tokenizer_;
  Json tokens_ = Json::array(), token_log_probabilities_ = Json::array(), top_ = Json::array(),
       offsets_ = Json::array();
};

}  // namespace detail

/// `prompt`: a text, texts, token ids, or lists of token ids. Errors: ApiError 400.
inline std::vector<std::vector<Token>> read_prompts(const RequestFields& fields, const ServedModel& model) {
  const Json* prompt = fields.find("prompt");
  if (prompt == nullptr) throw ApiError(400, "\"prompt\" is missing", "prompt");
  const auto encode = [&](const Json& text) {
    return model.tokenizer.encode(text.get_ref<const std::string&>(), {.add_special_tokens = true});
  };
  if (prompt->is_string()) return {encode(*prompt)};
  if (!prompt->is_array() || prompt->empty()) {
    throw ApiError(400, "\"prompt\" must be a text, a list of texts, token ids or lists of token ids", "prompt");
  }
  if (prompt->front().is_number()) return {detail::token_list(*prompt)};
  if (prompt->size() > max_prompts) throw ApiError(400, "at most 256 prompts in a request", "prompt");
  std::vector<std::vector<Token>> prompts;
  for (const Json& each : *prompt) {
    if (!each.is_string() && !each.is_array()) {
      throw ApiError(400, "\"prompt\" must hold texts or lists of token ids", "prompt");
    }
    prompts.push_back(each.is_string() ? encode(each) : detail::token_list(each));
  }
  return prompts;
}

class CompletionReply : public Reply {
 public:
  struct Options {
    bool echo = false, probabilities = false, usage = false;
    std::size_t copies = 1;  ///< texts of each prompt
  };

  CompletionReply(const ServedModel& model, const GenerationRequest& request, const Options& options)
      : tokenizer_(model.tokenizer),
        options_(options),
        skips_special_(request.options.skip_special_tokens),
        continues_(!request.options.begins_text),
        head_{{"id", new_id("cmpl-")},
              {"object", "text_completion"},
              {"created", unix_time()},
              {"model", model.id},
              {"system_fingerprint", "tulle"}} {
    for (const auto& prompt : request.prompts) {
      if (options.echo) echoes_.push_back(tokenizer_.decode(prompt, true));
      offsets_.insert(offsets_.end(), options.copies, first_offset(options.echo ? echoes_.back() : ""));
    }
  }

  Json whole(std::span<const FinishedText> texts, const GenerationJob& job) override {
    Json choices = Json::array();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::string text = options_.echo ? echoes_[i / options_.copies] : std::string();
      Json probabilities = nullptr;
      if (options_.probabilities) {
        detail::CompletionProbabilities list(tokenizer_);
        list.add(texts[i - i % options_.copies].prompt);
        detail::TextOffset offset = first_offset(text);
        for (const GenerationEvent& event : texts[i].events) {
          const Token token = event.piece.token;
          list.add(token, event.piece.log_probability, event.alternatives, offset.of(token));
        }
        probabilities = list.take();
      }
      text += texts[i].text;
      choices.push_back(choice(i, text, std::move(probabilities), texts[i].finish_reason));
    }
    Json result = head_;
    result["choices"] = std::move(choices);
    result["usage"] = usage_json(job.summary());
    return result;
  }

  std::string opening() override {
    std::string events;
    if (options_.probabilities) return events;  // the echo comes with those of the prompt
    for (std::size_t prompt = 0; prompt < echoes_.size(); ++prompt) events += echo(prompt, {});
    return events;
  }

  std::string next(const GenerationEvent& event) override {
    const TextPiece& piece = event.piece;
    std::string events;
    if (!event.prompt.empty()) events = echo(piece.generation / options_.copies, event.prompt);
    Json probabilities = nullptr;
    if (options_.probabilities && piece.token >= 0) {
      detail::CompletionProbabilities list(tokenizer_);
      list.add(piece.token, piece.log_probability, event.alternatives, offsets_[piece.generation].of(piece.token));
      probabilities = list.take();
    }
    if (piece.text.empty() && probabilities.is_null() && piece.finish_reason == FinishReason::none) return events;
    return events + chunk(choice(piece.generation, piece.text, std::move(probabilities), piece.finish_reason));
  }

  std::string closing(const GenerationJob& job) override {
    std::string events;
    if (options_.usage) {
      Json last = head_;
      last["choices"] = Json::array();
      last["usage"] = usage_json(job.summary());
      events = sent_event(last);
    }
    return events + "data: [DONE]\n\n";
  }

 private:
  static Json choice(std::size_t index, const std::string& text, Json probabilities, FinishReason reason) {
    return {{"index", index},
            {"text", text},
            {"logprobs", std::move(probabilities)},
            {"finish_reason", finish_reason_json(reason)}};
  }
  /// A prompt, at the beginning of each of its texts. `tokens`: with their probabilities, where those are wanted.
  std::string echo(std::size_t prompt, std::span<const PromptToken> tokens) {
    std::string events;
    for (std::size_t i = prompt * options_.copies; i < (prompt + 1) * options_.copies; ++i) {
      Json probabilities = nullptr;
      if (!tokens.empty()) {
        detail::CompletionProbabilities list(tokenizer_);
        list.add(tokens);
        probabilities = list.take();
      }
      events += chunk(choice(i, echoes_[prompt], std::move(probabilities), FinishReason::none));
    }
    return events;
  }
  std::string chunk(Json one) const {
    Json result = head_;
    result["choices"] = Json::array({std::move(one)});
    if (options_.usage) result["usage"] = nullptr;
    return sent_event(result);
  }

  /// Of the first token behind an echo, or behind nothing.
  detail::TextOffset first_offset(std::string_view echo) const {
    return detail::TextOffset(TokenStream(tokenizer_, skips_special_, continues_), detail::count_characters(echo));
  }

  const Tokenizer& tokenizer_;
  Options options_;
  bool skips_special_, continues_;
  std::vector<detail::TextOffset> offsets_;  // [texts]
  std::vector<std::string> echoes_;          // [prompts]
  Json head_;
};

/// Errors: ApiError 400.
inline PreparedRequest prepare_completion(const RequestBody& body, const ServedModel& model) {
  const RequestFields fields(body.json);
  PreparedRequest prepared;
  GenerationRequest& request = prepared.request;
  CompletionReply::Options options;
  options.echo = fields.boolean("echo", false);
  request.options = read_generation(fields, true);
  if (fields.asks("tools")) throw ApiError(400, "tools are given to /v1/chat/completions here", "tools");
  // A text of no tokens is asked for by those who want the probabilities of the prompt.
  request.options.max_new_tokens = max_tokens_field(fields, {"max_tokens"}, 16, options.echo ? 0 : 1);
  if (!fields.text("suffix", "").empty()) throw ApiError(400, "\"suffix\" is not supported", "suffix");
  if (fields.count("best_of", request.options.num_return_sequences, 1, 128) != request.options.num_return_sequences) {
    throw ApiError(400, "\"best_of\" must equal \"n\"; texts are not ranked here", "best_of");
  }
  fields.with("logprobs", "a count", [&](const ArgumentValue& value) {
    if (value.json().is_boolean() && !value.boolean()) return;
    request.alternatives = fields.count("logprobs", 0, 0, GenerationRequest::most_alternatives);
    options.probabilities = true;
  });
  request.options.log_probabilities = options.probabilities;
  request.prompt_probabilities = options.probabilities && options.echo;
  options.usage = wants_usage(fields);
  options.copies = request.options.num_return_sequences;
  prepared.streams = fields.boolean("stream", false);
  request.prompts = read_prompts(fields, model);
  check_request(model, request, "prompt");
  read_response_format(body, "response_format", fields.find("response_format"), model, request.options);
  prepared.reply = std::make_unique<CompletionReply>(model, request, options);
  return prepared;
}

}  // namespace tulle::serve
