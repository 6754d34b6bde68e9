// SPDX-License-Identifier: Apache-2.0
/// \file Anthropic's POST /v1/messages (L6).
/// Source: https://docs.anthropic.com/en/api/messages
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/serve/chat_parts.hpp>
#include <tulle/serve/chat_prompt.hpp>
#include <tulle/serve/reply.hpp>
#include <tulle/serve/request_fields.hpp>
#include <tulle/serve/sampling_fields.hpp>
#include <tulle/serve/structured_output.hpp>

namespace tulle::serve {

class MessagesReply : public Reply {
 public:
  MessagesReply(const ServedModel& model, std::size_t prompt_tokens, ChatParts parts)
      : tokenizer_(model.tokenizer),
        prompt_tokens_(prompt_tokens),
        parts_(std::move(parts)),
        head_{{"id", new_id("msg_")}, {"type", "message"}, {"role", "assistant"}, {"model", model.id}} {}

  Json whole(std::span<const FinishedText> texts, const GenerationJob& job) override {
    Json result = head_;
    const std::string text = parts_.next(tokenizer_, whole_piece(texts.front())).text;
    result["content"] = Json::array({Json{{"type", "text"}, {"text", text}}});
    result.update(ending(texts.front().finish_reason, job));
    result["usage"] = usage(job.summary());
    return result;
  }

  std::string opening() override {
    Json message = head_;
    message["content"] = Json::array();
    message["stop_reason"] = message["stop_sequence"] = nullptr;
    message["usage"] = {{"input_tokens", prompt_tokens_}, {"output_tokens", 0}};
    return event("message_start", {{"message", std::move(message)}}) +
           event("content_block_start", {{"index", 0}, {"content_block", {{"type", "text"}, {"text", ""}}}});
  }
  std::string next(const GenerationEvent& generated) override {
    reason_ = generated.piece.finish_reason;
    const std::string text = parts_.next(tokenizer_, generated.piece).text;
    if (text.empty()) return {};
    return event("content_block_delta", {{"index", 0}, {"delta", {{"type", "text_delta"}, {"text", text}}}});
  }
  std::string closing(const GenerationJob& job) override {
    return event("content_block_stop", {{"index", 0}}) +
           event("message_delta", {{"delta", ending(reason_, job)}, {"usage", usage(job.summary())}}) +
           event("message_stop", Json::object());
  }
  std::string failure(const ApiError& error) override { return sent_event(anthropic_error_json(error), "error"); }

 private:
  static std::string event(const char* type, Json fields) {
    fields["type"] = type;
    return sent_event(fields, type);
  }
  static Json ending(FinishReason finish, const GenerationJob& job) {
    const std::string& stop = job.texts().front().stop_string;
    if (!stop.empty()) return {{"stop_reason", "stop_sequence"}, {"stop_sequence", stop}};
    const bool ended = finish == FinishReason::stop || finish == FinishReason::callback;
    return {{"stop_reason", ended ? "end_turn" : "max_tokens"}, {"stop_sequence", nullptr}};
  }
  static Json usage(const GenerationSummary& summary) {
    return {{"input_tokens", summary.prompt_tokens - summary.cached_tokens},
            {"cache_read_input_tokens", summary.cached_tokens},
            {"cache_creation_input_tokens", 0},
            {"output_tokens", summary.generated_tokens}};
  }

  const Tokenizer& tokenizer_;
  std::size_t prompt_tokens_;
  ChatParts parts_;
  Json head_;
  FinishReason reason_ = FinishReason::none;
};

/// A last message of the assistant is continued. Errors: ApiError 400.
inline PreparedRequest prepare_messages(const RequestBody& body, const ServedModel& model) {
  const RequestFields fields(body.json);
  PreparedRequest prepared;
  GenerationRequest& request = prepared.request;
  request.options = read_generation(fields, true, "output_config.format");
  request.options.num_return_sequences = 1;
  request.options.sampling.eos = model.chat_ends;
  if (const Json* tools = fields.find("tools"); tools != nullptr && !tools->empty()) {
    throw ApiError(400, "tools are given to /v1/chat/completions here", "tools");
  }
  fields.refuse({"mcp_servers", "container"});
  if (!fields.has("max_tokens")) throw ApiError(400, "\"max_tokens\" is missing", "max_tokens");
  request.options.max_new_tokens = max_tokens_field(fields, {"max_tokens"}, 1);
  prepared.streams = fields.boolean("stream", false);
  std::vector<ChatMessage> messages = read_messages(fields, "messages");
  if (const Json* system = fields.find("system")) {
    messages.insert(messages.begin(), {"system", detail::content_text(*system, "system")});
  }
  const bool continues = messages.size() > 1 && messages.back().role == "assistant";
  ChatPrompt prompt = continues ? continued_prompt(model, std::move(messages)) : chat_prompt(model, messages, true);
  request.options.begins_text = !prompt.continues;
  request.prompts.push_back(std::move(prompt.tokens));
  check_request(model, request, "messages");
  const Json* output = fields.find("output_config");
  if (output != nullptr && !output->is_object())
    throw ApiError(400, "\"output_config\" must be an object", "output_config");
  const Json* format = output == nullptr ? nullptr : RequestFields(*output).find("format");
  read_response_format(body, "output_config.format", format, model, request.options);
  prepared.reply = std::make_unique<MessagesReply>(model, request.prompts.front().size(),
                                                   answer_alone(model, prompt.text, request.options));
  return prepared;
}

}  // namespace tulle::serve
