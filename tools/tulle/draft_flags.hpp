// SPDX-License-Identifier: Apache-2.0
/// \file Speculative decoding: the flags that generate, chat and serve share, and its figures.
#pragma once

#include <cstddef>
#include <string>
#include <tulle/core/json.hpp>
#include <tulle/generate/draft/draft_options.hpp>
#include <tulle/generate/sequence.hpp>
#include <tulle/generate/speculation.hpp>
#include <vector>

#include "command_line.hpp"

class DraftFlags {
 public:
  void add_to(CLI::App& flags);
  /// Those that concern one text.
  void add_text_flags_to(CLI::App& flags);

  /// Reads the file of a prediction. Errors: those of `read_file`; UsageError, also for a flag of drafts where nothing
  /// drafts.
  tulle::DraftOptions options() const;
  tulle::Verification verification() const;

 private:
  std::string drafter_, prediction_, verify_ = "coupled";
  std::size_t length_ = 7;
  bool fixed_ = false;
  std::vector<const CLI::Option*> details_;  // flags that say nothing without a draft
};

/// The figures of the drafts so far.
nlohmann::ordered_json figures_json(const tulle::SpeculationFigures& figures);
