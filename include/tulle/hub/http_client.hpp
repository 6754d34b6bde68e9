// SPDX-License-Identifier: Apache-2.0
/// \file Requests over HTTP and HTTPS that follow redirects and keep the token to the hub (L4).
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <pthread.h>

#include <tulle/core/error.hpp>
#include <tulle/core/httplib.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/hub/hub_settings.hpp>
#include <tulle/hub/hub_url.hpp>

namespace tulle::detail {

/// Writing to a connection that the other side closed sends SIGPIPE, which ends a program. Not while this object lives.
class PipeSignalBlocked {
 public:
  PipeSignalBlocked() : was_pending_(is_pending()) {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  PipeSignalBlocked(const PipeSignalBlocked&) = delete;
  PipeSignalBlocked& operator=(const PipeSignalBlocked&) = delete;
  ~PipeSignalBlocked() {
    int taken = 0;
    if (!was_pending_ && is_pending()) ::sigwait(&pipe_, &taken);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  static bool is_pending() {
    sigset_t pending;
    return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGPIPE) == 1;
  }

  sigset_t pipe_, before_;
  bool was_pending_;
};

struct HttpAnswer {
  int status = 0;       ///< 0: there was no answer
  std::string failure;  ///< why the connection ended too early, or ""
  HubUrl url;           ///< the last one of a chain of redirects
  httplib::Headers headers;

  bool is_ok() const noexcept { return status == 200 || status == 206; }
  bool is_redirect() const noexcept {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  }
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

/// Threads: one at a time.
class HttpClient {
 public:
  /// Takes a piece of a body whose status is 200 or 206. It may throw.
  using Receive = std::function<void(const HttpAnswer& answer, std::string_view piece)>;

  /// Errors: invalid_argument for an endpoint that is no address.
  explicit HttpClient(const HubSettings& settings) : settings_(settings) {
    const auto endpoint = parse_hub_url(settings.endpoint);
    if (!endpoint) {
      fail(ErrorCode::invalid_argument, "HF_ENDPOINT is ", quoted_name(settings.endpoint),
           "; it must be an address such as https://huggingface.co");
    }
    origin_ = endpoint->origin;
  }

  /// GET from the byte `begin` on. Errors: malformed for a redirect that leads nowhere, io for one from https to http;
  /// what `receive` throws.
  HttpAnswer get(const HubUrl& url, std::uint64_t begin, const Receive& receive) {
    return follow(url, [&](HttpAnswer& answer) {
      get_once(begin, receive, answer);
      return false;
    });
  }

  /// HEAD, up to the first answer that says what it leads to. Errors: those of `get`.
  HttpAnswer head(const HubUrl& url) {
    return follow(url, [&](HttpAnswer& answer) {
      const httplib::Result result = client(answer.url.origin).Head(answer.url.path, headers(answer.url));
      if (result) {
        answer.status = result->status;
        answer.headers = result->headers;
      } else {
        answer.failure = httplib::to_string(result.error());
      }
      return !answer.header("X-Linked-ETag").empty() && !answer.header("X-Linked-Size").empty();
    });
  }

 private:
  /// Calls once(answer) for an address and for those that it redirects to, until the call returns true.
  template <class Once>
  HttpAnswer follow(HubUrl url, Once&& once) {
    constexpr int max_redirects = 10;
    const PipeSignalBlocked blocked;
    for (int redirects = 0;; ++redirects) {
      HttpAnswer answer;
      answer.url = url;
      if (once(answer) || !answer.is_redirect()) return answer;
      const auto next = redirected(url, answer.header("Location"));
      if (!next || redirects == max_redirects) {
        fail(ErrorCode::malformed, url.origin, " redirects to no address, or too often");
      }
      if (url.is_https() && !next->is_https())
        fail(ErrorCode::io, url.origin, " redirects from https to http: refused");
      url = *next;
    }
  }

  void get_once(std::uint64_t begin, const Receive& receive, HttpAnswer& answer) {
    httplib::Headers sent = headers(answer.url);
    if (begin > 0) sent.emplace("Range", "bytes=" + std::to_string(begin) + "-");
    std::exception_ptr thrown;
    const httplib::Result result = client(answer.url.origin)
                                       .Get(
                                           answer.url.path, sent,
                                           [&](const httplib::Response& response) {
                                             answer.status = response.status;
                                             answer.headers = response.headers;
                                             return answer.is_ok();
                                           },
                                           [&](const char* data, std::size_t size) {
                                             try {
                                               receive(answer, {data, size});
                                             } catch (...) {
                                               thrown = std::current_exception();
                                             }
                                             return thrown == nullptr;
                                           });
    if (thrown) std::rethrow_exception(thrown);
    if (!result && (answer.status == 0 || answer.is_ok())) answer.failure = httplib::to_string(result.error());
  }

  /// The token goes to the hub, not to the servers that it redirects to.
  httplib::Headers headers(const HubUrl& url) const {
    httplib::Headers sent{{"User-Agent", "tulle"}, {"Accept-Encoding", "identity"}};
    if (url.origin == origin_ && !settings_.token.empty()) sent.emplace("Authorization", "Bearer " + settings_.token);
    return sent;
  }

  httplib::Client& client(const std::string& origin) {
    std::unique_ptr<httplib::Client>& client = clients_[origin];
    if (!client) {
      client = std::make_unique<httplib::Client>(origin);
      client->set_connection_timeout(settings_.connect_time);
      client->set_read_timeout(settings_.stall_time);
      client->set_write_timeout(settings_.stall_time);
      client->set_keep_alive(true);
      client->set_url_encode(false);  // addresses are encoded, and those of a redirect are signed as they are
    }
    return *client;
  }

  const HubSettings& settings_;
  std::string origin_;  // of the hub
  std::map<std::string, std::unique_ptr<httplib::Client>> clients_;
};

}  // namespace tulle::detail
