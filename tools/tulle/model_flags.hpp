// SPDX-License-Identifier: Apache-2.0
/// \file Which model runs, and how: the flags that generate, chat, logits and inspect share.
#pragma once

#include <string>
#include <tulle/generate/engine.hpp>

#include "command_line.hpp"

struct ModelFlags {
  std::string path;
  std::string kernel = "auto";
  std::string isa;  ///< empty: the machine's best
  tulle::EngineOptions engine;

  void add_to(CLI::App& flags);
};
