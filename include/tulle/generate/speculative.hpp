// SPDX-License-Identifier: Apache-2.0
/// \file Speculative decoding: a drafter and a generator put together (L4).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <tulle/generate/draft/draft_policy.hpp>
#include <tulle/generate/drafter.hpp>
#include <tulle/generate/generator.hpp>
#include <tulle/generate/sequence.hpp>
#include <tulle/generate/speculation.hpp>

namespace tulle {

/// Drafts for every sequence that decodes, each as long as it pays for that one; the generator verifies all of them in
/// its next step. The text is what it is without drafts (`Verification`), whatever the drafter and the lengths are.
///
///   Speculative<GeneratorType, NgramDrafter> speculative{NgramDrafter(), {}};
///   while (generator.running()) {
///     speculative.draft(generator);
///     StepReport report = generator.step(generator.plan());
///     speculative.learn(report, seconds_of_the_step);
///   }
///
/// Where drafts do not pay it drafts nothing, and tries again after 32, 64, ... 1024 steps. Threads: one at a time.
template <class GeneratorType, class DrafterType>
class Speculative final : public Speculation<GeneratorType> {
 public:
  using Sampling = typename GeneratorType::Sampling;
  static_assert(Drafter<DrafterType, Sampling>);

  Speculative(DrafterType drafter, const SpeculationOptions& options)
      : drafter_(std::move(drafter)), options_(options) {
    this->figures_.histogram.resize(options.max_tokens + 1);
  }

  DrafterType& drafter() noexcept { return drafter_; }

  void draft(GeneratorType& generator) override {
    open(generator);
    if (drafting_.empty() || must_measure()) return;
    const Clock::time_point started = Clock::now();
    std::erase_if(drafting_, [&](Draft<Sampling>* draft) { return !is_worth_a_try(*draft); });
    begun_ = drafting_;
    const bool reads = std::any_of(begun_.begin(), begun_.end(),
                                   [&](const Draft<Sampling>* draft) { return !has_seen_nearly_all(*draft); });
    try {
      for (Draft<Sampling>* draft : begun_) begin(*draft, generator);
      for (end_unwanted(); !drafting_.empty(); end_unwanted())
        drafter_.extend(std::span<Draft<Sampling>* const>(drafting_));
    } catch (...) {
      for (Draft<Sampling>* draft : begun_) drafter_.end(*draft);
      throw;
    }
    std::size_t tokens = 0;
    for (Draft<Sampling>* draft : begun_) {
      places_[draft->sequence].seen = draft->context.history.size() + draft->tokens.size();
      if constexpr (is_free) cut(*draft);
      generator.sequences().draft(draft->sequence, draft->tokens, draft->distributions);
      tokens += draft->tokens.size();
    }
    this->figures_.drafted += tokens;
    draft_seconds_ = std::chrono::duration<double>(Clock::now() - started).count();
    this->figures_.draft_seconds += draft_seconds_;
    if (tokens != 0 && !reads) policy_.learn_draft(static_cast<double>(tokens), draft_seconds_);
  }

  void learn(const StepReport& report, double seconds) override {
    std::size_t tokens = 0;
    for (std::size_t at = 0, end = 0; at < report.emissions.size(); at = end) {
      const SequenceId id = report.emissions[at].sequence;
      while (end < report.emissions.size() && report.emissions[end].sequence == id) ++end;
      tokens += learn(places_[id], report.emissions.subspan(at, end - at));
    }
    std::size_t rows = rows_;
    for (const Place& place : places_) rows += place.draft.tokens.size();
    if (!decodes_ || report.rows != rows) return;
    policy_.learn_target(rows, rows != rows_, seconds);
    policy_.learn_step(static_cast<double>(tokens), seconds + draft_seconds_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// A drafter whose tokens cost nothing says so: its drafts are made first and cut to what pays then.
  static constexpr bool is_free = requires { requires DrafterType::is_free; };
  static constexpr std::size_t first_patience = 32, last_patience = 1024, tried_tokens = 4;
  static constexpr std::size_t first_tokens = 2;  // of a draft, as long as nobody knows what one costs
  static constexpr std::size_t measured_steps = 3, steps_between_measures = 96;
  static constexpr double memory = 16;   // tokens that an accepted share remembers
  static constexpr double margin = 0.1;  // of a gain, for which drafting begins

  /// What is known of a sequence of the generator.
  struct Place {
    Draft<Sampling> draft;
    double share = 0;                                   // of its drafted tokens that were accepted lately
    std::size_t length = 0, seen = 0;                   // of its history: at the last step; what the drafter has seen
    std::size_t waited = 0, patience = first_patience;  // steps without a draft; after which one is tried
    bool tries = false;
  };

  /// Empty drafts for the sequences of which the next step runs one row, and draws from that.
  void open(GeneratorType& generator) {
    auto& sequences = generator.sequences();
    places_.resize(sequences.size());
    for (Place& place : places_) place.draft.tokens.clear();
    drafting_.clear();
    rows_ = decoding_ = 0;
    decodes_ = true;
    draft_seconds_ = 0;
    for (const SequenceId id : sequences.running()) {
      if (!sequences.drafted(id).empty()) sequences.draft(id, {});
      const std::size_t pending = sequences.pending(id).size();
      rows_ += pending;
      if (pending != 1 || sequences.waits(id)) {
        decodes_ = false;
        continue;
      }
      ++decoding_;
      const auto& going = generator.continuation(id);
      const std::size_t left = going.options.max_new_tokens - std::min(going.generated, going.options.max_new_tokens);
      const std::size_t room = std::min<std::size_t>(sequences.cache().room(id), generator.chunk());
      if (left < 2 || room < 2) continue;  // the last token needs no draft
      const std::span<const Token> history = sequences.history(id);
      Draft<Sampling>& draft = places_[id].draft;
      draft.start(id, going.context(history));
      draft.sampler = &*going.sampling;
      draft.eos = going.options.ignore_eos ? std::span<const Token>() : std::span<const Token>(going.options.eos);
      draft.cancel = going.options.cancel;
      draft.max_tokens = std::min({options_.max_tokens, left - 1, room - 1});
      draft.vocabulary = generator.vocabulary();
      draft.wants_distributions = going.options.verification == Verification::rejection;
      if (draft.max_tokens == 0) continue;
      meet(places_[id]);
      drafting_.push_back(&draft);
    }
  }

  /// A place may hold another text than at the last step.
  void meet(Place& place) const noexcept {
    const std::size_t length = place.draft.context.history.size();
    const bool goes_on =
        place.length != 0 && place.length <= length && length <= place.length + options_.max_tokens + 1;
    if (!goes_on) {
      place.share = share_;
      place.waited = 0;
      place.patience = first_patience;
    }
    place.length = length;
  }

  /// The first steps, and some later ones, are without drafts, to know what that takes. Between them one
  /// has drafts of full length: a cost that was once taken for too high would never be measured again.
  bool must_measure() noexcept {
    explores_ = false;
    if (!options_.adaptive || !decodes_) return false;
    const std::size_t phase = steps_++ % steps_between_measures;
    explores_ = !is_free && phase == steps_between_measures / 2;
    return phase < measured_steps;
  }

  bool is_worth_a_try(Draft<Sampling>& draft) noexcept {
    if (is_free || !options_.adaptive) return true;
    Place& place = places_[draft.sequence];
    place.tries = false;
    if (policy_.pays(1 - margin, place.share, draft.max_tokens, rows_, decoding_)) {
      place.waited = 0;
      place.patience = std::max(place.patience / 2, first_patience);
      return true;
    }
    return tries(place);
  }

  /// Whether it is time to draft a few tokens although that does not pay. One sequence at a time tries: a drafter that
  /// is a model first reads what it has not seen of the text.
  bool tries(Place& place) noexcept {
    if (++place.waited < place.patience || steps_ < next_try_) return false;
    next_try_ = steps_ + first_patience;
    place.waited = 0;
    place.patience = std::min(2 * place.patience, last_patience);
    place.draft.max_tokens = std::min(place.draft.max_tokens, tried_tokens);
    return place.tries = true;
  }

  /// Else the drafter reads it first, which is no cost of a drafted token.
  bool has_seen_nearly_all(const Draft<Sampling>& draft) const noexcept {
    const std::size_t seen = places_[draft.sequence].seen;
    return seen != 0 && draft.context.history.size() <= seen + options_.max_tokens + 1;
  }

  void begin(Draft<Sampling>& draft, GeneratorType& generator) {
    if constexpr (requires { drafter_.begin(draft, generator.sequences().cache()); }) {
      drafter_.begin(draft, generator.sequences().cache());
    } else {
      drafter_.begin(draft);
    }
  }

  void end_unwanted() {
    std::size_t rows = rows_;
    for (const Draft<Sampling>* draft : begun_) rows += draft->tokens.size();
    std::erase_if(drafting_, [&](Draft<Sampling>* draft) {
      if (!draft->ended && goes_on(*draft, rows)) return false;
      drafter_.end(*draft);
      return true;
    });
  }

  bool goes_on(const Draft<Sampling>& draft, std::size_t rows) const noexcept {
    const Place& place = places_[draft.sequence];
    if (is_free || !options_.adaptive || explores_ || place.tries || draft.tokens.empty()) return true;
    if (policy_.seconds_per_draft() == 0 && draft.tokens.size() == first_tokens) return false;
    double reach = 1;
    for (const float confidence : draft.confidences) reach *= policy_.accepted.at(confidence);
    return policy_.pays(reach, place.share, draft.max_tokens - draft.tokens.size(), rows, decoding_);
  }

  /// Leaves as many tokens as pay best. (They were certain, so that what is cut depends on the past alone.)
  void cut(Draft<Sampling>& draft) {
    if (!options_.adaptive || draft.tokens.empty()) return;
    const double present = policy_.step_seconds(rows_, decoding_), speed = policy_.pace(decoding_);
    double reach = 1, gain = 0, best = 0;
    std::size_t length = 0;
    for (std::size_t i = 0; i < draft.tokens.size(); ++i) {
      reach *= policy_.accepted.at(draft.confidences[i]);
      gain += reach;
      const double value = gain - speed * (policy_.step_seconds(rows_ + i + 1, decoding_) - present);
      if (value <= best) continue;
      best = value;
      length = i + 1;
    }
    Place& place = places_[draft.sequence];
    if (length != 0) {
      place.waited = 0;
      place.patience = first_patience;
    } else if (tries(place)) {
      length = std::min(draft.tokens.size(), tried_tokens);
    }
    draft.tokens.resize(length);
    draft.confidences.resize(length);
  }

  /// What a step gave of one sequence. Returns the tokens.
  std::size_t learn(Place& place, std::span<const Emission> emissions) {
    std::size_t tokens = 0, accepted = 0;
    for (const Emission& emission : emissions) {
      if (emission.token < 0) continue;
      if (tokens < place.draft.tokens.size()) {
        policy_.accepted.learn(place.draft.confidences[tokens], emission.drafted);
        for (double* share : {&place.share, &share_}) *share += ((emission.drafted ? 1 : 0) - *share) / memory;
        ++this->figures_.examined;
      }
      ++tokens;
      accepted += emission.drafted ? 1 : 0;
    }
    if (tokens == 0) return 0;
    SpeculationFigures& figures = this->figures_;
    ++figures.passes;
    figures.tokens += tokens;
    figures.accepted += accepted;
    ++figures.histogram[std::min(accepted, options_.max_tokens)];
    return tokens;
  }

  DrafterType drafter_;
  SpeculationOptions options_;
  DraftPolicy policy_;
  std::vector<Place> places_;                        // [sequences]
  std::vector<Draft<Sampling>*> drafting_, begun_;   // of places_
  double share_ = 0.7;                               // as in a place, of all of them
  std::size_t rows_ = 0, decoding_ = 0, steps_ = 0;  // pending rows; sequences that decode; so far
  std::size_t next_try_ = 0;                         // the step from which a sequence may try again
  bool decodes_ = false, explores_ = false;          // nothing else runs; with drafts of full length
  double draft_seconds_ = 0;                         // before this step
};

}  // namespace tulle
