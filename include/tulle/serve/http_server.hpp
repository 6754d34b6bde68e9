// SPDX-License-Identifier: Apache-2.0
/// \file The HTTP or HTTPS server that options mean, without its routes (L6).
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <sys/socket.h>
#ifdef __linux__
#include <linux/filter.h>
#endif

#include <tulle/core/error.hpp>
#include <tulle/serve/http_connections.hpp>
#include <tulle/serve/server_options.hpp>

namespace tulle::serve {

/// httplib's routes are regular expressions; this one matches `path` alone.
inline std::string literal_pattern(std::string_view path) {
  std::string pattern;
  for (const char c : path) {
    if (std::string_view("^$\\.*+?()[]{}|:").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

namespace detail {

inline void set_limits(httplib::Server& server, const ServerOptions& options) {
  server.new_task_queue = [most = options.max_connections] { return new ConnectionThreads(most); };
  server.set_keep_alive_timeout(options.idle_time.count());
  server.set_keep_alive_max_count(1'000'000);
  server.set_read_timeout(std::min(options.receive_time, std::chrono::seconds(5)));
  server.set_write_timeout(options.send_time);
  server.set_payload_max_length(options.max_body_bytes);
  server.set_tcp_nodelay(true);
}

/// Of two servers that share a port the later one gets all new connections. Elsewhere than on Linux each gets some.
inline void take_new_connections([[maybe_unused]] int socket) {
#ifdef SO_ATTACH_REUSEPORT_CBPF
  sock_filter second{BPF_RET | BPF_K, 0, 0, 1};  // by number, from 0; where there is one alone, that one
  const sock_fprog program{1, &second};
  (void)::setsockopt(socket, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program);
#endif
}

}  // namespace detail

/// The port on which the server listens from now on; -1 where it cannot.
inline int bind_to_port(httplib::Server& server, const ServerOptions& options) {
  const auto listener = std::make_shared<int>(-1);
  server.set_socket_options([listener, shares = options.shares_port](socket_t socket) {
    *listener = socket;
    const int yes = 1;
    (void)::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (shares) (void)::setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
  });
  int port = options.port;
  if (port == 0) {
    port = server.bind_to_any_port(options.host);
  } else if (!server.bind_to_port(options.host, port)) {
    port = -1;
  }
  if (port >= 0 && options.shares_port) detail::take_new_connections(*listener);
  return port;
}

/// Errors: invalid_argument for a certificate without its key; malformed for one that cannot be used.
inline std::unique_ptr<httplib::Server> make_http_server(const ServerOptions& options) {
  if (options.certificate.empty() != options.private_key.empty()) {
    fail(ErrorCode::invalid_argument, "HTTPS needs a certificate and its private key");
  }
  std::unique_ptr<httplib::Server> server;
  if (options.certificate.empty()) {
    server = std::make_unique<WatchedServer<httplib::Server>>(options.receive_time);
  } else {
    server = std::make_unique<WatchedServer<httplib::SSLServer>>(options.receive_time, options.certificate.c_str(),
                                                                 options.private_key.c_str());
  }
  if (!server->is_valid()) fail(ErrorCode::malformed, options.certificate, ": no certificate that fits its key");
  detail::set_limits(*server, options);
  return server;
}

}  // namespace tulle::serve
