// SPDX-License-Identifier: Apache-2.0
/// \file Routes over cpp-httplib, with the guard, the errors and the figures that all of them have (L6).
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <tulle/core/httplib.hpp>
#include <tulle/serve/http_exchange.hpp>
#include <tulle/serve/http_guard.hpp>
#include <tulle/serve/http_server.hpp>
#include <tulle/serve/metrics.hpp>
#include <tulle/serve/reply.hpp>
#include <tulle/serve/request_fields.hpp>
#include <tulle/serve/server_options.hpp>

namespace tulle::serve {

/// Lifetime: views of the options and the metrics.
class HttpRoutes {
 public:
  using Request = httplib::Request;
  using Response = httplib::Response;

  HttpRoutes(const ServerOptions& options, Metrics& metrics)
      : options_(options), metrics_(metrics), guard_(options), http_(make_http_server(options)) {
    http_->set_pre_routing_handler([this](const Request& request, Response& response) {
      return guard_.admit(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                             : httplib::Server::HandlerResponse::Handled;
    });
    http_->set_expect_100_continue_handler([this](const Request& request, Response& response) -> int {
      Response refusal;  // a request that is admitted passes the guard once more, as all do
      if (guard_.admit(request, refusal)) return httplib::StatusCode::Continue_100;
      (void)guard_.admit(request, response);
      return response.status;
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
  HttpRoutes(const HttpRoutes&) = delete;
  HttpRoutes& operator=(const HttpRoutes&) = delete;

  httplib::Server& http() noexcept { return *http_; }
  std::string request_id(const Request& request, Response& response) { return guard_.request_id(request, response); }
  /// From now on each connection is closed after its next answer: a client that keeps connections opens another one.
  void close_connections() noexcept { guard_.close_connections(); }

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

  /// Routes below `path`, whose last part is given to `handle`.
  void get_below(const std::string& path, std::function<void(const std::string&, Response&)> handle) {
    http_->Get(path + "(.+)", [handle = std::move(handle)](const Request& request, Response& response) {
      handle(request.matches[1].str(), response);
    });
  }

 private:
  /// A route as figures name it.
  std::string route_of(const std::string& path) const { return methods_.contains(path) ? path : "other"; }

  const ServerOptions& options_;
  Metrics& metrics_;
  HttpGuard guard_;
  std::map<std::string, std::set<std::string>> methods_;  // of each route
  std::unique_ptr<httplib::Server> http_;                 // last: its threads end first
};

}  // namespace tulle::serve
