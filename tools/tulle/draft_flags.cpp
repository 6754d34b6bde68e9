// SPDX-License-Identifier: Apache-2.0
#include "draft_flags.hpp"

#include "streams.hpp"

void DraftFlags::add_to(CLI::App& flags) {
  flags
      .add_option(
          flag_names("--draft-model"), drafter_,
          "Guess tokens, so that one pass of the model gives several: ngram, self:KERNEL, a path, hf:org/name, or A+B "
          "for A that guesses for B")
      ->type_name("NAME")
      ->group("Drafts");
  details_.push_back(
      flags.add_option(flag_names("--spec-length,--max-spec-length"), length_, "Guess at most so many tokens at once")
          ->type_name("N")
          ->group("Drafts")
          ->capture_default_str()
          ->check(in_range(0, 64)));
  details_.push_back(
      flags.add_flag(flag_names("--spec-fixed"), fixed_, "Always guess --spec-length tokens, whether that pays or not")
          ->group("Drafts"));
}

void DraftFlags::add_text_flags_to(CLI::App& flags) {
  flags.add_option("--prediction", prediction_, "Guess that the text is that of this file")
      ->type_name("FILE")
      ->group("Drafts");
  details_.push_back(
      flags
          .add_option("--verify", verify_,
                      "How guesses become text: coupled gives the text that there is without them, rejection another "
                      "one of the same distribution")
          ->type_name("coupled|rejection")
          ->group("Drafts")
          ->capture_default_str()
          ->check(CLI::IsMember({"coupled", "rejection"}).description("")));
}

tulle::DraftOptions DraftFlags::options() const {
  tulle::DraftOptions options{drafter_, {}, {length_, !fixed_}};
  if (prediction_.empty() && drafter_ == "prediction") {
    throw UsageError("--draft-model prediction needs --prediction FILE, which alone is enough");
  }
  for (const CLI::Option* detail : details_) {
    if (drafter_.empty() && prediction_.empty() && detail->count() > 0)
      throw UsageError(detail->get_name() + " needs a draft, such as --draft-model ngram");
  }
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
