// SPDX-License-Identifier: Apache-2.0
/// \file How many tokens it pays to draft: measured costs and a running share of accepted tokens (L4).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace tulle {

/// The seconds that a step takes, by its rows: running means, straight lines between them.
class StepSeconds {
 public:
  static constexpr std::size_t max_rows = 64;

  void add(std::size_t rows, double seconds) noexcept {
    if (rows == 0 || rows > max_rows) return;
    Mean& mean = means_[rows];
    // A step that another program interrupted says little.
    if (mean.count >= 2) seconds = std::min(seconds, 2 * mean.seconds);
    mean.seconds += (seconds - mean.seconds) / static_cast<double>(std::min<std::size_t>(++mean.count, 16));
  }
  std::size_t count(std::size_t rows) const noexcept { return rows > max_rows ? 0 : means_[rows].count; }

  /// 0 where nothing was measured. Beyond the measured rows the line through the ends goes on.
  double at(std::size_t rows) const noexcept {
    std::size_t below = std::min(rows, max_rows), above = below, first = 1, last = max_rows;
    while (below > 0 && count(below) == 0) --below;
    while (above <= max_rows && count(above) == 0) ++above;
    while (first <= max_rows && count(first) == 0) ++first;
    while (last > 0 && count(last) == 0) --last;
    if (last == 0) return 0;
    if (below == 0) return means_[first].seconds;
    if (above > max_rows || rows > max_rows) {
      const double slope = first == last
                               ? unmeasured_slope * means_[last].seconds
                               : (means_[last].seconds - means_[first].seconds) / static_cast<double>(last - first);
      return means_[last].seconds + std::max(slope, 0.0) * static_cast<double>(rows - last);
    }
    if (below == above) return means_[below].seconds;
    const double part = static_cast<double>(rows - below) / static_cast<double>(above - below);
    return means_[below].seconds + part * (means_[above].seconds - means_[below].seconds);
  }

 private:
  static constexpr double unmeasured_slope = 0.05;
  struct Mean {
    double seconds = 0;
    std::size_t count = 0;
  };
  std::array<Mean, max_rows + 1> means_{};
};

/// The share of drafted tokens that were accepted, by the drafter's confidence.
class AcceptedShare {
 public:
  void learn(float confidence, bool accepted) noexcept {
    Bin& bin = bins_[bin_of(confidence)];
    if (bin.all >= memory) {
      bin.all /= 2;
      bin.accepted /= 2;
    }
    bin.all += 1;
    bin.accepted += accepted ? 1 : 0;
  }
  double at(float confidence) const noexcept {
    const Bin& bin = bins_[bin_of(confidence)];
    return (bin.accepted + belief * static_cast<double>(confidence)) / (bin.all + belief);
  }

 private:
  static constexpr double memory = 256, belief = 4;
  struct Bin {
    double all = 0, accepted = 0;
  };
  /// Finer towards 1.
  static std::size_t bin_of(float confidence) noexcept {
    const double doubt = std::clamp(1 - static_cast<double>(confidence), 0x1p-9, 1.0);
    return std::min<std::size_t>(static_cast<std::size_t>(-2 * std::log2(doubt)), 15);
  }
  std::array<Bin, 16> bins_{};
};

/// Drafting goes on while the tokens that it is expected to add to the next step are worth its time at the present
/// pace. With a pace of the best policy that is the best policy (Dinkelbach, "On nonlinear fractional programming",
/// Management Science 13, 1967), and the pace approaches it.
struct DraftPolicy {
  StepSeconds target;  ///< of the target's steps
  AcceptedShare accepted;
  double tokens = 0, seconds = 0;         ///< of the last steps, drafting included
  double drafted = 0, draft_seconds = 0;  ///< of the last drafts

  double seconds_per_draft() const noexcept { return drafted > 0 ? draft_seconds / drafted : 0; }

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

  /// Tokens a second that drafting must not fall short of, for so many sequences.
  double pace(std::size_t sequences) const noexcept {
    const double plain = target.at(sequences);
    return std::max(seconds > 0 ? tokens / seconds : 0, plain > 0 ? static_cast<double>(sequences) / plain : 0);
  }

  /// Whether a sequence gains by 1 to `most` tokens more. `reach`: the probability that all that was drafted is
  /// accepted; `share`: of tokens that are not drafted yet; `rows`: of the next step as it is.
  bool pays(double reach, double share, std::size_t most, std::size_t rows, std::size_t sequences) const noexcept {
    const double present = target.at(rows), speed = pace(sequences);
    double gain = 0;
    for (std::size_t more = 1; more <= most; ++more) {
      reach *= share;
      gain += reach;
      const double cost = static_cast<double>(more) * seconds_per_draft() + target.at(rows + more) - present;
      if (gain > speed * cost) return true;
    }
    return false;
  }
};

}  // namespace tulle
