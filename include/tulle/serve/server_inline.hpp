// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for server.hpp: its routes over cpp-httplib (L6).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/serve/anthropic_messages.hpp>
#include <tulle/serve/compiled.hpp>
#include <tulle/serve/docs_page.hpp>
#include <tulle/serve/http_exchange.hpp>
#include <tulle/serve/http_guard.hpp>
#include <tulle/serve/http_server.hpp>
#include <tulle/serve/metrics.hpp>
#include <tulle/serve/openai_chat.hpp>
#include <tulle/serve/openai_completions.hpp>
#include <tulle/serve/openai_responses.hpp>
#include <tulle/serve/openapi.hpp>
#include <tulle/serve/predict.hpp>
#include <tulle/serve/served_models.hpp>
#include <tulle/serve/server.hpp>
#include <tulle/serve/server_info.hpp>
#include <tulle/serve/server_options.hpp>

namespace tulle::serve {

namespace detail {

/// What a `Server` is; its members do what those of the same name promise.
class HttpService {
 public:
  explicit HttpService(ServerOptions options)
      : options_(with_named_endpoints(std::move(options))),
        models_(options_),
        guard_(options_),
        http_(make_http_server(options_)) {
    prepare_http();
    add_generation_routes();
    add_endpoints();
    add_information_routes();
  }
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;
  ~HttpService() { stop(); }

  const ServerOptions& options() const noexcept { return options_; }

  int bind() {
    if (port_ >= 0) return port_;
    if (options_.port == 0) {
      port_ = http_->bind_to_any_port(options_.host);
    } else if (http_->bind_to_port(options_.host, options_.port)) {
      port_ = options_.port;
    }
    if (port_ < 0) {
      fail(ErrorCode::io, "cannot listen on ", options_.host, " port ", options_.port, "; is it in use?");
    }
    return port_;
  }

  void load() {
    if (options_.unload_time.count() == 0) models_.load_all();
    loaded_ = true;
  }

  void listen() {
    (void)bind();
    listening_ = true;
    if (stopping_) return;
    std::thread accepts([this] {
      served_ = http_->listen_after_bind();
      ended_ = true;
    });
    std::exception_ptr failure;
    try {
      load();
    } catch (...) {
      if (!stopping_) failure = std::current_exception();
      stop();
    }
    accepts.join();
    if (failure) std::rethrow_exception(failure);
    if (!served_ && !stopping_) fail(ErrorCode::io, "the system has closed the server's socket");
  }

  void stop() {
    if (stopping_.exchange(true)) return;
    models_.stop(std::chrono::duration_cast<std::chrono::milliseconds>(options_.stop_time));
    if (!listening_) return;
    while (!http_->is_running() && !ended_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    http_->stop();
  }

 private:
  using Request = httplib::Request;
  using Response = httplib::Response;
  using Prepare = std::function<PreparedRequest(const RequestBody&, const ServedModel&)>;

  void prepare_http() {
    http_->set_pre_routing_handler([this](const Request& request, Response& response) {
      return guard_.admit(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                             : httplib::Server::HandlerResponse::Handled;
    });
    http_->set_exception_handler([](const Request&, Response& response, std::exception_ptr failure) {
      try {
        std::rethrow_exception(failure);
      } catch (...) {
        set_error(response, current_api_error());
      }
    });
    http_->set_error_handler([this](const Request& request, Response& response) {
      if (response.body.empty()) guard_.explain(request, response, methods_);
    });
    http_->set_post_routing_handler([this](const Request& request, Response& response) {
      guard_.finish(request, response);
      metrics_.answered(route_of(request.path), response.status);
    });
  }

  /// A route as figures name it.
  std::string route_of(const std::string& path) const { return methods_.contains(path) ? path : "other"; }

  void get(const std::string& path, std::function<void(const Request&, Response&)> handle) {
    methods_[path].insert("GET");
    http_->Get(literal_pattern(path), std::move(handle));
  }

  /// A route that takes a JSON object. Its errors have the form of the API.
  void post(const std::string& path, std::function<void(const RequestBody&, const Request&, Response&)> handle,
            ErrorForm form = error_json) {
    methods_[path].insert("POST");
    http_->Post(literal_pattern(path),
                [this, handle = std::move(handle), form](const Request& request, Response& response,
                                                         const httplib::ContentReader& reader) {
                  try {
                    RequestBody body{{}, read_body(reader, response, options_.max_body_bytes)};
                    body.json = RequestFields::parse(body.text);
                    (void)RequestFields(body.json);
                    handle(body, request, response);
                  } catch (...) {
                    set_error(response, current_api_error(), form);
                  }
                });
  }

  void generate(const std::string& path, Prepare prepare, ErrorForm form = error_json) {
    post(
        path,
        [this, path, prepare = std::move(prepare)](const RequestBody& body, const Request& request,
                                                   Response& response) {
          run(path, RequestFields(body.json).text("model", ""), body, prepare, request, response);
        },
        form);
  }

  void run(const std::string& path, const std::string& id, const RequestBody& body, const Prepare& prepare,
           const Request& request, Response& response) {
    ServedModels::Held held = models_.acquire(id);
    PreparedRequest prepared = prepare(body, held.model);
    prepared.request.time_limit = options_.request_time;
    const std::string request_id = guard_.request_id(request, response), model = held.model.id;
    answer(std::move(held), std::move(prepared), request, response,
           [this, path, request_id, model](int status, const GenerationJob& job) {
             metrics_.generated(job.summary());
             log(path, request_id, model, status, job.summary());
           });
  }

  void log(const std::string& path, const std::string& request_id, const std::string& model, int status,
           const GenerationSummary& summary) {
    if (!options_.log) return;
    const Json line = log_json(path, request_id, model, status, summary);
    const std::lock_guard lock(log_mutex_);
    options_.log(line.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  void add_generation_routes() {
    generate("/v1/completions",
             [](const RequestBody& body, const ServedModel& model) { return prepare_completion(body.json, model); });
    generate("/v1/chat/completions", prepare_chat);
    generate("/v1/responses", prepare_responses);
    generate(
        "/v1/messages",
        [](const RequestBody& body, const ServedModel& model) { return prepare_messages(body.json, model); },
        anthropic_error_json);
    post("/tokenize", [this](const RequestBody& body, const Request&, Response& response) {
      const RequestFields fields(body.json);
      set_json(response, tokenize_json(fields, models_.acquire(fields.text("model", "")).model));
    });
    post("/detokenize", [this](const RequestBody& body, const Request&, Response& response) {
      const RequestFields fields(body.json);
      set_json(response, detokenize_json(fields, models_.acquire(fields.text("model", "")).model));
    });
  }

  void add_endpoints() {
    for (const Endpoint& endpoint : options_.endpoints) {
      const ModelSettings& settings = models_.settings(endpoint.model);
      const auto predict = [this, &endpoint, &settings](const RequestBody& body, const Request& request,
                                                        Response& response) {
        run(
            endpoint.route.empty() ? endpoint.name : endpoint.route, endpoint.model, body,
            [&settings](const RequestBody& given, const ServedModel& model) {
              return prepare_prediction(given.json, model, settings.defaults);
            },
            request, response);
      };
      if (!endpoint.route.empty()) post(endpoint.route, predict);
      const std::string named = "/v2/models/" + endpoint.name;
      post(named + "/infer", predict);
      get(named,
          [&settings](const Request&, Response& response) { set_json(response, {{"model_path", settings.path}}); });
      get(named + "/ready", [this](const Request&, Response& response) { set_ready(response); });
    }
  }

  void set_ready(Response& response) const {
    const bool ready = loaded_ && !stopping_;
    set_json(response, {{"status", ready ? "ready" : stopping_ ? "stopping" : "loading"}}, ready ? 200 : 503);
  }

  void add_information_routes() {
    for (const std::string_view path : health_paths) {
      get(std::string(path), [](const Request&, Response& response) { set_json(response, {{"status", "ok"}}); });
    }
    for (const std::string_view path : ready_paths) {
      get(std::string(path), [this](const Request&, Response& response) { set_ready(response); });
    }
    get("/metrics", [this](const Request&, Response& response) {
      response.set_content(metrics_.text(models_), "text/plain; version=0.0.4; charset=utf-8");
    });
    get("/v1/models", [this](const Request&, Response& response) {
      Json data = Json::array();
      for (const std::string& id : models_.ids()) data.push_back(model_card(id, started_));
      set_json(response, {{"object", "list"}, {"data", std::move(data)}});
    });
    methods_["/v1/models/{id}"].insert("GET");
    http_->Get("/v1/models/(.+)", [this](const Request& request, Response& response) {
      set_json(response, model_card(models_.settings(request.matches[1].str()).id, started_));
    });
    get("/config", [this](const Request&, Response& response) { set_json(response, config_json(options_)); });
    get("/endpoints",
        [this](const Request&, Response& response) { set_json(response, config_json(options_)["endpoints"]); });
    get("/slots", [this](const Request&, Response& response) { set_json(response, slots_json(models_)); });
    get("/openapi.json", [this](const Request&, Response& response) { set_json(response, openapi(options_)); });
    get("/docs", [](const Request&, Response& response) {
      response.set_content(std::string(docs_page), "text/html; charset=utf-8");
    });
    get("/", [](const Request&, Response& response) { response.set_redirect("/docs"); });
  }

  const ServerOptions options_;
  const std::int64_t started_ = unix_time();
  ServedModels models_;
  Metrics metrics_;
  HttpGuard guard_;
  std::map<std::string, std::set<std::string>> methods_;  // of each route
  std::mutex log_mutex_;
  std::atomic<bool> listening_ = false, loaded_ = false, stopping_ = false, served_ = true, ended_ = false;
  int port_ = -1;
  std::unique_ptr<httplib::Server> http_;  // last: its threads end first
};

}  // namespace detail

TULLE_SERVE_INLINE Server::Server(ServerOptions options)
    : service_(std::make_unique<detail::HttpService>(std::move(options))) {}
TULLE_SERVE_INLINE Server::~Server() = default;
TULLE_SERVE_INLINE const ServerOptions& Server::options() const noexcept {
  return service_->options();
}
TULLE_SERVE_INLINE int Server::bind() {
  return service_->bind();
}
TULLE_SERVE_INLINE void Server::load() {
  service_->load();
}
TULLE_SERVE_INLINE void Server::listen() {
  service_->listen();
}
TULLE_SERVE_INLINE void Server::stop() {
  service_->stop();
}

}  // namespace tulle::serve
