// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for server_config.hpp (L6).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/compat/deepsparse/argument_rows.hpp>
#include <tulle/compat/deepsparse/names.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/lora/adapter_path.hpp>
#include <tulle/format/yaml/parse_yaml.hpp>
#include <tulle/format/yaml/yaml_node.hpp>
#include <tulle/serve/compiled.hpp>
#include <tulle/serve/server_config.hpp>
#include <tulle/serve/server_options.hpp>

namespace tulle::serve {

namespace detail {

/// A tree of YAML as JSON: unquoted scalars that look like it are numbers and truth values.
inline Json json_of(const YamlNode& node) {
  if (node.is_sequence()) {
    Json list = Json::array();
    for (const YamlNode& item : node.items) list.push_back(json_of(item));
    return list;
  }
  if (node.is_mapping()) {
    Json object = Json::object();
    for (std::size_t i = 0; i < node.items.size(); ++i) object[node.keys[i].text] = json_of(node.items[i]);
    return object;
  }
  if (node.is_null()) return nullptr;
  if (node.is_quoted) return node.text;
  if (const auto truth = node.boolean()) return *truth;
  if (const auto number = node.number()) {
    const bool whole = *number == std::floor(*number) && std::abs(*number) < 1e15;
    if (!whole) return *number;
    return *number < 0 ? Json(static_cast<std::int64_t>(*number)) : Json(static_cast<std::uint64_t>(*number));
  }
  return node.text;
}

/// The endpoints of a configuration, and the models that they need.
class EndpointReader {
 public:
  /// `base`: of every model, where an endpoint does not say otherwise.
  EndpointReader(const TextGenerationOptions& base, ServerOptions& options) : base_(base), options_(options) {}

  /// `where` names the endpoint in messages. Errors: those of `read_server_config`.
  void read(const Json& entry, const std::string& where) {
    constexpr std::array<std::string_view, 12> known{"name",         "route",       "task",      "model",
                                                     "model_path",   "batch_size",  "kwargs",    "logging_config",
                                                     "data_logging", "middlewares", "bucketing", "adapters"};
    tulle::detail::require_known(entry, where, known);
    if (entry.contains("bucketing") && !entry["bucketing"].is_null()) {
      fail(ErrorCode::unsupported, where, ": \"bucketing\" is not supported; prompts of any length run alike");
    }
    Json arguments = Json::object();
    if (entry.contains("kwargs") && !entry["kwargs"].is_null()) arguments = entry["kwargs"];
    if (!arguments.is_object()) fail(ErrorCode::invalid_argument, where, ": \"kwargs\" must be a mapping");
    for (const char* key : {"task", "model", "model_path", "batch_size"}) {
      if (entry.contains(key) && !entry[key].is_null()) arguments[key] = entry[key];
    }
    DeepSparseConstruction construction;
    construction.options = base_;
    construction.options.engine.share_prefixes = true;
    try {
      apply_construction_arguments(arguments, construction);
    } catch (const Error& error) {
      fail(error.code(), where, ": ", error.what());
    }
    if (construction.model_path.empty()) fail(ErrorCode::malformed, where, ": \"model\" is missing");
    if (entry.contains("adapters") && !entry["adapters"].is_null()) {
      arguments["adapters"] = entry["adapters"];
      construction.options.adapters = adapters_of(entry["adapters"], where);
    }
    Endpoint endpoint{
        json_value(entry, "name", std::string(), where), json_value(entry, "route", std::string(), where), {}};
    arguments.erase("task");
    endpoint.model = model_of(arguments, construction, endpoint.name);
    options_.endpoints.push_back(std::move(endpoint));
  }

 private:
  /// A path, a list of paths, or a mapping from paths to scales.
  static std::vector<AdapterPath> adapters_of(const Json& given, const std::string& where) {
    std::vector<AdapterPath> adapters;
    const Json all = given.is_string() ? Json::array({given}) : given;
    for (const auto& [key, value] : all.items()) {
      if (given.is_object() && value.is_number()) {
        adapters.push_back({key, value.get<float>()});
      } else if (!given.is_object() && value.is_string()) {
        adapters.push_back({value.get<std::string>()});
      } else {
        fail(ErrorCode::malformed, where,
             ": \"adapters\" is a path, a list of paths, or a mapping from paths to scales");
      }
    }
    return adapters;
  }

  /// Endpoints with equal arguments share a model. The first of a path has the path as its id.
  std::string model_of(const Json& arguments, const DeepSparseConstruction& construction, const std::string& name) {
    std::string id = construction.model_path;
    for (const auto& [other, known] : models_) {
      if (other == arguments) return known;
      if (known == id) id += "#" + (name.empty() ? std::to_string(options_.endpoints.size()) : name);
    }
    ModelSettings settings{id, construction.model_path, construction.options, construction.defaults};
    settings.options.engine.share_prefixes &= settings.options.engine.cache == "paged";
    options_.models.push_back(std::move(settings));
    models_.emplace_back(arguments, id);
    return id;
  }

  const TextGenerationOptions& base_;
  ServerOptions& options_;
  std::vector<std::pair<Json, std::string>> models_;  // arguments, id
};

}  // namespace detail

TULLE_SERVE_INLINE void read_server_config(std::string_view text, const std::string& where, TextGenerationOptions base,
                                           ServerOptions& options, const std::set<std::string>& decided) {
  constexpr std::array<std::string_view, 12> known{"num_cores",
                                                   "num_workers",
                                                   "integration",
                                                   "engine_thread_pinning",
                                                   "pytorch_num_threads",
                                                   "loggers",
                                                   "endpoints",
                                                   "system_logging",
                                                   "host",
                                                   "port",
                                                   "max_sequences",
                                                   "api_keys"};
  const Json config = detail::json_of(parse_yaml(text, where));
  if (!config.is_object()) fail(ErrorCode::malformed, where, " must be a mapping with \"endpoints\"");
  tulle::detail::require_known(config, where, known);
  const auto read = [&](const char* key, auto& value) {
    const auto found = json_value(config, key, value, where);
    if (!decided.contains(key)) value = found;
  };
  auto port = static_cast<std::uint16_t>(options.port);
  read("host", options.host);
  read("port", port);
  options.port = port;
  for (const std::string& key : json_value(config, "api_keys", std::vector<std::string>(), where)) {
    options.api_keys.push_back(key);
  }
  read("num_cores", base.engine.threads);
  read("max_sequences", base.engine.max_sequences);
  if (!config.contains("endpoints") || !config["endpoints"].is_array() || config["endpoints"].empty()) {
    fail(ErrorCode::malformed, where, ": \"endpoints\" must be a list, and not empty");
  }
  detail::EndpointReader reader(base, options);
  for (const Json& entry : config["endpoints"]) {
    reader.read(entry, where + ", endpoint " + std::to_string(options.endpoints.size()));
  }
}

}  // namespace tulle::serve
