// SPDX-License-Identifier: Apache-2.0
/// \file DeepSparse's own requests: POST /predict, an endpoint's route, /v2/models/NAME/infer (L6).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/compat/deepsparse/names.hpp>
#include <tulle/core/json.hpp>
#include <tulle/serve/reply.hpp>
#include <tulle/serve/sampling_fields.hpp>

namespace tulle::serve {

namespace detail {

/// Rows of logits as lists of numbers.
inline Json matrix_json(const Matrix& matrix) {
  Json rows = Json::array();
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    rows.push_back(std::vector<float>(matrix[row], matrix[row] + matrix.columns));
  }
  return rows;
}

}  // namespace detail

/// The form of a request decides that of its answer: `sequences` gets what DeepSparse's nightly of 2023 gave
/// ({"sequences", "logits", "session_id"}), `prompt` what its releases gave.
class PredictReply : public Reply {
 public:
  PredictReply(Json prompts, bool nightly, bool logits, std::size_t copies, Json input_tokens)
      : prompts_(std::move(prompts)),
        nightly_(nightly),
        logits_(logits),
        copies_(copies),
        input_tokens_(std::move(input_tokens)) {}

  Json whole(std::span<const FinishedText> texts, const GenerationJob& job) override {
    if (nightly_) {
      Json sequences = Json::array(), logits = Json::array();
      for (std::size_t i = 0; i < texts.size(); ++i) {
        sequences.push_back(texts[i].text);
        if (logits_) logits.push_back(detail::matrix_json(job.texts()[i].logits));
      }
      return {{"sequences", std::move(sequences)},
              {"logits", logits_ ? std::move(logits) : Json(nullptr)},
              {"session_id", nullptr}};
    }
    Json generations = Json::array(), of_prompt = Json::array();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Json one = generation(texts[i].text, texts[i].finish_reason);
      if (logits_) one["score"] = detail::matrix_json(job.texts()[i].logits);
      if (copies_ == 1) {
        generations.push_back(std::move(one));
        continue;
      }
      of_prompt.push_back(std::move(one));
      if (of_prompt.size() == copies_) generations.push_back(std::exchange(of_prompt, Json::array()));
    }
    return answer(std::move(generations));
  }

  std::string next(const GenerationEvent& event) override {
    if (event.piece.text.empty() && event.piece.finish_reason == FinishReason::none) return {};
    Json one = generation(event.piece.text, event.piece.finish_reason);
    one["index"] = event.piece.generation;
    return sent_event(answer(Json::array({std::move(one)})));
  }
  std::string closing(const GenerationJob&) override { return "data: [DONE]\n\n"; }

 private:
  static Json generation(const std::string& text, FinishReason reason) {
    const bool finished = reason != FinishReason::none;
    const std::string_view name = reason == FinishReason::length ? "max_new_tokens" : finish_reason_name(reason);
    return {{"text", text},
            {"score", nullptr},
            {"finished", finished},
            {"finished_reason", finished ? Json(name) : Json(nullptr)}};
  }
  Json answer(Json generations) const {
    return {{"created", iso_time()},
            {"prompts", prompts_},
            {"generations", std::move(generations)},
            {"input_tokens", input_tokens_}};
  }

  Json prompts_;
  bool nightly_, logits_;
  std::size_t copies_;
  Json input_tokens_;
};

/// `defaults`: of the endpoint; without a seed (0) each request draws its own. Errors: ApiError 400, and
/// invalid_argument for what the arguments' table refuses.
inline PreparedRequest prepare_prediction(const Json& body, const ServedModel& model,
                                          const GenerationOptions& defaults) {
  DeepSparseCall call;
  call.options = defaults;
  if (defaults.seed == 0) call.options.seed = detail::random_seed();
  apply_call_arguments(body, call);
  if (call.prompts.empty()) throw ApiError(400, "\"prompt\" or \"sequences\" is missing", "prompt");
  if (call.prompts.size() > max_prompts) throw ApiError(400, "at most 256 prompts in a request", "prompt");
  if (call.options.stop.size() > max_stop_strings) throw ApiError(400, "at most 64 stop strings", "stop");
  if (call.streaming && call.options.return_logits) {
    throw ApiError(400, "scores and logits are in whole answers only; leave streaming out", "streaming");
  }
  if (!call.session_ids.empty()) {
    throw ApiError(400, "sessions are not kept; send the whole text: what was sent before is not computed again",
                   "session_ids");
  }
  const char* field = body.contains("sequences") ? "sequences" : "prompt";
  PreparedRequest prepared;
  GenerationRequest& request = prepared.request;
  request.options = std::move(call.options);
  Json input_tokens = nullptr;
  if (call.return_input_tokens) input_tokens = {{"input_ids", Json::array()}, {"attention_mask", Json::array()}};
  for (const std::string& prompt : call.prompts) {
    request.prompts.push_back(
        model.tokenizer.encode(prompt, {.add_special_tokens = request.options.add_special_tokens}));
    if (!call.return_input_tokens) continue;
    input_tokens["input_ids"].push_back(request.prompts.back());
    input_tokens["attention_mask"].push_back(std::vector<int>(request.prompts.back().size(), 1));
  }
  check_request(model, request, field);
  if (request.options.return_logits) {
    std::size_t rows = 0;
    for (const auto& prompt : request.prompts) rows += prompt.size() + request.options.max_new_tokens;
    constexpr std::size_t most_numbers = 16'000'000;
    if (rows * request.options.num_return_sequences > most_numbers / model.tokenizer.vocabulary_size()) {
      throw ApiError(400, "the logits of so many tokens are too much for one answer; ask for fewer tokens", field);
    }
  }
  prepared.streams = call.streaming;
  prepared.reply =
      std::make_unique<PredictReply>(body[field], body.contains("sequences"), request.options.return_logits,
                                     request.options.num_return_sequences, std::move(input_tokens));
  return prepared;
}

}  // namespace tulle::serve
