// SPDX-License-Identifier: Apache-2.0
/// \file What every API of text generation has: a request for the model, and the form of the answer (L6).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/generate/sequence.hpp>
#include <tulle/grammar/grammars.hpp>
#include <tulle/serve/api_error.hpp>
#include <tulle/serve/generation_job.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle::serve {

/// One text, complete.
struct FinishedText {
  std::string text;
  FinishReason finish_reason = FinishReason::none;
  std::vector<GenerationEvent> events;  ///< of its tokens
  std::vector<PromptToken> prompt;      ///< of the first text of a prompt, with `prompt_probabilities`
};

/// A server-sent event (WHATWG HTML, 9.2), with a name where the API gives it one.
inline std::string sent_event(const Json& data, std::string_view name = {}) {
  std::string event = name.empty() ? std::string() : "event: " + std::string(name) + "\n";
  return event + "data: " + data.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n\n";
}

/// How one API writes the answer to one request: as a whole, or token by token as server-sent events.
class Reply {
 public:
  Reply() = default;
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  virtual ~Reply() = default;

  virtual Json whole(std::span<const FinishedText> texts, const GenerationJob& job) = 0;

  virtual std::string opening() { return {}; }
  virtual std::string next(const GenerationEvent& event) = 0;
  virtual std::string closing(const GenerationJob& job) = 0;
  /// An error after the answer has begun.
  virtual std::string failure(const ApiError& error) { return sent_event(error_json(error)); }
};

/// A request as a route hands it on.
struct PreparedRequest {
  GenerationRequest request;
  bool streams = false;
  std::unique_ptr<Reply> reply;
};

/// A JSON object as it came, and its text, in which members have an order.
struct RequestBody {
  Json json;
  std::string text;
};

/// What a route knows of the model that a request names.
struct ServedModel {
  std::string id;
  const Tokenizer& tokenizer;
  const std::string& chat_template;  ///< may be empty
  const std::vector<Token>& chat_ends;
  std::size_t capacity = 0;   ///< tokens of prompt and text together
  std::size_t max_texts = 0;  ///< at once, of one request
  /// Made when they are first used. Errors: unsupported where the server has none.
  std::function<Grammars&()> grammars;
};

/// "chatcmpl-5f0c...": random characters behind a prefix.
inline std::string new_id(std::string_view prefix, std::size_t characters = 24) {
  static constexpr std::string_view letters = "0123456789abcdefghijklmnopqrstuvwxyz";
  static thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id(prefix);
  for (std::size_t i = 0; i < characters; ++i) id += letters[random() % letters.size()];
  return id;
}

/// Seconds since 1970.
inline std::int64_t unix_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// "2024-05-01T12:00:00".
inline std::string iso_time() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)};
}

/// OpenAI's name; null while a text goes on.
inline Json finish_reason_json(FinishReason reason) {
  switch (reason) {
    case FinishReason::none: return nullptr;
    case FinishReason::stop:
    case FinishReason::callback: return "stop";
    default: return "length";
  }
}

inline Json usage_json(const GenerationSummary& summary) {
  Json usage{{"prompt_tokens", summary.prompt_tokens},
             {"completion_tokens", summary.generated_tokens},
             {"total_tokens", summary.prompt_tokens + summary.generated_tokens},
             {"prompt_tokens_details", {{"cached_tokens", summary.cached_tokens}}}};
  if (summary.draft_tokens != 0) {
    usage["draft_n"] = summary.draft_tokens;
    usage["draft_accepted"] = summary.accepted_draft_tokens;
  }
  return usage;
}

/// Errors: ApiError 400 for prompts that are empty or leave no room, 400 for too many texts.
inline void check_request(const ServedModel& model, const GenerationRequest& request, std::string_view prompt_field) {
  const std::string field(prompt_field);
  for (const auto& [token, bias] : request.options.sampling.logit_bias) {
    if (static_cast<std::size_t>(token) < model.tokenizer.vocabulary_size()) continue;
    throw ApiError(400, "\"logit_bias\": token " + std::to_string(token) + " is outside the vocabulary", "logit_bias");
  }
  for (const auto& prompt : request.prompts) {
    if (prompt.empty()) throw ApiError(400, "the prompt is empty; give at least one token", field);
    if (const Token* token = first_outside(prompt, model.tokenizer.vocabulary_size())) {
      throw ApiError(400, "token " + std::to_string(*token) + " is outside the vocabulary", field);
    }
    if (prompt.size() > model.capacity) {
      throw ApiError(400,
                     "the prompt has " + std::to_string(prompt.size()) + " tokens; this server's limit is " +
                         std::to_string(model.capacity),
                     field, "context_length_exceeded");
    }
  }
  if (request.options.num_return_sequences > model.max_texts) {
    throw ApiError(400, "\"n\" may be at most " + std::to_string(model.max_texts) + " here", "n");
  }
}

}  // namespace tulle::serve
