// SPDX-License-Identifier: Apache-2.0
/// \file The YAML configuration of a server, as DeepSparse's servers read it (L6).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/compat/deepsparse/names.hpp>
#include <tulle/compress/recipe_node.hpp>
#include <tulle/compress/recipe_yaml.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/near_names.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/serve/server_options.hpp>

namespace tulle::serve {

namespace detail {

/// A tree of YAML as JSON: unquoted scalars that look like it are numbers and truth values.
inline Json json_of(const RecipeNode& node) {
  if (node.is_sequence()) {
    Json list = Json::array();
    for (const RecipeNode& item : node.items) list.push_back(json_of(item));
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

inline void require_keys(const Json& object, std::span<const std::string_view> known, const std::string& where) {
  if (!object.is_object()) fail(ErrorCode::malformed, where, " must be a mapping");
  for (const auto& entry : object.items()) {
    if (std::find(known.begin(), known.end(), entry.key()) != known.end()) continue;
    const std::string near = tulle::detail::near_names(entry.key(), known);
    fail(ErrorCode::malformed, where, ": unknown key ", tulle::detail::quoted_name(entry.key()),
         near.empty() ? std::string() : "; did you mean " + near + "?");
  }
}

inline void read_endpoint(const Json& entry, const std::string& where, std::size_t number, ServerOptions& options) {
  constexpr std::array<std::string_view, 11> known{"name",         "route",       "task",     "model",
                                                   "model_path",   "batch_size",  "kwargs",   "logging_config",
                                                   "data_logging", "middlewares", "bucketing"};
  require_keys(entry, known, where);
  if (entry.contains("bucketing") && !entry["bucketing"].is_null()) {
    fail(ErrorCode::unsupported, where, ": \"bucketing\" is not supported; prompts of any length run alike");
  }
  Json arguments = Json::object();
  if (entry.contains("kwargs") && !entry["kwargs"].is_null()) arguments = entry["kwargs"];
  for (const char* key : {"task", "model", "model_path", "batch_size"}) {
    if (entry.contains(key) && !entry[key].is_null()) arguments[key] = entry[key];
  }
  DeepSparseConstruction construction;
  construction.options = ModelSettings::server_defaults();
  try {
    apply_construction_arguments(arguments, construction);
  } catch (const Error& error) {
    fail(error.code(), where, ": ", error.what());
  }
  if (construction.model_path.empty()) fail(ErrorCode::malformed, where, ": \"model\" is missing");
  construction.options.engine.share_prefixes = construction.options.engine.cache == "paged";

  // Endpoints that run one model alike share it.
  Endpoint endpoint{json_value(entry, "name", std::string(), where), json_value(entry, "route", std::string(), where),
                    construction.model_path};
  bool is_new = true;
  for (const ModelSettings& model : options.models) is_new = is_new && model.id != construction.model_path;
  if (!is_new && entry.contains("kwargs")) {
    endpoint.model += "#" + (endpoint.name.empty() ? std::to_string(number) : endpoint.name);
    is_new = true;
  }
  if (is_new) {
    options.models.push_back({endpoint.model, construction.model_path, construction.options, construction.defaults});
  }
  options.endpoints.push_back(std::move(endpoint));
}

}  // namespace detail

/// Adds what a configuration says to `options`: its models, endpoints and cores. `where` names it in messages.
/// Keys of DeepSparse's that have no meaning here (loggers, num_workers, ...) change nothing.
/// Errors: malformed for what is not YAML and for unknown keys, with near ones; those of the endpoints' arguments.
inline void read_server_config(std::string_view text, const std::string& where, ServerOptions& options) {
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
  const Json config = detail::json_of(parse_recipe_yaml(text, where));
  detail::require_keys(config, known, where);
  options.host = json_value(config, "host", options.host, where);
  options.port = json_value(config, "port", options.port, where);
  for (const std::string& key : json_value(config, "api_keys", std::vector<std::string>(), where)) {
    options.api_keys.push_back(key);
  }
  const auto threads = json_value(config, "num_cores", std::size_t{0}, where);
  const auto sequences = json_value(config, "max_sequences", std::size_t{0}, where);
  if (!config.contains("endpoints") || !config["endpoints"].is_array() || config["endpoints"].empty()) {
    fail(ErrorCode::malformed, where, ": \"endpoints\" must be a list, and not empty");
  }
  const std::size_t first = options.models.size();
  std::size_t number = 0;
  for (const Json& entry : config["endpoints"]) {
    detail::read_endpoint(entry, where + ", endpoint " + std::to_string(number), number, options);
    ++number;
  }
  for (std::size_t i = first; i < options.models.size(); ++i) {
    EngineOptions& engine = options.models[i].options.engine;
    if (engine.threads == 0) engine.threads = threads;
    if (sequences != 0) engine.max_sequences = sequences;
  }
}

}  // namespace tulle::serve
