// SPDX-License-Identifier: Apache-2.0
/// \file An HTTP server of text generation: OpenAI's, Anthropic's and DeepSparse's routes over any number of models (L6).
#pragma once

#include <memory>

#include <tulle/serve/server_options.hpp>

namespace tulle::serve {

namespace detail {
class HttpService;
}

/// Serves until `stop`.
///
///   tulle::serve::ServerOptions options;
///   options.models = {{"smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"}};
///   tulle::serve::Server(options).listen();
///
/// Threads: `stop` may be called from any thread, also while `listen` has not returned; the object must outlive that.
class Server {
 public:
  /// Errors: invalid_argument for options that make no sense.
  explicit Server(ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  const ServerOptions& options() const noexcept;

  /// Binds to the port, which it returns: connections wait there from now on. Errors: io when it cannot be had.
  int bind();

  /// Loads the models, unless they are to be loaded when they are used. Errors: those of loading.
  void load();

  /// Answers at once, and binds and loads where that was not done. Returns after `stop`, when all answers are complete.
  /// Errors: those of `bind` and `load`; io when the system ends the socket.
  void listen();

  /// New requests are refused; those that run are finished within `ServerOptions::stop_time`, or cut.
  void stop();

  /// As `stop`, where another server listens on the port (`ServerOptions::shares_port`), which gets the new connections.
  /// Requests of those that are open are answered while others run, so none is refused.
  void hand_over();

 private:
  std::unique_ptr<detail::HttpService> service_;
};

}  // namespace tulle::serve

#ifndef TULLE_SERVE_COMPILED
#include <tulle/serve/server_inline.hpp>
#endif
