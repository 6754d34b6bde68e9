// SPDX-License-Identifier: Apache-2.0
/// \file Flags for the model and its engine, which most subcommands share.
#pragma once

#include <string>
#include <tulle/format/lora/adapter_path.hpp>
#include <tulle/generate/engine.hpp>
#include <vector>

#include "command_line.hpp"

struct ModelFlags {
  std::string path;
  std::string kernel = "auto";
  std::string isa;  ///< empty: the machine's best
  std::vector<tulle::AdapterPath> adapters;
  tulle::EngineOptions engine;

  void add_to(CLI::App& flags);
  /// Of those, what decides how weights are packed.
  void add_kernel_to(CLI::App& flags);
};
