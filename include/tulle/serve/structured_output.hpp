// SPDX-License-Identifier: Apache-2.0
/// \file What a text must be: `response_format` and its like (L6).
/// Source: https://platform.openai.com/docs/guides/structured-outputs
#pragma once

#include <string>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/generate/generation_options.hpp>
#include <tulle/grammar/grammars.hpp>
#include <tulle/serve/api_error.hpp>
#include <tulle/serve/reply.hpp>
#include <tulle/serve/request_fields.hpp>

namespace tulle::serve {

/// Sets what `make` makes of the model's grammars. Errors: ApiError 400 that names `field`.
template <class Make>
void constrain(GenerationOptions& options, const ServedModel& model, std::string_view field, Make&& make) {
  const std::string name(field);
  if (options.force_max_tokens) {
    throw ApiError(400, "\"ignore_eos\" goes on behind the end that \"" + name + "\" asks for", "ignore_eos");
  }
  try {
    options.sampling.constraint = make(model.grammars());
  } catch (const Error& error) {
    throw ApiError(400, error.what(), name);
  }
}

/// `response_format` of chat completions, or `text.format` of responses and `output_config.format` of messages, where the
/// schema lies beside the type. llama.cpp's servers take one beside json_object too.
/// Errors: ApiError 400.
inline void read_response_format(const RequestBody& body, std::string_view field, const Json* format,
                                 const ServedModel& model, GenerationOptions& options) {
  const std::string name(field);
  if (format == nullptr) return;
  if (!format->is_object()) throw ApiError(400, "\"" + name + "\" must be an object", name);
  const std::string type = RequestFields(*format).text("type", "");
  if (type == "text") return;
  const bool has_schema = RequestFields(*format).has("schema");
  if (type == "json_object" && !has_schema) {
    constrain(options, model, field, [](Grammars& grammars) { return grammars.json_object(); });
    return;
  }
  if (type != "json_schema" && type != "json_object") {
    throw ApiError(400, "the \"type\" of \"" + name + "\" must be text, json_object or json_schema", name);
  }
  // Once more, in the order in which the client wrote it.
  const OrderedJson ordered = parse_ordered_json(body.text, "the body of the request");
  const bool is_chat = field == "response_format";
  const std::size_t dot = name.find('.');
  const OrderedJson& wrapper = is_chat ? ordered[name] : ordered[name.substr(0, dot)][name.substr(dot + 1)];
  const OrderedJson holder = is_chat && type == "json_schema" ? wrapper.value("json_schema", OrderedJson()) : wrapper;
  if (!holder.is_object() || !holder.contains("schema")) {
    throw ApiError(400, "\"" + name + "\" of type json_schema must hold a \"schema\"", name);
  }
  const std::string schema = holder["schema"].dump();
  constrain(options, model, field, [&](Grammars& grammars) { return grammars.json_schema(schema); });
}

}  // namespace tulle::serve
