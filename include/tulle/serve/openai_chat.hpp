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
#include <tulle/generate/tool_call_splitter.hpp>
#include <tulle/serve/chat_parts.hpp>
#include <tulle/serve/chat_prompt.hpp>
#include <tulle/serve/chat_tools.hpp>
#include <tulle/serve/reply.hpp>
#include <tulle/serve/request_fields.hpp>
#include <tulle/serve/sampling_fields.hpp>
#include <tulle/serve/structured_output.hpp>

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
/// template knows; "none" leaves the text whole (the names are llama-server's). Without it reasoning is apart where its
/// marks are special tokens, which the text would lose. Errors: ApiError 400.
inline bool wants_reasoning_apart(const RequestFields& fields, ReasoningFormat of_model) {
  const std::string format = fields.text("reasoning_format", has_special_marks(of_model) ? "deepseek" : "none");
  if (format != "none" && format != "deepseek") {
    throw ApiError(400, "\"reasoning_format\" must be \"none\" or \"deepseek\"", "reasoning_format");
  }
  return format == "deepseek";
}

/// `chat_template_kwargs`: variables of the chat template, such as {"enable_thinking": false} (the name is vLLM's);
/// `reasoning_effort` is one of them. Errors: ApiError 400.
inline std::string template_variables(const RequestBody& body) {
  static constexpr const char *name = "chat_template_kwargs", *effort = "reasoning_effort";
  const RequestFields fields(body.json);
  OrderedJson variables = OrderedJson::object();
  if (const Json* given = fields.find(name)) {
    if (!given->is_object()) throw ApiError(400, "\"chat_template_kwargs\" must be an object", name);
    variables = parse_ordered_json(body.text, "the body of the request")[name];
  }
  if (fields.has(effort) && !variables.contains(effort)) variables[effort] = fields.text(effort, "");
  return variables.dump();
}

class ChatReply : public Reply {
 public:
  /// `parts`: one for each text.
  ChatReply(const ServedModel& model, bool probabilities, bool usage, std::vector<ChatParts> parts)
      : tokenizer_(model.tokenizer),
        probabilities_(probabilities),
        usage_(usage),
        parts_(std::move(parts)),
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
        if (!probabilities_ || is_end(tokenizer_, event.piece)) continue;
        probabilities["content"].push_back(token_probability_json(tokenizer_, event));
      }
      const ChatParts::Parts parts = parts_[i].next(tokenizer_, whole_piece(texts[i]));
      Json message{{"role", "assistant"}, {"content", parts.text}, {"refusal", nullptr}};
      if (parts_[i].reasoning) message["reasoning_content"] = parts.reasoning;
      if (!parts.calls.empty()) {
        if (parts.text.empty()) message["content"] = nullptr;
        message["tool_calls"] = whole_calls(parts_[i], parts.calls);
      }
      choices.push_back({{"index", i},
                         {"message", std::move(message)},
                         {"logprobs", std::move(probabilities)},
                         {"finish_reason", parts_[i].finish_reason(texts[i].finish_reason)}});
    }
    Json result = head_;
    result["object"] = "chat.completion";
    result["choices"] = std::move(choices);
    result["usage"] = usage_json(job.summary());
    return result;
  }

  std::string opening() override {
    std::string events;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      events += chunk(i, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
    }
    return events;
  }

  std::string next(const GenerationEvent& event) override {
    std::string events;
    const TextPiece& piece = event.piece;
    const bool last = piece.finish_reason != FinishReason::none;
    const bool has_probability = probabilities_ && piece.token >= 0 && !is_end(tokenizer_, piece);
    if (last || !piece.text.empty() || has_probability) {
      Json probabilities = nullptr;
      if (has_probability) {
        probabilities = {{"content", Json::array({token_probability_json(tokenizer_, event)})}, {"refusal", nullptr}};
      }
      const ChatParts::Parts parts = parts_[piece.generation].next(tokenizer_, piece);
      events = chunks(piece.generation, parts, std::move(probabilities));
    }
    if (last) {
      const Json reason = parts_[piece.generation].finish_reason(piece.finish_reason);
      events += chunk(piece.generation, Json::object(), nullptr, reason);
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
  static Json whole_calls(const ChatParts& of, const std::vector<ToolCallSplitter::Call>& parts) {
    Json calls = Json::array();
    for (const ToolCallSplitter::Call& part : parts) {
      if (part.index == calls.size()) {
        calls.push_back(
            {{"id", of.new_call_id()}, {"type", "function"}, {"function", {{"name", part.name}, {"arguments", ""}}}});
      }
      calls[part.index]["function"]["arguments"].get_ref<std::string&>() += part.arguments;
    }
    return calls;
  }

  /// A chunk for each part that is there; the probabilities go with the first.
  std::string chunks(std::size_t index, const ChatParts::Parts& parts, Json probabilities) const {
    std::string events;
    const auto add = [&](const Json& delta) {
      events += chunk(index, delta, std::exchange(probabilities, nullptr), nullptr);
    };
    if (!parts.reasoning.empty()) add({{"reasoning_content", parts.reasoning}});
    for (const ToolCallSplitter::Call& call : parts.calls) {
      Json delta{{"index", call.index}, {"function", {{"arguments", call.arguments}}}};
      if (!call.name.empty()) {
        delta["id"] = parts_[index].new_call_id();
        delta["type"] = "function";
        delta["function"]["name"] = call.name;
      }
      add({{"tool_calls", Json::array({std::move(delta)})}});
    }
    if (!parts.text.empty() || !probabilities.is_null()) add({{"content", parts.text}});
    return events;
  }

  std::string chunk(std::size_t index, Json delta, Json probabilities, Json reason) const {
    Json result = head_;
    result["object"] = "chat.completion.chunk";
    result["choices"] = Json::array({Json{{"index", index},
                                          {"delta", std::move(delta)},
                                          {"logprobs", std::move(probabilities)},
                                          {"finish_reason", std::move(reason)}}});
    if (usage_) result["usage"] = nullptr;
    return sent_event(result);
  }

  const Tokenizer& tokenizer_;
  bool probabilities_, usage_;
  std::vector<ChatParts> parts_;  // of each text
  Json head_;
};

/// Also answers a body with `prompt` in place of `messages`, as the one-shot guide's curl sends it. Without a limit a
/// text goes on until the model ends it or the context is full. Errors: ApiError 400.
inline PreparedRequest prepare_chat(const RequestBody& body, const ServedModel& model) {
  const RequestFields fields(body.json);
  PreparedRequest prepared;
  GenerationRequest& request = prepared.request;
  request.options = read_generation(fields, true);
  request.options.sampling.eos = model.chat_ends;
  request.options.max_new_tokens =
      max_tokens_field(fields, {"max_completion_tokens", "max_tokens"}, detail::most_tokens);
  read_chat_probabilities(fields, request);
  prepared.streams = fields.boolean("stream", false);
  fields.refuse({"audio"});
  const char* field = fields.has("messages") || !fields.has("prompt") ? "messages" : "prompt";
  const bool opens_answer = fields.boolean("add_generation_prompt", true);
  const ChatTools tools(body);
  ChatPrompt prompt;
  if (fields.boolean("continue_final_message", false)) {  // the name is transformers' and vLLM's
    if (tools.in_prompt()) fields.refuse({"continue_final_message"});
    prompt = continued_prompt(model, read_messages(fields, field), template_variables(body));
  } else if (tools.in_prompt()) {
    prompt = tools.prompt(model, opens_answer, template_variables(body));
  } else {
    prompt = chat_prompt(model, read_messages(fields, field), opens_answer, template_variables(body));
  }
  request.options.begins_text = !prompt.continues;
  request.prompts.push_back(std::move(prompt.tokens));
  check_request(model, request, field);

  ChatParts parts;
  read_response_format(body, "response_format", fields.find("response_format"), model, request.options);
  if (tools.shows_tools() && !request.options.sampling.constraint) {
    const ToolCallFormat format = tool_call_format(model.chat_template);
    if (tools.forces_call()) tools.force(request.options, model, format);
    parts.has_special_tokens = format != ToolCallFormat::tagged;
    request.options.skip_special_tokens = !parts.has_special_tokens;
    parts.tools.emplace(format, tools.forces_call());
    parts.single_call = tools.single();
  } else if (tools.forces_call()) {
    throw ApiError(400, "a call that \"tool_choice\" asks for cannot follow \"response_format\"", "response_format");
  }
  const ReasoningFormat format = reasoning_format(model.chat_template);
  if (wants_reasoning_apart(fields, format)) split_reasoning(parts, format, prompt.text, request.options);
  prepared.reply = std::make_unique<ChatReply>(model, request.options.log_probabilities, wants_usage(fields),
                                               std::vector<ChatParts>(request.options.num_return_sequences, parts));
  return prepared;
}

}  // namespace tulle::serve
