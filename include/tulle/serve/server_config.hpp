// SPDX-License-Identifier: Apache-2.0
/// \file The YAML configuration of a server, as DeepSparse's servers read it (L6).
#pragma once

#include <set>
#include <string>
#include <string_view>

#include <tulle/serve/server_options.hpp>

namespace tulle::serve {

/// Adds what a configuration says to `options`: its models, endpoints and settings. `base`: of every model, where the
/// configuration does not say otherwise. `where` names the file in messages.
/// `decided`: which of host, port, num_cores and max_sequences stay as they are, since flags were given for them.
/// Keys of DeepSparse's that have no meaning here (loggers, num_workers, ...) change nothing.
/// Errors: malformed for what is not YAML; invalid_argument for unknown keys, with near ones, and for values of the
/// wrong type; those of the endpoints' arguments.
void read_server_config(std::string_view text, const std::string& where, TextGenerationOptions base,
                        ServerOptions& options, const std::set<std::string>& decided = {});

}  // namespace tulle::serve

#ifndef TULLE_SERVE_COMPILED
#include <tulle/serve/server_config_inline.hpp>
#endif
