// SPDX-License-Identifier: Apache-2.0
/// \file OpenAI's POST /v1/responses: one text, as a whole or as named events (L6).
/// Source: https://platform.openai.com/docs/api-reference/responses
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
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

class ResponsesReply : public Reply {
 public:
  ResponsesReply(const ServedModel& model, Json settings, ChatParts parts)
      : tokenizer_(model.tokenizer),
        parts_(std::move(parts)),
        item_id_(new_id("msg_")),
        head_{{"id", new_id("resp_")},
              {"object", "response"},
              {"created_at", unix_time()},
              {"model", model.id},
              {"error", nullptr},
              {"incomplete_details", nullptr},
              {"parallel_tool_calls", false},
              {"tool_choice", "none"},
              {"tools", Json::array()}} {
    head_.update(settings);
  }

  Json whole(std::span<const FinishedText> texts, const GenerationJob& job) override {
    text_ = parts_.next(tokenizer_, whole_piece(texts.front())).text;
    reason_ = texts.front().finish_reason;
    return completed(job);
  }

  std::string opening() override {
    Json started = head_;
    started["status"] = "in_progress";
    started["output"] = Json::array();
    started["usage"] = nullptr;
    Json item = message("in_progress");
    item["content"] = Json::array();
    // One after the other: each takes a number.
    std::string events = event("response.created", {{"response", started}});
    events += event("response.in_progress", {{"response", started}});
    events += event("response.output_item.added", {{"output_index", 0}, {"item", std::move(item)}});
    return events += event("response.content_part.added", at({{"part", part("")}}));
  }

  std::string next(const GenerationEvent& generated) override {
    reason_ = generated.piece.finish_reason;
    const std::string text = parts_.next(tokenizer_, generated.piece).text;
    text_ += text;
    if (text.empty()) return {};
    return event("response.output_text.delta", at({{"delta", text}, {"logprobs", Json::array()}}));
  }

  std::string closing(const GenerationJob& job) override {
    const Json response = completed(job);
    const std::string last = response["status"] == "completed" ? "response.completed" : "response.incomplete";
    std::string events = event("response.output_text.done", at({{"text", text_}, {"logprobs", Json::array()}}));
    events += event("response.content_part.done", at({{"part", part(text_)}}));
    events += event("response.output_item.done", {{"output_index", 0}, {"item", response["output"][0]}});
    return events += event(last, {{"response", response}});
  }

  std::string failure(const ApiError& error) override {
    return event("error", {{"code", error.code().empty() ? "server_error" : error.code()},
                           {"message", error.what()},
                           {"param", nullptr}});
  }

 private:
  static Json part(const std::string& text) {
    return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
  }
  Json message(const char* status) const {
    return {{"id", item_id_},
            {"type", "message"},
            {"role", "assistant"},
            {"status", status},
            {"content", Json::array({part(text_)})}};
  }
  /// Fields of an event that concerns the one part of the one item.
  Json at(Json fields) const {
    fields.update({{"item_id", item_id_}, {"output_index", 0}, {"content_index", 0}});
    return fields;
  }
  std::string event(const std::string& type, Json fields) {
    fields["type"] = type;
    fields["sequence_number"] = number_++;
    return sent_event(fields, type);
  }
  Json completed(const GenerationJob& job) const {
    const bool whole = reason_ == FinishReason::stop || reason_ == FinishReason::callback;
    const GenerationSummary& summary = job.summary();
    Json response = head_;
    response["status"] = whole ? "completed" : "incomplete";
    if (!whole) response["incomplete_details"] = {{"reason", "max_output_tokens"}};
    response["output"] = Json::array({message(whole ? "completed" : "incomplete")});
    response["usage"] = {{"input_tokens", summary.prompt_tokens},
                         {"input_tokens_details", {{"cached_tokens", summary.cached_tokens}}},
                         {"output_tokens", summary.generated_tokens},
                         {"output_tokens_details", {{"reasoning_tokens", 0}}},
                         {"total_tokens", summary.prompt_tokens + summary.generated_tokens}};
    return response;
  }

  const Tokenizer& tokenizer_;
  ChatParts parts_;
  std::string item_id_;
  Json head_;
  std::string text_;
  FinishReason reason_ = FinishReason::none;
  std::size_t number_ = 0;
};

/// Nothing is stored: `previous_response_id` is refused. Errors: ApiError 400.
inline PreparedRequest prepare_responses(const RequestBody& body, const ServedModel& model) {
  const RequestFields fields(body.json);
  if (fields.has("previous_response_id")) {
    throw ApiError(400, "responses are not stored here; send the whole conversation in \"input\"",
                   "previous_response_id");
  }
  if (fields.asks("tools")) {
    throw ApiError(400, "tools are given to /v1/chat/completions here", "tools");
  }
  fields.refuse({"conversation", "background", "prompt", "top_logprobs"});
  PreparedRequest prepared;
  GenerationRequest& request = prepared.request;
  request.options = read_generation(fields, true, "text.format");
  request.options.num_return_sequences = 1;
  request.options.begins_text = true;
  request.options.sampling.eos = model.chat_ends;
  request.options.max_new_tokens = max_tokens_field(fields, {"max_output_tokens"}, detail::most_tokens);
  prepared.streams = fields.boolean("stream", false);
  std::vector<ChatMessage> messages = read_messages(fields, "input");
  const std::string instructions = fields.text("instructions", "");
  if (!instructions.empty()) messages.insert(messages.begin(), {"system", instructions});
  ChatPrompt prompt = chat_prompt(model, messages, true);
  request.prompts.push_back(std::move(prompt.tokens));
  check_request(model, request, "input");
  const Json* text = fields.find("text");
  if (text != nullptr && !text->is_object()) throw ApiError(400, "\"text\" must be an object", "text");
  const Json* format = text == nullptr ? nullptr : RequestFields(*text).find("format");
  read_response_format(body, "text.format", format, model, request.options);
  Json settings{{"instructions", instructions.empty() ? Json(nullptr) : Json(instructions)},
                {"temperature", fields.has("temperature") ? *fields.find("temperature") : Json(1.0)},
                {"top_p", fields.has("top_p") ? *fields.find("top_p") : Json(1.0)},
                {"max_output_tokens", body.json.value("max_output_tokens", Json(nullptr))},
                {"metadata", body.json.value("metadata", Json::object())},
                {"text", {{"format", format == nullptr ? Json{{"type", "text"}} : *format}}},
                {"store", false}};
  prepared.reply =
      std::make_unique<ResponsesReply>(model, std::move(settings), answer_alone(model, prompt.text, request.options));
  return prepared;
}

}  // namespace tulle::serve
