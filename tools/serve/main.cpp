// SPDX-License-Identifier: Apache-2.0
/// \file `tulle serve`, a program of its own: it alone links HTTP, metrics and YAML. Exit status: as `tulle`.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <tulle/serve/server.hpp>
#include <tulle/serve/server_options.hpp>
#include <utility>

#include "config_file.hpp"
#include "serve_flags.hpp"
#include "tools/tulle/command_line.hpp"
#include "tools/tulle/pipeline.hpp"
#include "tools/tulle/progress_bar.hpp"

namespace {

using tulle::serve::Server;
using tulle::serve::ServerOptions;

/// A line on stderr, unless the flags want none.
void say(const ServeFlags& flags, const std::string& line) {
  if (!flags.quiet) std::fprintf(stderr, "%s\n", line.c_str());
}

/// Binds to the port. "http://127.0.0.1:5543".
std::string address(Server& server) {
  const ServerOptions& options = server.options();
  const bool is_v6 = options.host.find(':') != std::string::npos;
  return std::string(options.certificate.empty() ? "http://" : "https://") + (is_v6 ? "[" : "") + options.host +
         (is_v6 ? "]" : "") + ":" + std::to_string(server.bind());
}

/// Serves what the flags and the configuration say until a signal; with --hot-reload a changed configuration gets a new
/// server on the same port when its models are loaded; then the old one ends.
int serve(const ServeFlags& flags, const sigset_t& signals) {
  ConfigFile config(flags.config);
  auto server = std::make_unique<Server>(server_options(flags, config.text()));
  std::exception_ptr failure;
  std::atomic<bool> failed = false;
  std::thread listening;
  const auto start = [&](Server& one) {
    say(flags, "Listening on " + address(one) + (flags.no_page ? " (routes at /docs)" : " (a chat; routes at /docs)"));
    listening = std::thread([&one, &failure, &failed] {
      try {
        one.listen();
      } catch (...) {
        failure = std::current_exception();
        failed = true;
        ::kill(::getpid(), SIGTERM);
      }
    });
  };
  start(*server);
  for (;;) {
    const timespec half_a_second{0, 500'000'000};
    const int signal =
        flags.hot_reload ? ::sigtimedwait(&signals, nullptr, &half_a_second) : ::sigwaitinfo(&signals, nullptr);
    if (signal > 0) break;
    if (!flags.hot_reload || !config.changed()) continue;
    try {
      say(flags, "The configuration has changed");
      ServerOptions options = server_options(flags, config.text());
      if (flags.server.port == 0) options.port = server->bind();
      auto next = std::make_unique<Server>(std::move(options));
      next->load();
      (void)next->bind();
      std::thread before = std::exchange(listening, std::thread());
      const std::unique_ptr<Server> old = std::exchange(server, std::move(next));
      start(*server);
      old->hand_over();
      before.join();
      say(flags, "The new configuration is in use");
    } catch (const std::exception& error) {
      (void)report_error(1, std::string("the old configuration stays: ") + error.what());
    }
  }
  const bool has_failed = failed;  // and not because of the signal
  stop_work();
  server->stop();
  listening.join();
  if (has_failed) std::rethrow_exception(failure);
  say(flags, "Stopped");
  return 0;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): flags that throw as they are declared are a defect of ours
int main(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_IGN);  // of connections that clients close
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before there are threads: they take it over

  CLI::App program("Answer requests over HTTP: OpenAI's, Anthropic's and DeepSparse's routes.", "tulle serve");
  program.formatter(std::make_shared<HelpFormatter>());
  program.set_help_flag("-h,--help", "Print this help and exit");
  ServeFlags flags;
  flags.add_to(program);
  const auto run = [&] {
    flags.check();
    choose_instruction_set(flags.model.isa);
    return serve(flags, signals);
  };
  return run_program(program, count, arguments, run,
                     "use a smaller model, --sequence-length, --cache-tokens or --max-sequences");
}
