// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for server.hpp: what each route answers (L6).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/serve/anthropic_messages.hpp>
#include <tulle/serve/compiled.hpp>
#include <tulle/serve/docs_page.hpp>
#include <tulle/serve/http_exchange.hpp>
#include <tulle/serve/http_routes.hpp>
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
      : options_(with_named_endpoints(std::move(options))), models_(options_), routes_(options_, metrics_) {
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
    port_ = bind_to_port(routes_.http(), options_);
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
    if (stopping_) {
      ended_ = true;  // a `stop` that has seen `listening_` waits for this
      return;
    }
    std::thread accepts;
    try {
      accepts = std::thread([this] {
        served_ = routes_.http().listen_after_bind();
        ended_ = true;
      });
    } catch (const std::system_error&) {  // the system has no thread left
      ended_ = true;
      throw;
    }
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

  void stop() { end(options_.stop_time); }

  void hand_over() {
    routes_.close_connections();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // of connections that are on their way to this one
    wait_for_answers(options_.stop_time);
    end(std::chrono::seconds(0));
  }

 private:
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

  void wait_for_answers(std::chrono::steady_clock::duration time) const {
    const auto until = std::chrono::steady_clock::now() + time;
    while (answers_.use_count() > 1 && std::chrono::steady_clock::now() < until) pause();
  }

  /// Requests that come from now on are refused; after `time` those that run are cut.
  void end(std::chrono::seconds time) {
    if (stopping_.exchange(true)) return;
    const auto began = std::chrono::steady_clock::now();
    models_.stop(time);
    if (!listening_) return;
    while (!routes_.http().is_running() && !ended_) pause();
    // Streams may still be sent: cpp-httplib ends them where they are when it stops.
    const auto left = began + time - std::chrono::steady_clock::now();
    wait_for_answers(std::max<std::chrono::steady_clock::duration>(left, std::chrono::seconds(1)));
    routes_.http().stop();
  }

  using Request = HttpRoutes::Request;
  using Response = HttpRoutes::Response;
  using Prepare = std::function<PreparedRequest(const RequestBody&, const ServedModel&)>;

  void generate(const std::string& path, Prepare prepare, ErrorForm form = error_json) {
    routes_.post(
        path,
        [this, path, prepare = std::move(prepare)](const RequestBody& body, const Request& request,
                                                   Response& response) {
          run(path, RequestFields(body.json).text("model", ""), body, prepare, request, response);
        },
        form);
  }

  void run(const std::string& path, const std::string& id, const RequestBody& body, const Prepare& prepare,
           const Request& request, Response& response) {
    auto counted = answers_;  // also while the model is loaded: a `hand_over` waits for it
    ServedModels::Held held = models_.acquire(id);
    PreparedRequest prepared = prepare(body, held.model);
    prepared.request.time_limit = options_.request_time;
    const std::string request_id = routes_.request_id(request, response), model = held.model.id;
    answer(std::move(held), std::move(prepared), request, response,
           [this, path, request_id, model, counted = std::move(counted)](int status, const GenerationJob& job) {
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
    generate("/v1/completions", prepare_completion);
    generate("/v1/chat/completions", prepare_chat);
    generate("/v1/responses", prepare_responses);
    generate("/v1/messages", prepare_messages, anthropic_error_json);
    routes_.post("/tokenize", [this](const RequestBody& body, const Request&, Response& response) {
      const auto counted = answers_;
      const RequestFields fields(body.json);
      set_json(response, tokenize_json(fields, models_.acquire(fields.text("model", "")).model));
    });
    routes_.post("/detokenize", [this](const RequestBody& body, const Request&, Response& response) {
      const auto counted = answers_;
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
      if (!endpoint.route.empty()) routes_.post(endpoint.route, predict);
      const std::string named = "/v2/models/" + endpoint.name;
      routes_.post(named + "/infer", predict);
      routes_.get(named, [&settings](const Request&, Response& response) {
        set_json(response, {{"model_path", settings.path}});
      });
      routes_.get(named + "/ready", [this](const Request&, Response& response) { set_ready(response); });
    }
  }

  void set_ready(Response& response) const {
    const bool ready = loaded_ && !stopping_;
    set_json(response, {{"status", ready ? "ready" : stopping_ ? "stopping" : "loading"}}, ready ? 200 : 503);
  }

  void add_information_routes() {
    for (const std::string_view path : health_paths) {
      routes_.get(std::string(path),
                  [](const Request&, Response& response) { set_json(response, {{"status", "ok"}}); });
    }
    for (const std::string_view path : ready_paths) {
      routes_.get(std::string(path), [this](const Request&, Response& response) { set_ready(response); });
    }
    routes_.get("/metrics", [this](const Request&, Response& response) {
      response.set_content(metrics_.text(models_), "text/plain; version=0.0.4; charset=utf-8");
    });
    routes_.get("/v1/models", [this](const Request&, Response& response) {
      Json data = Json::array();
      for (const std::string& id : models_.ids()) data.push_back(model_card(id, started_));
      set_json(response, {{"object", "list"}, {"data", std::move(data)}});
    });
    routes_.get_below("/v1/models/", [this](const std::string& id, Response& response) {
      set_json(response, model_card(models_.settings(id).id, started_));
    });
    routes_.get("/config", [this](const Request&, Response& response) { set_json(response, config_json(options_)); });
    routes_.get("/endpoints",
                [this](const Request&, Response& response) { set_json(response, config_json(options_)["endpoints"]); });
    routes_.get("/slots", [this](const Request&, Response& response) { set_json(response, slots_json(models_)); });
    routes_.get("/openapi.json", [this](const Request&, Response& response) { set_json(response, openapi(options_)); });
    routes_.get("/docs", [](const Request&, Response& response) {
      response.set_content(std::string(docs_page), "text/html; charset=utf-8");
    });
    routes_.get("/", [this](const Request&, Response& response) {
      if (options_.page.html.empty()) return response.set_redirect("/docs");
      response.set_header("Content-Security-Policy", options_.page.policy);
      response.set_header("X-Content-Type-Options", "nosniff");
      response.set_header("Referrer-Policy", "no-referrer");
      response.set_header("Cache-Control", "no-cache");
      response.set_content(options_.page.html, "text/html; charset=utf-8");
    });
  }

  const ServerOptions options_;
  const std::int64_t started_ = unix_time();
  ServedModels models_;
  Metrics metrics_;
  std::mutex log_mutex_;
  std::atomic<bool> listening_ = false, loaded_ = false, stopping_ = false, served_ = true, ended_ = false;
  const std::shared_ptr<const int> answers_ = std::make_shared<int>();  // its owners but one: answers that go on
  int port_ = -1;
  HttpRoutes routes_;  // last: its threads end first
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
TULLE_SERVE_INLINE void Server::hand_over() {
  service_->hand_over();
}

}  // namespace tulle::serve
