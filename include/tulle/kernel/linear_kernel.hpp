// SPDX-License-Identifier: Apache-2.0
/// \file The concept of a linear kernel: how a weight matrix is stored and multiplied (L2).
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>

#include <tulle/core/types.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

class ThreadPool;

/// Output rows are stored and computed in panels of this many; row ranges begin and end at a multiple of it (or at the
/// end).
inline constexpr std::size_t panel_rows = 16;

/// Options of packing; a kernel ignores those that do not concern it.
struct PackOptions {
  std::string_view kernel = "auto";  ///< a name that `kernel_choice` returned, or a literal: it is not copied
  std::size_t int4_group = 32;   ///< columns that share a scale where weights are quantized to 4 bits: 32, 64 or 128
  bool scale_per_input = false;  ///< one scale per row of activations ("per token"), as some checkpoints need
  ThreadPool* pool = nullptr;    ///< whose threads pack; null: the caller's alone. The result is the same
};

/// A weight matrix W [rows, columns] in the form that one inner loop reads, and that loop: Y = X W^T.
///
/// - `pack(source, options)` makes `Weights` from a source, panel by panel, never through an f32 copy of the whole.
///   No work of the pool in `options` is under way.
/// - `Input` holds activations X [rows, columns], prepared once and used by every matrix that reads the same X. Its
///   constructor allocates for `max_inputs` x `max_columns`, `size_bytes()` in all; nothing after it allocates.
/// - `start(weights, inputs, input)` sets how many rows of X follow; then `prepare(weights, x, input, range)` prepares
///   the rows of a range (any thread, any split into ranges that begin at multiples of 8). `shares_input(a, b)`:
///   whether activations prepared for a also serve b.
/// - `multiply(weights, input, y, range)` writes y [rows of X, rows of W] for the output rows of `range`; weights that are
///   not `is_in_order` (work_partition.hpp) for as many other rows, such that ranges that cover all write all. The bits of
///   an output depend on its row of W and its row of X alone: not on the other rows, their number, the ranges, or the
///   threads.
/// - `keeps_values(format, options)`: whether packing a source of that format loses nothing.
/// - `unpack_row` gives row `row` of W as floats [columns], as `multiply` uses it.
///
/// Threads: const objects may be used by many threads; `prepare` and `multiply` on disjoint ranges may run
/// concurrently.
template <class K>
concept LinearKernel =
    requires(const typename K::Weights& weights, typename K::Input& input, const typename K::Input& prepared,
             const WeightSource& source, const PackOptions& options, MatrixView<const float> x, MatrixView<float> y,
             RowRange range, std::size_t count, float* row) {
      { K::name } -> std::convertible_to<std::string_view>;
      { weights.rows() } noexcept -> std::same_as<std::size_t>;
      { weights.columns() } noexcept -> std::same_as<std::size_t>;
      { weights.size_bytes() } noexcept -> std::same_as<std::size_t>;  // read by one multiply with one row
      { K::pack(source, options) } -> std::same_as<typename K::Weights>;
      { K::keeps_values(CodeFormat{}, options) } noexcept -> std::same_as<bool>;
      typename K::Input;
      requires std::constructible_from<typename K::Input, std::size_t, std::size_t>;
      { prepared.size_bytes() } noexcept -> std::same_as<std::size_t>;
      { K::start(weights, count, input) } noexcept -> std::same_as<void>;
      { K::prepare(weights, x, input, range) } noexcept -> std::same_as<void>;
      { K::shares_input(weights, weights) } noexcept -> std::same_as<bool>;
      { K::multiply(weights, prepared, y, range) } noexcept -> std::same_as<void>;
      { K::unpack_row(weights, count, row) } noexcept -> std::same_as<void>;
    };

}  // namespace tulle
