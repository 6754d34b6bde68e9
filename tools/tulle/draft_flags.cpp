// SPDX-License-Identifier: Apache-2.0
#include "draft_flags.hpp"

#include "streams.hpp"

void DraftFlags::add_to(CLI::App& flags) {
  const auto add = [&](const char* names, auto& value, const char* type, const char* what) {
    return flags.add_option(flag_names(names), value, what)->type_name(type)->group("Drafts");
  };
  add("--draft-model", drafter_, "NAME",
      "Guess tokens, so that one pass of the model gives several: ngram, self:KERNEL, a path, or A+B (see below)");
  add("--prediction", prediction_, "FILE", "Guess that the text is that of this file");
  add("--spec-length,--max-spec-length", length_, "N", "Guess at most so many tokens at once")
      ->capture_default_str()
      ->check(CLI::Range(0, 64).description(""));
  flags.add_flag(flag_names("--spec-fixed"), fixed_, "Always guess --spec-length tokens, whether that pays or not")
      ->group("Drafts");
  add("--verify", verify_, "coupled|rejection", "How guesses become text: coupled gives the text without guesses")
      ->capture_default_str()
      ->check(CLI::IsMember({"coupled", "rejection"}).description(""));
}

tulle::DraftOptions DraftFlags::options() const {
  tulle::DraftOptions options{drafter_, {}, {length_, !fixed_}};
  if (prediction_.empty()) return options;
  if (!drafter_.empty()) throw UsageError("--prediction is a draft of its own; leave --draft-model out");
  options.drafter = "prediction";
  options.prediction = read_file(prediction_);
  return options;
}

tulle::Verification DraftFlags::verification() const {
  return verify_ == "rejection" ? tulle::Verification::rejection : tulle::Verification::coupled;
}

nlohmann::ordered_json figures_json(const tulle::SpeculationFigures& figures) {
  return {{"target_passes", figures.passes},
          {"tokens", figures.tokens},
          {"drafted", figures.drafted},
          {"accepted", figures.accepted},
          {"mean_accepted", figures.mean_accepted()},
          {"acceptance", figures.acceptance()},
          {"draft_seconds", figures.draft_seconds},
          {"accepted_histogram", figures.histogram}};
}
