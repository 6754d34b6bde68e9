// SPDX-License-Identifier: Apache-2.0
/// \file How many tokens it pays to draft: measured costs and a running share of accepted tokens (L4).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace tulle {

/// The seconds that a step takes, by its rows: a line through the last steps (least squares, older ones count less), and
/// how far from it steps of each number of rows are: kernels multiply 2, 4 or 8 rows at once, so that costs have stairs.
class StepSeconds {
 public:
  void add(std::size_t rows, double seconds) noexcept {
    // A step that another program interrupted says little.
    if (weight_ > 3) seconds = std::min(seconds, 2 * at(rows));
    const double x = static_cast<double>(rows);
    for (double* sum : {&weight_, &rows_, &squares_, &seconds_, &products_}) *sum *= kept;
    weight_ += 1;
    rows_ += x;
    squares_ += x * x;
    seconds_ += seconds;
    products_ += x * seconds;
    if (rows >= stairs_.size()) return;
    Stair& stair = stairs_[rows];
    stair.steps = std::min(stair.steps + 1, stair_memory);
    stair.off += (seconds / line(x) - 1 - stair.off) / stair.steps;
  }

  /// About how many steps were measured: the older, the less one counts.
  double steps() const noexcept { return weight_; }

  /// 0 where nothing was measured.
  double at(std::size_t rows) const noexcept {
    if (weight_ == 0) return 0;
    const double expected = line(static_cast<double>(rows));
    if (rows >= stairs_.size()) return expected;
    const Stair& stair = stairs_[rows];
    return expected * (1 + stair.off * stair.steps / (stair.steps + 2));
  }

 private:
  static constexpr double kept = 0.98, unmeasured_slope = 0.05, stair_memory = 32;

  /// Of steps of one number of rows: how far they are from the line, as a share of it.
  struct Stair {
    double steps = 0, off = 0;
  };

  double line(double rows) const noexcept {
    const double mean_rows = rows_ / weight_, mean = seconds_ / weight_;
    const double spread = squares_ - rows_ * mean_rows, product = products_ - seconds_ * mean_rows;
    // Steps of one length alone say nothing of the slope.
    const double slope = std::max(0.0, (product + unmeasured_slope * mean) / (spread + 1));
    return std::max(mean / 8, mean + slope * (rows - mean_rows));
  }

  double weight_ = 0, rows_ = 0, squares_ = 0, seconds_ = 0, products_ = 0;
  std::array<Stair, 17> stairs_{};  // [rows]
};

/// The share of drafted tokens that were accepted, by the drafter's confidence.
class AcceptedShare {
 public:
  void learn(float confidence, bool accepted) noexcept {
    Bin& bin = bins_[bin_of(confidence)];
    for (Bin* each : {&bin, &all_}) {
      if (each->tokens < memory) continue;
      each->tokens /= 2;
      each->rejected /= 2;
      each->doubts /= 2;
    }
    for (Bin* each : {&bin, &all_}) {
      each->tokens += 1;
      each->rejected += accepted ? 0 : 1;
      each->doubts += 1 - static_cast<double>(confidence);
    }
  }
  /// A token of which little is known is rejected as often as its doubt (1 - confidence) says, times the ratio of
  /// rejections to doubts of all tokens.
  double at(float confidence) const noexcept {
    const Bin& bin = bins_[bin_of(confidence)];
    const double ratio = (all_.rejected + 1) / (all_.doubts + 1);
    const double believed = std::min(1.0, ratio * (1 - static_cast<double>(confidence)));
    return 1 - (bin.rejected + belief * believed) / (bin.tokens + belief);
  }

 private:
  static constexpr double memory = 256, belief = 4;
  struct Bin {
    double tokens = 0, rejected = 0, doubts = 0;
  };
  /// Finer towards 1.
  static std::size_t bin_of(float confidence) noexcept {
    const double doubt = std::clamp(1 - static_cast<double>(confidence), 0x1p-9, 1.0);
    return std::min<std::size_t>(static_cast<std::size_t>(-2 * std::log2(doubt)), 15);
  }
  std::array<Bin, 16> bins_{};
  Bin all_;
};

/// Drafting goes on while the tokens that it is expected to add to the next step are worth its time at the present
/// pace. With a pace of the best policy that is the best policy (Dinkelbach, "On nonlinear fractional programming",
/// Management Science 13, 1967), and the pace approaches it.
struct DraftPolicy {
  static constexpr double belief = 2;  ///< measured steps that an expected one counts for

  StepSeconds plain;  ///< of the target's steps without drafts, behind another such step
  /// Of those with drafts: slower for their rows, and where a drafter's weights replace the target's in the CPU's caches.
  /// A step without drafts right behind one counts here too: long drafts alone do not say what a short one takes.
  StepSeconds target;
  bool is_behind_drafts = false;  ///< the last step had some
  AcceptedShare accepted;
  double tokens = 0, seconds = 0;         ///< of the last steps, drafting included
  double drafted = 0, draft_seconds = 0;  ///< of the last drafts

  double seconds_per_draft() const noexcept { return drafted > 0 ? draft_seconds / drafted : 0; }

  /// What a step of the target took.
  void learn_target(std::size_t rows, bool has_drafts, double new_seconds) noexcept {
    (has_drafts || is_behind_drafts ? target : plain).add(rows, new_seconds);
    is_behind_drafts = has_drafts;
  }
  void learn_step(double new_tokens, double new_seconds) noexcept {
    constexpr double kept = 0.97;
    tokens = kept * tokens + new_tokens;
    seconds = kept * seconds + new_seconds;
  }
  void learn_draft(double new_tokens, double new_seconds) noexcept {
    constexpr double kept = 0.9;
    if (drafted > 1) new_seconds = std::min(new_seconds, 3 * new_tokens * seconds_per_draft());
    drafted = kept * drafted + new_tokens;
    draft_seconds = kept * draft_seconds + new_seconds;
  }

  /// Of a step of the target, for so many sequences. The first steps with drafts, which may be slow for many reasons,
  /// count beside what steps without drafts let one expect.
  double step_seconds(std::size_t rows, std::size_t sequences) const noexcept {
    const double expected = plain.at(rows), measured = target.steps();
    if (rows <= sequences || measured == 0) return expected;
    if (expected == 0) return target.at(rows);
    return (measured * target.at(rows) + belief * expected) / (measured + belief);
  }

  /// Tokens a second that drafting must not fall short of, for so many sequences.
  double pace(std::size_t sequences) const noexcept {
    const double step = plain.at(sequences);
    return std::max(seconds > 0 ? tokens / seconds : 0, step > 0 ? static_cast<double>(sequences) / step : 0);
  }

  /// Whether a sequence gains by 1 to `most` tokens more. `reach`: the probability that all that was drafted is
  /// accepted; `share`: of tokens that are not drafted yet; `rows`: of the next step as it is.
  bool pays(double reach, double share, std::size_t most, std::size_t rows, std::size_t sequences) const noexcept {
    const double present = step_seconds(rows, sequences), speed = pace(sequences);
    double gain = 0;
    for (std::size_t more = 1; more <= most; ++more) {
      reach *= share;
      gain += reach;
      const double step = step_seconds(rows + more, sequences) - present;
      const double cost = static_cast<double>(more) * seconds_per_draft() + step;
      if (gain > speed * cost) return true;
    }
    return false;
  }
};

}  // namespace tulle
