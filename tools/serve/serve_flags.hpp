// SPDX-License-Identifier: Apache-2.0
/// \file The flags of `tulle serve`, and the server that they and a configuration mean.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <tulle/serve/server_options.hpp>

#include "tools/tulle/command_line.hpp"
#include "tools/tulle/draft_flags.hpp"
#include "tools/tulle/model_flags.hpp"

struct ServeFlags {
  ModelFlags model;
  DraftFlags draft;
  std::string name, task, config, integration = "local", log_level = "info";
  tulle::serve::ServerOptions server;
  std::size_t workers = 0, batch_size = 1;
  std::size_t request_seconds = 0, stop_seconds = 30, unload_seconds = 0, body_megabytes = 16;
  std::set<std::string> decided;  ///< keys of a configuration that flags were given for
  bool hot_reload = false, no_page = false, quiet = false;

  void add_to(CLI::App& app);

  /// Puts MODEL into `model`. Errors: UsageError for flags that do not go together.
  void check();
};

/// `config`: the text of --config-file. Errors: those of `read_server_config`.
tulle::serve::ServerOptions server_options(const ServeFlags& flags, const std::string& config);
