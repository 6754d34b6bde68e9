// SPDX-License-Identifier: Apache-2.0
/// \file An int8 weight matrix in any layout of its blocks, and the kernel on it (L2).
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/loop/i8_loop.hpp>
#include <tulle/kernel/int8/loop/unpacked_blocks.hpp>
#include <tulle/kernel/int8/packed_panels.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/work_partition.hpp>

namespace tulle {

namespace detail {

/// Y = X W^T on the instruction set `Tag`, by the loop for `Group`: that of the scales, or `any_group`.
template <class Layout, class Tag, std::size_t Group>
void multiply_i8(const PackedPanels& panels, const ActivationsI8& input, MatrixView<float> y, RowRange range) noexcept {
  using Unpacked = UnpackedLayout<Layout, Tag>;
  constexpr bool has_loop = HasI8Loop<Layout, Tag>;
  // AVX-512 gains little on dense blocks that are unpacked (`UnpackedBlocks512`).
  constexpr std::size_t few_tiles = std::is_same_v<Tag, isa::Avx512> && std::is_same_v<Layout, DenseBlocks> ? 4 : 2;
  if constexpr (!std::is_same_v<Unpacked, Layout>) {
    if (!has_loop || input.inputs() > few_tiles * tile_inputs) {
      return multiply_unpacked<Unpacked, Tag, Group>(panels, unpack_blocks<Layout, Tag>, input, y, range);
    }
  }
  if constexpr (has_loop) {
    const I8Loop<Layout, Tag, Group> loop{{panels.bytes(), panels.offsets(), panels.panel_bytes()},
                                          panels.scales(),
                                          input,
                                          y,
                                          range,
                                          {0, panels.padded_columns()}};
    for_each_tile(loop, input.inputs(), range);
  }
}

}  // namespace detail

/// W in panels of 16 rows, each a run of blocks of 16 columns as `Layout` stores them, and the scales beside them.
template <class Layout>
class I8Weights {
 public:
  I8Weights() = default;

  std::size_t rows() const noexcept { return panels_.rows(); }
  std::size_t columns() const noexcept { return panels_.columns(); }
  std::size_t size_bytes() const noexcept { return panels_.size_bytes(); }
  std::size_t group() const noexcept { return panels_.scales().group(); }  ///< columns that share a scale; 0: the row
  bool scale_per_input() const noexcept { return scale_per_input_; }

  /// Sets whether activations have one scale per row ("per token"), as some checkpoints need.
  void scale_per_input(bool per_row) noexcept { scale_per_input_ = per_row; }

  /// For few rows, panels that differ in size are shared out by bytes. For a batch they are unpacked and cost the same.
  RowRange share(std::size_t inputs, std::size_t worker, std::size_t workers) const noexcept
    requires(Layout::block_bytes == 0)
  {
    return share_by_cost(rows(), worker, workers, [&](std::size_t panel) {
      return inputs > 2 * tile_inputs ? panel : panels_.panel_begin(panel);
    });
  }

  /// Errors: unsupported when a block does not have the pattern of the layout; memory.
  static I8Weights pack(const WeightSource& source, ThreadPool* pool = nullptr) {
    return I8Weights(detail::PackedPanels(source, format, pool));
  }
  void unpack_row(std::size_t row, float* out) const noexcept { panels_.unpack_row(row, format, out); }

  template <class Self, class Fields>
  static void each_field(Self& self, Fields& fields) {
    fields(self.panels_, self.scale_per_input_);
  }
  bool is_sound() const noexcept { return panels_.are_sound(format); }

  template <class Isa>
  void multiply(const ActivationsI8& input, MatrixView<float> y, RowRange range) const noexcept {
    with_instruction_set<Isa>([&]<class Tag>(Tag) { multiply_on<Tag>(input, y, range); });
  }
  /// The loop of one instruction set. Not inline, so that `extern template` keeps it out of what only calls it.
  template <class Tag>
  void multiply_on(const ActivationsI8& input, MatrixView<float> y, RowRange range) const noexcept;

 private:
  static constexpr detail::I8Format format = detail::I8Format::of<Layout>();

  explicit I8Weights(detail::PackedPanels panels) noexcept : panels_(std::move(panels)) {}

  detail::PackedPanels panels_;
  bool scale_per_input_ = false;
};

/// Weights of 8 or 4 bits in `Layout`, and int8 activations. `RowQuantizer` makes codes and scales of any file's rows.
template <class Layout, class Isa>
struct I8Kernel : ActivationsI8Kernel<Isa> {
  static constexpr std::string_view name = Layout::name;
  using Weights = I8Weights<Layout>;

  static constexpr bool keeps_values(const CodeFormat& format, const PackOptions&) noexcept {
    return Layout::code_bits == 8 ? fits_i8(format) : fits_sparse_i4(format);
  }
  static Weights pack(const WeightSource& source, const PackOptions& options = {}) {
    Weights weights = Weights::pack(source, options.pool);
    weights.scale_per_input(options.scale_per_input);
    return weights;
  }
  static void unpack_row(const Weights& weights, std::size_t row, float* out) noexcept { weights.unpack_row(row, out); }
  static void multiply(const Weights& weights, const ActivationsI8& input, MatrixView<float> y,
                       RowRange range) noexcept {
    weights.template multiply<Isa>(input, y, range);
  }
};

template <class Layout>
template <class Tag>
void I8Weights<Layout>::multiply_on(const ActivationsI8& input, MatrixView<float> y, RowRange range) const noexcept {
#ifdef TULLE_COMPILED
  // A loop for each size of groups: a tenth faster with many rows, and three times the code.
  if constexpr (Layout::code_bits == 4) return detail::multiply_i8<Layout, Tag, 32>(panels_, input, y, range);
  switch (group()) {
    case 16: detail::multiply_i8<Layout, Tag, 16>(panels_, input, y, range); break;
    case 32: detail::multiply_i8<Layout, Tag, 32>(panels_, input, y, range); break;
    default: detail::multiply_i8<Layout, Tag, 0>(panels_, input, y, range);
  }
#else
  detail::multiply_i8<Layout, Tag, detail::any_group>(panels_, input, y, range);
#endif
  if (panels_.minimums().groups() != 0) detail::add_minimums<Tag>(panels_.minimums(), input, y, range);
}

}  // namespace tulle
