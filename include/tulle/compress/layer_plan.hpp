// SPDX-License-Identifier: Apache-2.0
/// \file What compression does with one linear layer (L5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace tulle {

/// How the weights that stay are found.
enum class PruningMethod {
  alps,       ///< ADMM, then conjugate gradients on the mask (Meng et al. 2024, arXiv:2406.07831)
  sparsegpt,  ///< column by column, with the error spread over the columns that follow (arXiv:2301.00774)
  wanda,      ///< |weight| times the norm of its input (arXiv:2306.11695)
  magnitude,  ///< |weight|
};

/// Which weights compete with each other.
struct SparsityStructure {
  enum class Kind {
    matrix,    ///< all of a matrix
    row,       ///< those of a row
    balanced,  ///< `keep` of every `of` neighbours of a row
  };
  Kind kind = Kind::matrix;
  std::size_t keep = 0, of = 0;
  std::size_t max_gap = 0;  ///< balanced: kept columns are at most this far apart, the first below it; 0: any

  bool operator==(const SparsityStructure&) const = default;
};

/// Added to the diagonal of a layer's Hessian H: a ridge towards the dense weights.
struct Damping {
  double diagonal = 0;  ///< times each entry of the diagonal
  double median = 0;    ///< times the median of the diagonal
  double mean = 0;      ///< times its mean

  bool operator==(const Damping&) const = default;
};

/// Outlier weighed layerwise sparsity (arXiv:2310.05175): blocks with more outliers stay denser. An outlier is a weight
/// whose |weight| times the norm of its input is above `outlier` times the mean of its block.
struct OwlProfile {
  double outlier = 5;
  double spread = 0.08;  ///< sparsities differ from their mean by at most about this

  bool operator==(const OwlProfile&) const = default;
};

struct PruningPlan {
  PruningMethod method = PruningMethod::alps;
  double sparsity = 0.5;  ///< share of zeros; balanced structures have their own
  SparsityStructure structure{};
  std::size_t block_size = 128;      ///< SparseGPT: columns whose mask is found at once
  bool keep_existing_zeros = false;  ///< weights that are zero stay so
  std::optional<OwlProfile> owl{};   ///< `sparsity` is then the mean over all blocks with this profile
  bool permutes = true;              ///< channels inside of attention and MLP may change places: see `order_channels`

  /// Whether an order of columns matters: not where all of a row compete, nor with a largest gap, which has its own.
  bool moves_channels() const noexcept {
    return permutes && structure.kind == SparsityStructure::Kind::balanced && structure.max_gap == 0;
  }
  bool operator==(const PruningPlan&) const = default;
};

/// How the values that stay become codes.
enum class QuantizationMethod {
  nearest,  ///< the nearest code
  gptq,     ///< column by column, with the error spread over the columns that follow (arXiv:2210.17323)
  descent,  ///< as GPTQ with scales of either sign that weigh columns, then codes and scales in turn (`CodeDescent`)
};

struct QuantizationPlan {
  QuantizationMethod method = QuantizationMethod::descent;
  std::size_t bits = 8;        ///< 8 or 4
  std::size_t group = 0;       ///< columns that share a scale; 0: a whole row
  bool symmetric = true;       ///< else codes have a minimum
  bool searches_scale = true;  ///< scales of least error out of a grid, as `descent` does, else of the largest value
  bool jointly = false;        ///< in the loop of SparseGPT, with the scales of the dense weights

  bool operator==(const QuantizationPlan&) const = default;
};

/// What a layer is fitted to. 0 and 0 is the classic target: its own output on compressed inputs.
struct TargetPlan {
  double alpha = 0.75;      ///< share of the dense model's output on dense inputs
  double gamma = 1;         ///< of the residual stream's error that a layer which adds to it makes good
  bool row_weights = true;  ///< tokens of large norm (attention sinks) count less
  bool sequential = true;   ///< statistics hold the compressed matrices before this one inside the block
  Damping damping{0.1, 0.1, 0};

  bool operator==(const TargetPlan&) const = default;
};

struct LayerPlan {
  std::optional<PruningPlan> pruning{};
  std::optional<QuantizationPlan> quantization{};
  TargetPlan target{};

  bool operator==(const LayerPlan&) const = default;
};

/// A plan with Tulle's own target: 4-bit codes of all weights want twice the damping of pruned layers.
inline LayerPlan with_own_target(LayerPlan plan) {
  if (!plan.pruning && plan.quantization && plan.quantization->bits == 4) plan.target.damping = {0.2, 0.2, 0};
  return plan;
}

}  // namespace tulle
