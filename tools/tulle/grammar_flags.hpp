// SPDX-License-Identifier: Apache-2.0
/// \file What a text must follow: the flags of structured output.
#pragma once

#include <memory>
#include <string>
#include <tulle/generate/text_generation.hpp>
#include <tulle/sampling/constraint.hpp>

#include "command_line.hpp"

class GrammarFlags {
 public:
  void add_to(CLI::App& flags);

  /// Null without a flag. Errors: those of `read_file`; invalid_argument for what a grammar cannot follow; unsupported
  /// where this build has no grammars.
  std::shared_ptr<const tulle::Constraint> constraint(tulle::TextGeneration& pipeline) const;

 private:
  std::string schema_, grammar_, regex_;
  bool json_object_ = false;
};
