// SPDX-License-Identifier: Apache-2.0
/// \file The server's routes as an OpenAPI 3.1 document (L6).
#pragma once

#include <string>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/serve/server_options.hpp>

namespace tulle::serve {

namespace detail {

/// What every text generation takes, by schema name, and the routes that every server has.
inline constexpr std::string_view openapi_base = R"json({
"openapi": "3.1.0",
"info": {"title": "Tulle", "description": "Text generation with sparse, quantized language models.", "version": "1"},
"components": {
 "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
 "schemas": {
  "Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "object",
    "required": ["message", "type"], "properties": {"message": {"type": "string"}, "type": {"type": "string"},
    "param": {"type": ["string", "null"]}, "code": {"type": ["string", "null"]}}}}},
  "Sampling": {"type": "object", "properties": {
    "model": {"type": "string", "description": "May be left out where there is one."},
    "stream": {"type": "boolean", "default": false, "description": "Server-sent events, ended by [DONE]."},
    "stream_options": {"type": "object", "properties": {"include_usage": {"type": "boolean"}}},
    "temperature": {"type": "number", "minimum": 0, "maximum": 2, "default": 1, "description": "0 is greedy."},
    "top_p": {"type": "number", "minimum": 0, "maximum": 1, "default": 1},
    "top_k": {"type": "integer", "minimum": -1, "maximum": 2147483647, "default": 0},
    "min_p": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
    "typical_p": {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "default": 1},
    "presence_penalty": {"type": "number", "minimum": -2, "maximum": 2, "default": 0},
    "frequency_penalty": {"type": "number", "minimum": -2, "maximum": 2, "default": 0},
    "repetition_penalty": {"type": "number", "minimum": 0.01, "maximum": 100, "default": 1},
    "logit_bias": {"type": "object", "additionalProperties": {"type": "number", "minimum": -100, "maximum": 100},
      "propertyNames": {"pattern": "^[0-9]{1,9}$"}},
    "seed": {"type": "integer"},
    "stop": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "maxItems": 64}]},
    "ignore_eos": {"type": "boolean", "default": false}}},
  "Messages": {"oneOf": [{"type": "string", "minLength": 1}, {"type": "array", "minItems": 1, "items": {"type": "object",
    "required": ["role"], "properties": {"role": {"type": "string", "minLength": 1},
    "content": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "object", "required": ["text"],
      "properties": {"type": {"const": "text"}, "text": {"type": "string"}}}}]}}}}]},
  "ResponseFormat": {"type": "object", "required": ["type"], "properties": {
    "type": {"type": "string", "enum": ["text", "json_object", "json_schema"]},
    "json_schema": {"type": "object", "required": ["schema"], "properties": {"schema": {"type": "object"}}}}},
  "ChatRequest": {"allOf": [{"$ref": "#/components/schemas/Sampling"}, {"type": "object", "required": ["messages"],
    "properties": {"messages": {"$ref": "#/components/schemas/Messages"},
    "max_completion_tokens": {"type": "integer", "minimum": 1, "maximum": 1073741824},
    "max_tokens": {"type": "integer", "minimum": 1, "maximum": 1073741824},
    "n": {"type": "integer", "minimum": 1, "maximum": 128, "default": 1},
    "logprobs": {"type": "boolean", "default": false},
    "chat_template_kwargs": {"type": "object"},
    "continue_final_message": {"type": "boolean", "default": false},
    "reasoning_format": {"type": "string", "enum": ["none", "deepseek"]},
    "reasoning_effort": {"type": "string"},
    "response_format": {"$ref": "#/components/schemas/ResponseFormat"},
    "tools": {"type": "array", "maxItems": 128, "items": {"type": "object", "required": ["type", "function"],
      "properties": {"type": {"const": "function"}, "function": {"type": "object", "required": ["name"],
      "properties": {"name": {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$"}, "description": {"type": "string"},
      "parameters": {"type": "object"}}}}}},
    "tool_choice": {"oneOf": [{"type": "string", "enum": ["none", "auto", "required"]}, {"type": "object",
      "required": ["type", "function"], "properties": {"type": {"const": "function"}, "function": {"type": "object",
      "required": ["name"], "properties": {"name": {"type": "string"}}}}}]},
    "parallel_tool_calls": {"type": "boolean", "default": true},
    "top_logprobs": {"type": "integer", "minimum": 0, "maximum": 20}}}]},
  "CompletionRequest": {"allOf": [{"$ref": "#/components/schemas/Sampling"}, {"type": "object", "required": ["prompt"],
    "properties": {"prompt": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1},
      {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1}]},
    "max_tokens": {"type": "integer", "minimum": 1, "maximum": 1073741824, "default": 16},
    "echo": {"type": "boolean", "default": false},
    "response_format": {"$ref": "#/components/schemas/ResponseFormat"},
    "n": {"type": "integer", "minimum": 1, "maximum": 128, "default": 1},
    "logprobs": {"type": "integer", "minimum": 0, "maximum": 20}}}]},
  "ResponsesRequest": {"allOf": [{"$ref": "#/components/schemas/Sampling"}, {"type": "object", "required": ["input"],
    "properties": {"input": {"$ref": "#/components/schemas/Messages"}, "instructions": {"type": "string"},
    "text": {"type": "object", "properties": {"format": {"type": "object", "required": ["type"], "properties": {
      "type": {"type": "string", "enum": ["text", "json_object", "json_schema"]}, "schema": {"type": "object"}}}}},
    "max_output_tokens": {"type": "integer", "minimum": 1, "maximum": 1073741824}}}]},
  "MessagesRequest": {"allOf": [{"$ref": "#/components/schemas/Sampling"}, {"type": "object",
    "required": ["messages", "max_tokens"], "properties": {"messages": {"$ref": "#/components/schemas/Messages"},
    "system": {"type": "string"}, "max_tokens": {"type": "integer", "minimum": 1, "maximum": 1073741824},
    "stop_sequences": {"type": "array", "items": {"type": "string"}, "maxItems": 64}}}]},
  "PredictRequest": {"type": "object", "description": "DeepSparse's arguments of a call; COMPATIBILITY.md lists them.",
    "properties": {"prompt": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
    "sequences": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
    "max_new_tokens": {"type": "integer", "minimum": 0}, "do_sample": {"type": "boolean"},
    "temperature": {"type": "number", "minimum": 0}, "streaming": {"type": "boolean"}}},
  "TokenizeRequest": {"type": "object", "required": ["content"], "properties": {"content": {"type": "string"},
    "add_special": {"type": "boolean", "default": false}}},
  "DetokenizeRequest": {"type": "object", "required": ["tokens"], "properties": {"tokens": {"type": "array",
    "items": {"type": "integer", "minimum": 0}}}}}},
"posts": {
 "/v1/completions": ["CompletionRequest", "Continues texts (OpenAI)."],
 "/v1/chat/completions": ["ChatRequest", "Answers a conversation (OpenAI)."],
 "/v1/responses": ["ResponsesRequest", "Answers a conversation (OpenAI's responses)."],
 "/v1/messages": ["MessagesRequest", "Answers a conversation (Anthropic)."],
 "/tokenize": ["TokenizeRequest", "The tokens of a text."],
 "/detokenize": ["DetokenizeRequest", "The text of tokens."]},
"gets": {
 "/v1/models": "The models.", "/health": "200 as soon as the server listens.", "/ping": "The same.",
 "/ready": "503 while a model is loaded.", "/config": "What the server was started with.",
 "/endpoints": "The routes of DeepSparse's kind.", "/slots": "What runs now."}
})json";

}  // namespace detail

inline Json openapi(const ServerOptions& options) {
  Json document = parse_json(detail::openapi_base, "the OpenAPI document");
  const Json posts = document["posts"], gets = document["gets"];
  document.erase("posts");
  document.erase("gets");
  const auto content = [](const std::string& schema) {
    return Json{{"application/json", {{"schema", {{"$ref", "#/components/schemas/" + schema}}}}}};
  };
  const auto responses = [&](bool is_ready, bool may_stream) {
    Json all{
        {"200", {{"description", "The answer."}, {"content", {{"application/json", {{"schema", Json::object()}}}}}}},
        {"default", {{"description", "What was wrong."}, {"content", content("Error")}}}};
    if (may_stream) all["200"]["content"]["text/event-stream"] = Json::object();
    if (is_ready) all["503"] = {{"description", "A model is loaded."}};
    return all;
  };
  Json& paths = document["paths"] = Json::object();
  const auto add_post = [&](const std::string& path, const std::string& schema, const std::string& summary) {
    paths[path]["post"] = {{"summary", summary},
                           {"requestBody", {{"required", true}, {"content", content(schema)}}},
                           {"responses", responses(false, !path.ends_with("tokenize"))}};
  };
  for (const auto& [path, row] : posts.items()) add_post(path, row[0].get<std::string>(), row[1].get<std::string>());
  for (const Endpoint& endpoint : options.endpoints) {
    const std::string summary = "Continues texts (DeepSparse): endpoint " + endpoint.name + ".";
    if (!endpoint.route.empty()) add_post(endpoint.route, "PredictRequest", summary);
    add_post("/v2/models/" + endpoint.name + "/infer", "PredictRequest", summary);
  }
  for (const auto& [path, summary] : gets.items()) {
    paths[path]["get"] = {{"summary", summary}, {"responses", responses(path == "/ready", false)}};
  }
  paths["/metrics"]["get"] = {
      {"summary", "Figures for Prometheus."},
      {"responses", {{"200", {{"description", "Text."}, {"content", {{"text/plain", Json::object()}}}}}}}};
  if (!options.api_keys.empty()) document["security"] = Json::array({Json{{"key", Json::array()}}});
  return document;
}

}  // namespace tulle::serve
