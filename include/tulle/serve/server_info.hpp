// SPDX-License-Identifier: Apache-2.0
/// \file What a server says about itself and its models (L6).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/serve/api_error.hpp>
#include <tulle/serve/reply.hpp>
#include <tulle/serve/request_fields.hpp>
#include <tulle/serve/served_models.hpp>
#include <tulle/serve/server_options.hpp>

namespace tulle::serve {

/// One entry of GET /v1/models.
inline Json model_card(const std::string& id, std::int64_t created) {
  return {{"id", id},   {"object", "model"}, {"created", created}, {"owned_by", "tulle"},
          {"root", id}, {"parent", nullptr}};
}

/// GET /config: what was chosen, without keys.
inline Json config_json(const ServerOptions& options) {
  Json models = Json::array(), endpoints = Json::array();
  for (const ModelSettings& model : options.models) {
    const EngineOptions& engine = model.options.engine;
    models.push_back({{"id", model.id},
                      {"model", model.path},
                      {"kernel", model.options.kernel},
                      {"cache", engine.cache},
                      {"sequence_length", engine.sequence_length},
                      {"max_sequences", engine.max_sequences},
                      {"num_cores", engine.threads}});
  }
  for (const Endpoint& endpoint : options.endpoints) {
    endpoints.push_back(
        {{"name", endpoint.name}, {"route", endpoint.route}, {"task", "text_generation"}, {"model", endpoint.model}});
  }
  return {{"host", options.host},
          {"port", options.port},
          {"models", std::move(models)},
          {"endpoints", std::move(endpoints)},
          {"max_connections", options.max_connections},
          {"max_queue", options.max_queue}};
}

/// GET /slots: what each model does now.
inline Json slots_json(const ServedModels& models) {
  Json all = Json::array();
  models.for_each([&](const std::string& id, const ModelWorker* worker) {
    Json requests = Json::array();
    for (const RequestFigures& each : worker == nullptr ? std::vector<RequestFigures>() : worker->requests()) {
      requests.push_back({{"state", each.runs ? "running" : "waiting"},
                          {"texts", each.texts},
                          {"prompt_tokens", each.prompt_tokens},
                          {"generated_tokens", each.generated_tokens}});
    }
    all.push_back({{"model", id}, {"loaded", worker != nullptr}, {"requests", std::move(requests)}});
  });
  return all;
}

/// What the log says of one text, or several of one request.
inline Json log_json(const std::string& route, const std::string& request_id, const std::string& model, int status,
                     const GenerationSummary& summary) {
  return {{"time", iso_time() + "Z"},
          {"request_id", request_id},
          {"route", route},
          {"model", model},
          {"status", status},
          {"queue_seconds", summary.queue_seconds},
          {"prefill_seconds", summary.prefill_seconds},
          {"decode_seconds", summary.decode_seconds},
          {"prompt_tokens", summary.prompt_tokens},
          {"cached_tokens", summary.cached_tokens},
          {"generated_tokens", summary.generated_tokens},
          {"timed_out", summary.timed_out}};
}

/// POST /tokenize: the text is `content` (llama.cpp's name), `prompt` (vLLM's) or `text`. Errors: ApiError 400.
inline Json tokenize_json(const RequestFields& fields, const ServedModel& model) {
  for (const char* name : {"content", "prompt", "text"}) {
    if (!fields.has(name)) continue;
    const bool special = fields.boolean("add_special", fields.boolean("add_special_tokens", false));
    const std::vector<Token> tokens = model.tokenizer.encode(fields.text(name, ""), {.add_special_tokens = special});
    return {{"tokens", tokens}, {"count", tokens.size()}, {"max_model_len", model.capacity}};
  }
  throw ApiError(400, "\"content\" is missing", "content");
}

/// POST /detokenize. Errors: ApiError 400.
inline Json detokenize_json(const RequestFields& fields, const ServedModel& model) {
  const Json* tokens = fields.find("tokens");
  if (tokens == nullptr || !tokens->is_array()) throw ApiError(400, "\"tokens\" must be a list of token ids", "tokens");
  std::vector<Token> ids;
  for (const Json& each : *tokens) {
    const bool fits = each.is_number_unsigned() && each.get<std::uint64_t>() < model.tokenizer.vocabulary_size();
    if (!fits) throw ApiError(400, "\"tokens\": " + each.dump() + " is no id of the vocabulary", "tokens");
    ids.push_back(each.get<Token>());
  }
  const std::string text = model.tokenizer.decode(ids);
  return {{"content", text}, {"prompt", text}};
}

}  // namespace tulle::serve
