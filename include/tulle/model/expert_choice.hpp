// SPDX-License-Identifier: Apache-2.0
/// \file Which experts of a mixture each row of a batch goes to (L3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <tulle/model/architecture.hpp>
#include <tulle/model/attention_loop.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/isa.hpp>

namespace tulle {

/// An expert of a row, and a row of an expert.
struct ChosenExpert {
  std::uint32_t expert;
  float weight;
};
struct ChosenRow {
  std::uint32_t row;
  float weight;
};

/// Scores of a router in f32, the best of them, and the rows that every expert gets. A row's choice depends on that row
/// alone. Threads: `choose` may run for several rows at once.
class ExpertChoice {
 public:
  /// Room for `max_rows` rows, each with `max_per_row` of `max_experts` experts. Errors: memory.
  ExpertChoice(std::size_t max_rows, std::size_t max_experts, std::size_t max_per_row)
      : per_row_(max_per_row),
        max_experts_(max_experts),
        scores_(max_rows * max_experts),
        order_(max_rows * max_experts),
        chosen_(max_rows * max_per_row),
        rows_(max_experts == 0 ? 0 : std::max(max_rows * max_per_row, max_rows)),
        begins_(max_experts + 1) {}

  std::size_t size_bytes() const noexcept {
    return sizeof(float) * scores_.size() + sizeof(std::uint32_t) * order_.size() +
           sizeof(ChosenExpert) * chosen_.size() + sizeof(ChosenRow) * rows_.size() +
           sizeof(std::size_t) * begins_.size();
  }

  /// The `spec.per_row` experts with the largest scores for x [hidden], of equal ones the first, with weights by a softmax
  /// over all experts, or over the chosen ones where `spec.normalized`.
  void choose(const ExpertSpec& spec, const RouterWeights& router, const float* x, std::size_t hidden,
              std::size_t row) noexcept {
    float* scores = scores_.data() + row * max_experts_;
    std::uint32_t* order = order_.data() + row * max_experts_;
    with_instruction_set<isa::Active>(
        [&](auto tag) { detail::score_keys(tag, x, router.weight.data(), spec.count, hidden, scores); });
    for (std::size_t i = 0; i < router.bias.size(); ++i) scores[i] += router.bias[i];
    std::iota(order, order + spec.count, std::uint32_t{0});
    const auto better = [&](std::uint32_t a, std::uint32_t b) {
      return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
    };
    std::partial_sort(order, order + spec.per_row, order + spec.count, better);
    const float largest = scores[order[0]];
    const std::size_t summed = spec.normalized ? spec.per_row : spec.count;
    float sum = 0;
    for (std::size_t i = 0; i < summed; ++i) sum += std::exp(scores[spec.normalized ? order[i] : i] - largest);
    ChosenExpert* chosen = chosen_.data() + row * per_row_;
    for (std::size_t i = 0; i < spec.per_row; ++i) chosen[i] = {order[i], std::exp(scores[order[i]] - largest) / sum};
  }

  /// Sorts the choices of the first `rows` rows by expert, each expert's rows in order.
  void group(std::size_t rows, const ExpertSpec& spec) noexcept {
    std::fill(begins_.begin(), begins_.end(), std::size_t{0});
    const auto for_each = [&](auto&& work) {
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t i = 0; i < spec.per_row; ++i) work(row, chosen_[row * per_row_ + i]);
      }
    };
    for_each([&](std::size_t, const ChosenExpert& choice) { ++begins_[choice.expert]; });
    std::size_t end = 0;
    for (std::size_t& begin : begins_) begin = std::exchange(end, end + begin);
    for_each([&](std::size_t row, const ChosenExpert& choice) {
      rows_[begins_[choice.expert]++] = {static_cast<std::uint32_t>(row), choice.weight};
    });
  }

  /// The rows of one expert, after `group`.
  std::span<const ChosenRow> rows_of(std::size_t expert) const noexcept {
    const std::size_t begin = expert == 0 ? 0 : begins_[expert - 1];  // where the one before ends
    return {rows_.data() + begin, begins_[expert] - begin};
  }

  /// All rows with the weight 1; the groups are lost.
  std::span<ChosenRow> all_rows(std::size_t rows) noexcept {
    for (std::size_t row = 0; row < rows; ++row) rows_[row] = {static_cast<std::uint32_t>(row), 1.0f};
    return {rows_.data(), rows};
  }

 private:
  std::size_t per_row_, max_experts_;
  std::vector<float> scores_;         // [rows, experts]
  std::vector<std::uint32_t> order_;  // of the experts, the best first
  std::vector<ChosenExpert> chosen_;  // [rows, per row]
  std::vector<ChosenRow> rows_;       // of all experts, one after the other
  std::vector<std::size_t> begins_;   // of each expert's rows while they are sorted, their ends afterwards
};

}  // namespace tulle
