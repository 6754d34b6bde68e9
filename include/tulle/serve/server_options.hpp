// SPDX-License-Identifier: Apache-2.0
/// \file What a server serves, where, and within which limits (L6).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/generate/generation_options.hpp>
#include <tulle/generate/text_generation.hpp>
#include <tulle/grammar/grammars.hpp>

namespace tulle::serve {

/// A model by the name that requests use. By default that is the text that named it: a path.
struct ModelSettings {
  std::string id;
  std::string path;
  TextGenerationOptions options = server_defaults();
  GenerationOptions defaults = {};  ///< of DeepSparse's routes; seed 0: each request draws its own

  /// Many sequences, whose common beginnings are computed once.
  static TextGenerationOptions server_defaults() {
    TextGenerationOptions options;
    options.engine.cache = "paged";
    options.engine.max_sequences = 32;
    options.engine.share_prefixes = true;
    options.engine.cache_positions = 32768;
    return options;
  }
};

/// A route of DeepSparse's kind.
struct Endpoint {
  std::string name;   ///< /v2/models/NAME/infer
  std::string route;  ///< "/generate"; empty: /predict
  std::string model;  ///< the id of a `ModelSettings`
};

/// A page for people at /: it is one file. It is answered without a key, which its own requests send.
struct WebPage {
  std::string html;    ///< empty: / leads to /docs
  std::string policy;  ///< its Content-Security-Policy
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 5543;           ///< 0: any that is free
  bool shares_port = false;  ///< another server may listen on it, too: one that takes over
  std::vector<ModelSettings> models;
  std::vector<Endpoint> endpoints;  ///< empty: one for each model

  std::size_t max_connections = 512;
  std::size_t max_queue = 256;  ///< requests that wait for a model; more get 429
  std::size_t max_body_bytes = std::size_t{16} << 20;
  std::chrono::seconds idle_time{5};      ///< a connection without a request is closed then
  std::chrono::seconds receive_time{30};  ///< for the whole of a request to arrive
  std::chrono::seconds send_time{10};     ///< in which a client must take something of an answer
  std::chrono::seconds request_time{0};   ///< for an answer; the text ends where it is then; 0: no limit
  std::chrono::seconds stop_time{30};     ///< texts that run when the server stops may go on for so long
  std::chrono::seconds unload_time{0};    ///< a model that is not used for so long is unloaded; 0: never

  std::vector<std::string> api_keys;      ///< empty: everybody may ask
  std::vector<std::string> cors_origins;  ///< of web pages that may ask; "*": all
  std::string certificate, private_key;   ///< PEM files: HTTPS

  /// Makes the pipeline of a model; by default `TextGeneration(resolve_model(path), options)`.
  std::function<TextGeneration(const ModelSettings&)> load;
  /// Makes what `response_format` and calls of tools need, such as `XGrammars`; without it these are refused.
  MakeGrammars grammars;
  WebPage page;
  /// Called with one JSON object for each request that generated; from any thread, one call at a time.
  std::function<void(const std::string&)> log;
};

/// Gives endpoints the names and routes that they lack. Errors: invalid_argument where two have the same.
inline ServerOptions with_named_endpoints(ServerOptions options) {
  if (options.endpoints.empty()) {
    for (const ModelSettings& model : options.models) options.endpoints.push_back({"", "", model.id});
  }
  std::set<std::string> names, routes;
  for (std::size_t i = 0; i < options.endpoints.size(); ++i) {
    Endpoint& endpoint = options.endpoints[i];
    if (endpoint.name.empty()) endpoint.name = "text_generation-" + std::to_string(i);
    if (!endpoint.route.empty() && endpoint.route.front() != '/') endpoint.route.insert(0, "/");
    if (endpoint.route.empty() && options.endpoints.size() == 1) endpoint.route = "/predict";
    if (!names.insert(endpoint.name).second) {
      fail(ErrorCode::invalid_argument, "two endpoints are named \"", endpoint.name, "\"");
    }
    if (!endpoint.route.empty() && !routes.insert(endpoint.route).second) {
      fail(ErrorCode::invalid_argument, "two endpoints have the route \"", endpoint.route, "\"");
    }
  }
  return options;
}

}  // namespace tulle::serve
