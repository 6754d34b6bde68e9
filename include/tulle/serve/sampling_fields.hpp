// SPDX-License-Identifier: Apache-2.0
/// \file How a text is generated, read from the fields that OpenAI's, Anthropic's and llama.cpp's servers name (L6).
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

#include <tulle/generate/generation_options.hpp>
#include <tulle/sampling/temperature.hpp>
#include <tulle/serve/api_error.hpp>
#include <tulle/serve/request_fields.hpp>

namespace tulle::serve {

inline constexpr std::size_t max_prompts = 256, max_stop_strings = 64;  ///< of a request

namespace detail {

inline constexpr std::size_t most_tokens = std::size_t{1} << 30;

inline std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

/// {"id": bias}, as OpenAI writes it; ids are texts there.
inline void read_logit_bias(const RequestFields& fields, SamplingOptions& sampling) {
  const Json* biases = fields.find("logit_bias");
  if (biases == nullptr) return;
  const auto refuse = [](const std::string& why) { throw ApiError(400, "\"logit_bias\" " + why, "logit_bias"); };
  if (!biases->is_object()) refuse("must be an object of token ids and numbers from -100 to 100");
  if (biases->size() > 1024) refuse("may name at most 1024 tokens");
  for (const auto& [id, bias] : biases->items()) {
    Token token = -1;
    const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), token);
    if (error != std::errc() || end != id.data() + id.size() || token < 0) refuse("names \"" + id + "\", no token id");
    if (!bias.is_number() || !(bias.get<double>() >= -100 && bias.get<double>() <= 100)) {
      refuse("of token " + id + " must be a number from -100 to 100");
    }
    sampling.logit_bias.emplace_back(token, bias.get<float>());
  }
}

/// Whether `field` asks for another form than plain text. Behind a dot stands a member of an object.
inline bool asks_for_format(const RequestFields& fields, std::string_view field) {
  const std::size_t dot = field.find('.');
  const Json* value = fields.find(field.substr(0, dot));
  if (value != nullptr && dot != std::string_view::npos) {
    value = value->is_object() ? RequestFields(*value).find(field.substr(dot + 1)) : nullptr;
  }
  const bool is_plain = value == nullptr || *value == false || *value == "" ||
                        (value->is_structured() && value->empty()) ||
                        (value->is_object() && value->value("type", Json()) == "text");
  return !is_plain;
}

/// Fields of other APIs and servers that would change a text and are not followed. `format`: the field in which this
/// API takes the form of a text. Errors: ApiError 400 for one that asks for something.
inline void refuse_unfollowed(const RequestFields& fields, std::string_view format) {
  const auto refuse = [](std::string_view name, std::string_view instead) {
    throw ApiError(400, "\"" + std::string(name) + "\" is not supported; use " + std::string(instead),
                   std::string(name));
  };
  const std::string form = "\"" + std::string(format) + "\"";
  for (const std::string_view name : {"response_format", "text.format", "output_config.format"}) {
    if (name != format && asks_for_format(fields, name)) refuse(name, form);
  }
  for (const std::string_view name : {"guided_json", "json_schema", "structured_outputs", "output_format"}) {
    if (fields.asks(name)) refuse(name, form);
  }
  for (const std::string_view name : {"functions", "function_call"}) {
    if (fields.asks(name)) refuse(name, "\"tools\" of /v1/chat/completions");
  }
  fields.refuse({"guided_regex", "guided_choice", "guided_grammar", "grammar", "stop_token_ids", "bad_words",
                 "min_tokens", "allowed_token_ids", "no_repeat_ngram_size"});
}

}  // namespace detail

/// The limit of new tokens: the first of `names` that is there. Errors: ApiError 400.
inline std::size_t max_tokens_field(const RequestFields& fields, std::initializer_list<std::string_view> names,
                                    std::size_t fallback, std::size_t least = 1) {
  for (const std::string_view name : names) {
    if (fields.has(name)) return fields.count(name, 0, least, detail::most_tokens);
  }
  return fallback;
}

/// Everything but the limit of tokens. Temperature 0, or next to it, is greedy, a temperature or top_p that is given
/// draws; without either `draws` decides. A seed that is not given is drawn. `format`: the field in which this API takes
/// the form of a text; those of other APIs are refused. Errors: ApiError 400.
inline GenerationOptions read_generation(const RequestFields& fields, bool draws,
                                         std::string_view format = "response_format") {
  detail::refuse_unfollowed(fields, format);
  GenerationOptions options;
  SamplingOptions& sampling = options.sampling;
  sampling.temperature = fields.number("temperature", 1, 0, 2);
  sampling.top_p = fields.number("top_p", 1, 0, 1);
  if (fields.has("top_p") && sampling.top_p == 0) sampling.top_p = 1e-6f;  // OpenAI's range begins at 0
  fields.with("top_k", "a count; 0 and -1 are off", [&](const ArgumentValue& value) {
    sampling.top_k = value.whole();
    if (sampling.top_k < -1) throw ApiError(400, "\"top_k\" must be -1 or more", "top_k");
    sampling.top_k = std::max(sampling.top_k, 0);
  });
  sampling.min_p = fields.number("min_p", 0, 0, 1);
  sampling.typical_p = fields.number("typical_p", 1, 0, 1);
  sampling.presence_penalty = fields.number("presence_penalty", 0, -2, 2);
  sampling.frequency_penalty = fields.number("frequency_penalty", 0, -2, 2);
  sampling.repetition_penalty = fields.number("repetition_penalty", 1, 0.01, 100);
  sampling.do_sample = draws || fields.has("temperature") || fields.has("top_p") || fields.has("top_k");
  sampling.do_sample = fields.boolean("do_sample", sampling.do_sample) && sampling.temperature >= Temperature::smallest;
  if (fields.has("typical_p") && sampling.typical_p == 0)
    throw ApiError(400, "\"typical_p\" must be above 0", "typical_p");
  detail::read_logit_bias(fields, sampling);
  options.seed = fields.seed("seed").value_or(detail::random_seed());
  options.stop = fields.texts("stop");
  for (std::string& each : fields.texts("stop_sequences")) options.stop.push_back(std::move(each));
  std::erase(options.stop, std::string());
  if (options.stop.size() > max_stop_strings) throw ApiError(400, "at most 64 stop strings", "stop");
  options.force_max_tokens = fields.boolean("ignore_eos", false);
  options.num_return_sequences = fields.count("n", 1, 1, 128);
  return options;
}

}  // namespace tulle::serve
