// SPDX-License-Identifier: Apache-2.0
/// \file OpenAI's POST /v1/chat/completions (L6).
/// Source: https://platform.openai.com/docs/api-reference/chat
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/generate/reasoning_splitter.hpp>
#include <tulle/serve/chat_prompt.hpp>
#include <tulle/serve/reply.hpp>
#include <tulle/serve/request_fields.hpp>
#include <tulle/serve/sampling_fields.hpp>

namespace tulle::serve {

/// One token and its alternatives, as chat completions and responses write them.
inline Json token_probability_json(const Tokenizer& tokenizer, const GenerationEvent& event) {
  const auto describe = [&](Token token, float log_probability) {
    const std::string bytes = tokenizer.piece(token);
    Json numbers = Json::array();
    for (const char byte : bytes) numbers.push_back(static_cast<std::uint8_t>(byte));
    return Json{{"token", repair_utf8(bytes)}, {"logprob", log_probability}, {"bytes", std::move(numbers)}};
  };
  Json result = describe(event.piece.token, event.piece.log_probability);
  Json others = Json::array();
  for (const Candidate& each : event.alternatives) others.push_back(describe(each.token, each.log_probability));
  result["top_logprobs"] = std::move(others);
  return result;
}

/// `logprobs` and `top_logprobs`. Errors: ApiError 400.
inline void read_chat_probabilities(const RequestFields& fields, GenerationRequest& request) {
  request.options.log_probabilities = fields.boolean("logprobs", false);
  request.alternatives = fields.count("top_logprobs", 0, 0, GenerationRequest::most_alternatives);
  if (request.alternatives != 0 && !request.options.log_probabilities) {
    throw ApiError(400, "\"top_logprobs\" needs \"logprobs\": true", "top_logprobs");
  }
}

/// `stream_options.include_usage`. Errors: ApiError 400.
inline bool wants_usage(const RequestFields& fields) {
  const Json* options = fields.find("stream_options");
  if (options == nullptr) return false;
  if (!options->is_object()) throw ApiError(400, "\"stream_options\" must be an object", "stream_options");
  return RequestFields(*options).boolean("include_usage", false);
}

/// `reasoning_format`: "deepseek" puts what the model thinks into `reasoning_content`, in the format that its chat
/// template knows; "none" leaves the text whole (the names are llama-server's). Errors: ApiError 400.
inline bool wants_reasoning_apart(const RequestFields& fields) {
  const std::string format = fields.text("reasoning_format", "none");
  if (format != "none" && format != "deepseek") {
    throw ApiError(400, "\"reasoning_format\" must be \"none\" or \"deepseek\"", "reasoning_format");
  }
  return format == "deepseek";
}

/// `chat_template_kwargs`: variables of the chat template, such as {"enable_thinking": false} (the name is vLLM's).
/// Errors: ApiError 400.
inline std::string template_variables(const RequestFields& fields) {
  static constexpr const char* name = "chat_template_kwargs";
  const Json* variables = fields.find(name);
  if (variables == nullptr) return "{}";
  if (!variables->is_object()) throw ApiError(400, "\"chat_template_kwargs\" must be an object", name);
  return variables->dump();
}

/// Whether a prompt ends with the mark in front of what the model thinks, so that its text begins within the block.
inline bool opens_reasoning(std::string_view prompt, ReasoningFormat format) noexcept {
  return prompt.substr(0, prompt.find_last_not_of(" \n") + 1).ends_with(reasoning_opening(format));
}

class ChatReply : public Reply {
 public:
  /// `splitters`: one for each text where the reasoning is given apart, else none.
  ChatReply(const ServedModel& model, std::size_t texts, bool probabilities, bool usage,
            std::vector<ReasoningSplitter> splitters)
      : tokenizer_(model.tokenizer),
        texts_(texts),
        probabilities_(probabilities),
        usage_(usage),
        splitters_(std::move(splitters)),
        head_{{"id", new_id("chatcmpl-")},
              {"created", unix_time()},
              {"model", model.id},
              {"system_fingerprint", "tulle"}} {}

  Json whole(std::span<const FinishedText> texts, const GenerationJob& job) override {
    Json choices = Json::array();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Json probabilities = nullptr;
      if (probabilities_) probabilities = {{"content", Json::array()}, {"refusal", nullptr}};
      for (const GenerationEvent& event : texts[i].events) {
        if (probabilities_) probabilities["content"].push_back(token_probability_json(tokenizer_, event));
      }
      Json message{{"role", "assistant"}, {"content", texts[i].text}, {"refusal", nullptr}};
      if (!splitters_.empty()) {
        const ReasoningSplitter::Parts parts = split(i, texts[i].text, true);
        message["content"] = parts.answer;
        message["reasoning_content"] = parts.reasoning;
      }
      choices.push_back({{"index", i},
                         {"message", std::move(message)},
                         {"logprobs", std::move(probabilities)},
                         {"finish_reason", finish_reason_json(texts[i].finish_reason)}});
    }
    Json result = head_;
    result["object"] = "chat.completion";
    result["choices"] = std::move(choices);
    result["usage"] = usage_json(job.summary());
    return result;
  }

  std::string opening() override {
    std::string events;
    for (std::size_t i = 0; i < texts_; ++i) {
      events += chunk(i, {{"role", "assistant"}, {"content", ""}}, nullptr, FinishReason::none);
    }
    return events;
  }

  std::string next(const GenerationEvent& event) override {
    std::string events;
    const TextPiece& piece = event.piece;
    if (!piece.text.empty() || (probabilities_ && piece.token >= 0)) {
      Json probabilities = nullptr;
      if (probabilities_ && piece.token >= 0) {
        probabilities = {{"content", Json::array({token_probability_json(tokenizer_, event)})}, {"refusal", nullptr}};
      }
      events = text_chunks(piece.generation, split(piece.generation, piece.text, false), std::move(probabilities));
    }
    if (piece.finish_reason != FinishReason::none && !splitters_.empty()) {
      events += text_chunks(piece.generation, splitters_[piece.generation].finish(), nullptr);
    }
    if (piece.finish_reason != FinishReason::none) {
      events += chunk(piece.generation, Json::object(), nullptr, piece.finish_reason);
    }
    return events;
  }

  std::string closing(const GenerationJob& job) override {
    std::string events;
    if (usage_) {
      Json last = head_;
      last["object"] = "chat.completion.chunk";
      last["choices"] = Json::array();
      last["usage"] = usage_json(job.summary());
      events = sent_event(last);
    }
    return events + "data: [DONE]\n\n";
  }

 private:
  /// The parts of a piece of text, which is all of its text or the next piece of a stream.
  ReasoningSplitter::Parts split(std::size_t index, const std::string& text, bool whole) {
    if (splitters_.empty()) return {"", text};
    ReasoningSplitter::Parts parts = splitters_[index].next(text);
    if (!whole) return parts;
    const ReasoningSplitter::Parts rest = splitters_[index].finish();
    return {parts.reasoning + rest.reasoning, parts.answer + rest.answer};
  }

  /// A chunk for each part that is there; the probabilities go with the first.
  std::string text_chunks(std::size_t index, const ReasoningSplitter::Parts& parts, Json probabilities) const {
    std::string events;
    if (!parts.reasoning.empty()) {
      const Json delta{{"reasoning_content", parts.reasoning}};
      events += chunk(index, delta, std::exchange(probabilities, nullptr), FinishReason::none);
    }
    if (!parts.answer.empty() || !probabilities.is_null()) {
      events += chunk(index, {{"content", parts.answer}}, std::move(probabilities), FinishReason::none);
    }
    return events;
  }

  std::string chunk(std::size_t index, Json delta, Json probabilities, FinishReason reason) const {
    Json result = head_;
    result["object"] = "chat.completion.chunk";
    result["choices"] = Json::array({Json{{"index", index},
                                          {"delta", std::move(delta)},
                                          {"logprobs", std::move(probabilities)},
                                          {"finish_reason", finish_reason_json(reason)}}});
    if (usage_) result["usage"] = nullptr;
    return sent_event(result);
  }

  const Tokenizer& tokenizer_;
  std::size_t texts_;
  bool probabilities_, usage_;
  std::vector<ReasoningSplitter> splitters_;
  Json head_;
};

/// Also answers a body with `prompt` in place of `messages`, as the one-shot guide's curl sends it. Without a limit a
/// text goes on until the model ends it or the context is full. Errors: ApiError 400.
inline PreparedRequest prepare_chat(const Json& body, const ServedModel& model) {
  const RequestFields fields(body);
  PreparedRequest prepared;
  GenerationRequest& request = prepared.request;
  request.options = read_generation(fields, true);
  request.options.max_new_tokens =
      max_tokens_field(fields, {"max_completion_tokens", "max_tokens"}, detail::most_tokens);
  read_chat_probabilities(fields, request);
  prepared.streams = fields.boolean("stream", false);
  const char* field = fields.has("messages") || !fields.has("prompt") ? "messages" : "prompt";
  ChatPrompt prompt = chat_prompt(model, read_messages(fields, field), fields.boolean("add_generation_prompt", true),
                                  template_variables(fields));
  request.prompts.push_back(std::move(prompt.tokens));
  check_request(model, request, field);
  const std::size_t texts = request.options.num_return_sequences;
  std::vector<ReasoningSplitter> splitters;
  if (wants_reasoning_apart(fields)) {
    const ReasoningFormat format = reasoning_format(model.chat_template);
    splitters.assign(texts, ReasoningSplitter(format, opens_reasoning(prompt.text, format)));
    request.options.skip_special_tokens = !has_special_marks(format);
  }
  prepared.reply = std::make_unique<ChatReply>(model, texts, request.options.log_probabilities, wants_usage(fields),
                                               std::move(splitters));
  return prepared;
}

}  // namespace tulle::serve
