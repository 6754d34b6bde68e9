// SPDX-License-Identifier: Apache-2.0
/// \file A checkpoint whose matrices are read as plain floats, perhaps pruned: for a cheaper copy of a model (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// Of every `group` columns (at most 16) the `kept` largest stay; 0: all do. `max_gap`: columns from one of them to the
/// next, and from before the group to the first; 0: any.
struct MagnitudePattern {
  std::size_t kept = 0, group = 0, max_gap = 0;
};

namespace detail {

inline constexpr std::size_t widest_pruned_group = 16;

/// Zeroes all of a group but `kept` values of the largest sum of magnitudes whose gaps are at most `max_gap`.
inline void prune_group(float* values, const MagnitudePattern& pattern) noexcept {
  const std::size_t most = pattern.max_gap == 0 ? pattern.group : pattern.max_gap;
  // sums[n][end]: the largest sum of n values of which values[end - 1] is the last; negative where there is none.
  std::array<std::array<float, widest_pruned_group + 1>, widest_pruned_group + 1> sums;
  std::array<std::array<std::uint8_t, widest_pruned_group + 1>, widest_pruned_group + 1> before{};
  for (auto& row : sums) row.fill(-1);
  sums[0][0] = 0;
  for (std::size_t n = 1; n <= pattern.kept; ++n) {
    for (std::size_t end = n; end <= pattern.group; ++end) {
      const std::size_t first = end - std::min(end, most);
      const auto best = std::max_element(&sums[n - 1][first], &sums[n - 1][end]);
      if (*best < 0) continue;
      sums[n][end] = *best + std::fabs(values[end - 1]);
      before[n][end] = static_cast<std::uint8_t>(best - sums[n - 1].data());
    }
  }
  const auto& last = sums[pattern.kept];
  auto end = static_cast<std::size_t>(std::max_element(last.begin(), last.end()) - last.begin());
  std::array<bool, widest_pruned_group> stays{};
  for (std::size_t n = pattern.kept; n > 0 && end > 0; --n) {
    stays[end - 1] = true;
    end = before[n][end];
  }
  for (std::size_t i = 0; i < pattern.group; ++i) values[i] = stays[i] ? values[i] : 0.0f;
}

}  // namespace detail

/// The values of another source, without its codes: packing quantizes them anew, symmetrically.
class RequantizedRows final : public WeightSource {
 public:
  explicit RequantizedRows(std::shared_ptr<const WeightSource> base, const MagnitudePattern& pattern = {})
      : base_(std::move(base)), pattern_(pattern) {}

  std::size_t rows() const noexcept override { return base_->rows(); }
  std::size_t columns() const noexcept override { return base_->columns(); }
  CodeFormat code_format() const noexcept override { return {}; }
  std::size_t size_bytes() const noexcept override { return base_->size_bytes(); }
  std::shared_ptr<const WeightSource> copied() const override {
    return std::make_shared<const RequantizedRows>(base_->copied(), pattern_);
  }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    base_->decode(rows, out);
    if (pattern_.kept == 0) return;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::size_t begin = 0; begin + pattern_.group <= columns(); begin += pattern_.group) {
        detail::prune_group(out[row] + begin, pattern_);
      }
    }
  }
  void codes(std::span<const std::uint32_t>, MatrixView<std::int8_t>, float*, float*) const noexcept override {}

 private:
  std::shared_ptr<const WeightSource> base_;
  MagnitudePattern pattern_;
};

/// The tensors of another source, its matrices as `RequantizedRows`; that of `whole` (the embedding) is not pruned.
/// Lifetime: the source must outlive it.
class RequantizedTensors final : public TensorSource {
 public:
  RequantizedTensors(const TensorSource& base, std::string whole, const MagnitudePattern& pattern = {})
      : base_(base), whole_(std::move(whole)), pattern_(pattern) {}

  const EncodedTensor* find(std::string_view name) const override { return base_.find(name); }
  std::vector<std::string> names() const override { return base_.names(); }
  std::shared_ptr<const WeightSource> matrix(const std::string& name) const override {
    auto rows = base_.matrix(name);
    if (rows == nullptr) return nullptr;
    return std::make_shared<const RequantizedRows>(std::move(rows), name == whole_ ? MagnitudePattern{} : pattern_);
  }
  std::span<const std::byte> read(const EncodedTensor& tensor) const override { return base_.read(tensor); }
  void release(std::span<const std::byte> bytes) const noexcept override { base_.release(bytes); }

 private:
  const TensorSource& base_;
  std::string whole_;
  MagnitudePattern pattern_;
};

}  // namespace tulle
