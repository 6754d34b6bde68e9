// SPDX-License-Identifier: Apache-2.0
/// \file How tokens are picked and when a text ends: the flags that generate and chat share.
#pragma once

#include <string>
#include <tulle/generate/generation_options.hpp>
#include <vector>

#include "command_line.hpp"

class GenerationFlags {
 public:
  explicit GenerationFlags(std::size_t max_new_tokens) { options_.max_new_tokens = max_new_tokens; }

  void add_to(CLI::App& flags);

  /// The options of the flags: greedy, unless one of the flags is for drawing. Errors: UsageError.
  tulle::GenerationOptions options() const;

 private:
  tulle::GenerationOptions options_;
  std::string order_ = "hugging_face";
  bool show_special_tokens_ = false;
  CLI::Option* stop_ = nullptr;
  std::vector<CLI::Option*> drawing_;  // flags that switch from greedy to drawing
};
