// SPDX-License-Identifier: Apache-2.0
/// \file An int8 weight matrix in any layout of its blocks, and the kernel on it (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/dense_panels.hpp>
#include <tulle/kernel/i8_loop.hpp>
#include <tulle/kernel/i8_rows.hpp>
#include <tulle/kernel/i8_scales.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/panel_work.hpp>
#include <tulle/kernel/quantized_input.hpp>
#include <tulle/kernel/row_share.hpp>
#include <tulle/kernel/signed_panels.hpp>

namespace tulle {

namespace detail {

/// Reads a panel of a matrix: its blocks as dense codes and its scales, both padded with zeros.
/// Not thread-safe: one for each thread.
class I8PanelReader {
 public:
  explicit I8PanelReader(const WeightRows& source, I8Rows::Codes of = I8Rows::Codes::of_file)
      : rows_(source, of),
        padded_(round_up(source.columns(), group_columns)),
        lines_(panel_rows * stride()),
        codes_(panel_rows * padded_),
        scales_(panel_rows * rows_.scales_per_row()) {}

  void read(std::size_t panel) noexcept {
    for (std::size_t row = 0; row < panel_rows; ++row) {
      const std::size_t at = panel * panel_rows + row, per_row = rows_.scales_per_row();
      if (at < rows_.rows()) {
        rows_.read(at, &lines_[row * stride()], &scales_[row * per_row]);
      } else {
        std::fill_n(&lines_[row * stride()], padded_, std::int8_t{0});
        std::fill_n(&scales_[row * per_row], per_row, 0.0f);
      }
    }
    for (std::size_t column = 0; column < padded_; column += 4) {
      for (std::size_t row = 0; row < panel_rows; ++row) {
        std::memcpy(&codes_[column * panel_rows + row * 4], &lines_[row * stride() + column], 4);
      }
    }
  }

  const std::vector<std::int8_t>& codes() const noexcept { return codes_; }  ///< [columns padded / 4][16 rows][4]
  const std::vector<float>& scales() const noexcept { return scales_; }      ///< [16 rows][scales of a row]

 private:
  /// Of the rows as they are read: no power of 2, so that 16 of them meet in the first cache.
  std::size_t stride() const noexcept { return padded_ + 64; }

  I8Rows rows_;
  std::size_t padded_;
  std::vector<std::int8_t> lines_;  // [16][stride]; behind the columns of the matrix they stay zeros
  std::vector<std::int8_t> codes_;
  std::vector<float> scales_;
};

}  // namespace detail

/// W in panels of 16 rows, each a run of blocks of 16 columns as `Layout` stores them, and the scales beside them.
template <class Layout>
class I8Weights {
 public:
  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }
  std::size_t size_bytes() const noexcept {
    return bytes_.size_bytes() + scales_.size_bytes() + offsets_.size() * sizeof(std::size_t);
  }
  std::size_t group() const noexcept { return scales_.group(); }  ///< columns that share a scale; 0: the whole row
  bool scale_per_input() const noexcept { return scale_per_input_; }

  /// Asks for activations with one scale per input row ("per token"), as the checkpoint says.
  void scale_per_input(bool wanted) noexcept { scale_per_input_ = wanted; }

  /// Where panels differ in size a few inputs share them by bytes; expanded for many they cost the same.
  RowRange share(std::size_t inputs, std::size_t worker, std::size_t workers) const noexcept
    requires(Layout::block_bytes == 0)
  {
    return share_by_cost(rows_, worker, workers, [&](std::size_t panel) {
      if (inputs > 2 * tile_inputs) return panel;
      return panel < offsets_.size() ? offsets_[panel] : bytes_.size();
    });
  }

  /// Errors: unsupported when a block does not have the pattern of the layout; memory.
  static I8Weights pack(const WeightRows& source, ThreadPool* pool = nullptr);
  void unpack_row(std::size_t row, float* out) const noexcept;

  template <class Isa>
  void multiply(const QuantizedInput& input, MatrixView<float> y, RowRange range) const noexcept {
    with_instruction_set<Isa>([&]<class Tag>(Tag) {
      const auto sweep = [&]<class Scale, std::size_t Span>(const Scale* group_scales, const float* row_scales) {
        const detail::I8Loop<Layout, Scale, Span, Tag> loop{
            {bytes_.data(), offsets_.data(), panel_bytes()}, group_scales, row_scales, input, y, range, {0, padded_}};
        if constexpr (Layout::expands_on_simd128 && Tag::value == InstructionSet::simd128) {
          return multiply_expanded<Scale, Span, Tag>(loop, range);
        } else {
          if constexpr (Layout::expands_for_many || is_made_ready<Tag>) {
            if (input.inputs() > 2 * tile_inputs) return multiply_expanded<Scale, Span, Tag>(loop, range);
          }
          for_each_tile(loop, input.inputs(), range);
        }
      };
      if constexpr (Layout::code_bits == 4) return sweep.template operator()<Half, 32>(scales_.halves(), nullptr);
      else switch (scales_.group()) {
        case 16: return sweep.template operator()<float, 16>(scales_.floats(), nullptr);
        case 32: return sweep.template operator()<Half, 32>(scales_.halves(), nullptr);
        default: return sweep.template operator()<void, group_columns>(nullptr, scales_.floats());
      }
    });
  }

 private:
  std::size_t blocks() const noexcept { return padded_ / detail::block_columns; }
  std::size_t panel_bytes() const noexcept { return blocks() * Layout::block_bytes; }
  std::size_t panel_begin(std::size_t index) const noexcept {
    return offsets_.empty() ? index * panel_bytes() : offsets_[index];
  }

  /// Dense weights gain from it on AVX2.
  template <class Tag>
  static constexpr bool is_made_ready = Tag::value == InstructionSet::avx2 && std::is_same_v<Layout, detail::DensePanels>;

#if defined(TULLE_X86)
  template <class Tag>
  using Expanded = std::conditional_t<Tag::value == InstructionSet::avx2, detail::SignedPanels, detail::DensePanels>;
#else
  template <class Tag>
  using Expanded = detail::DensePanels;
#endif

  /// Many inputs, or any number of them where a set has no loop over the layout: a panel or two at a time are expanded to
  /// dense ones, part by part of their columns, and every input meets them.
  template <class Scale, std::size_t Span, class Tag, class Loop>
  void multiply_expanded(const Loop& sparse, RowRange range) const noexcept {
    constexpr std::size_t expanded_bytes = Expanded<Tag>::block_bytes;
    constexpr std::size_t at_once = expanded_bytes == detail::block_codes ? 2 : 1;
    constexpr std::size_t part_columns = 512;  // then all of it fills half of a small first-level cache
    alignas(64) std::uint8_t expanded[at_once * part_columns / detail::block_columns * expanded_bytes];
    for (std::size_t first = range.begin; first < range.end; first += at_once * panel_rows) {
      const RowRange rows{first, std::min(first + at_once * panel_rows, range.end)};
      const std::size_t panels = (rows.end - first + panel_rows - 1) / panel_rows, first_panel = first / panel_rows;
      typename Layout::Cursor cursors[at_once];
      for (std::size_t p = 0; p < panels; ++p) cursors[p] = sparse.panels[first_panel + p];
      for (std::size_t begin = 0; begin < padded_; begin += part_columns) {
        const RowRange columns{begin, std::min(begin + part_columns, padded_)};
        const std::size_t part_blocks = (columns.end - begin) / detail::block_columns;
        const std::size_t part_bytes = part_blocks * expanded_bytes;
        for (std::size_t p = 0; p < panels; ++p) expand<Tag>(cursors[p], part_blocks, expanded + p * part_bytes);
        const detail::I8Loop<Expanded<Tag>, Scale, Span, Tag> dense{{expanded, nullptr, part_bytes, first_panel},
                                                                    sparse.group_scales, sparse.row_scales,
                                                                    sparse.input, sparse.y, rows, columns};
        for_each_tile(dense, sparse.input.inputs(), rows);
      }
    }
  }

  /// The next blocks of a panel, in the form of `Expanded`.
  template <class Tag>
  static void expand(typename Layout::Cursor& cursor, std::size_t blocks, std::uint8_t* out) noexcept {
    const auto to_dense = [&](std::size_t count, std::int8_t* codes) {
      if constexpr (requires { Layout::expand(Tag{}, cursor, count, codes); }) {
        Layout::expand(Tag{}, cursor, count, codes);
      } else {
        for (std::size_t i = 0; i < count; ++i, cursor.next()) cursor.read(codes + i * detail::block_codes);
      }
    };
    if constexpr (std::is_same_v<Expanded<Tag>, detail::DensePanels>) {
      to_dense(blocks, reinterpret_cast<std::int8_t*>(out));
    } else {
      for (std::size_t i = 0; i < blocks; ++i, out += Expanded<Tag>::block_bytes) {
        alignas(64) std::int8_t codes[detail::block_codes];
        to_dense(1, codes);
        Expanded<Tag>::write(codes, out);
      }
    }
  }

  std::size_t rows_ = 0, columns_ = 0, padded_ = 0;
  bool scale_per_input_ = false;
  AlignedBuffer<std::uint8_t> bytes_;
  std::vector<std::size_t> offsets_;  ///< of the panels, where blocks differ in size
  I8Scales scales_;
};

template <class Layout>
I8Weights<Layout> I8Weights<Layout>::pack(const WeightRows& source, ThreadPool* pool) {
  const auto of = Layout::code_bits == 4 ? I8Rows::Codes::of_4_bits : I8Rows::Codes::of_file;
  const I8Rows rows(source, of);
  I8Weights weights;
  weights.rows_ = rows.rows();
  weights.columns_ = rows.columns();
  weights.padded_ = round_up(rows.columns(), group_columns);
  weights.scales_ = I8Scales(rows.rows(), weights.padded_, rows.group());
  const std::size_t panels = round_up(rows.rows(), panel_rows) / panel_rows;
  std::size_t size = checked_multiply(panels, weights.panel_bytes(), "a weight matrix");
  std::vector<detail::I8PanelReader> readers(detail::panel_parts(pool), detail::I8PanelReader(source, of));
  if constexpr (Layout::block_bytes == 0) {
    weights.offsets_.resize(panels);
    detail::for_each_panel(pool, 0, panels, [&](std::size_t part, std::size_t panel) {
      readers[part].read(panel);
      const std::int8_t* codes = readers[part].codes().data();
      std::size_t bytes = 0;
      for (std::size_t block = 0; block < weights.blocks(); ++block) {
        bytes += Layout::bytes_of(codes + block * detail::block_codes);
      }
      weights.offsets_[panel] = bytes;
    });
    for (std::size_t& offset : weights.offsets_) {  // sizes until now
      const std::size_t panel_size = round_up(offset, std::size_t{64});
      offset = size;
      size += panel_size;
    }
  }
  weights.bytes_ = AlignedBuffer<std::uint8_t>(size, Uninitialized{});
  detail::for_each_panel(pool, 0, panels, [&](std::size_t part, std::size_t panel) {
    readers[part].read(panel);
    const std::int8_t* codes = readers[part].codes().data();
    std::uint8_t* out = weights.bytes_.data() + weights.panel_begin(panel);
    for (std::size_t block = 0; block < weights.blocks(); ++block, codes += detail::block_codes) {
      if (!Layout::fits(codes)) {
        fail(ErrorCode::unsupported, "the weights in rows ", panel * panel_rows, " to ", panel * panel_rows + 15,
             " do not have the zeros that ", Layout::name, " wants; choose another kernel, or auto");
      }
      out = Layout::write(codes, out);
    }
    const float* scale = readers[part].scales().data();
    for (std::size_t row = panel * panel_rows; row < (panel + 1) * panel_rows; ++row) {
      for (std::size_t at = 0; at < rows.scales_per_row(); ++at) weights.scales_.set(row, at, *scale++);
    }
  });
  return weights;
}

template <class Layout>
void I8Weights<Layout>::unpack_row(std::size_t row, float* out) const noexcept {
  typename Layout::Cursor cursor{bytes_.data() + panel_begin(row / panel_rows)};
  for (std::size_t begin = 0; begin < columns_; begin += detail::block_columns, cursor.next()) {
    std::int8_t codes[detail::block_codes];
    cursor.read(codes);
    for (std::size_t k = 0; k < detail::block_columns && begin + k < columns_; ++k) {
      out[begin + k] = scales_.at(row, begin + k) *
                       static_cast<float>(codes[(k / 4 * panel_rows + row % panel_rows) * 4 + k % 4]);
    }
  }
}

/// Weights of 8 or 4 bits in `Layout`, and int8 activations. Any file's rows become codes and scales as `I8Rows` says.
template <class Layout, class Isa>
struct I8Kernel : QuantizedInputKernel<Isa> {
  static constexpr std::string_view name = Layout::name;
  using Weights = I8Weights<Layout>;

  static constexpr bool keeps_values(DType dtype, const PackOptions&) noexcept {
    if constexpr (Layout::code_bits == 4) return dtype == DType::q4_0;
    return dtype == DType::i8 || dtype == DType::q8_0 || dtype == DType::q4_0 || dtype == DType::q6_k;
  }
  static Weights pack(const WeightRows& source, const PackOptions& options = {}) {
    Weights weights = Weights::pack(source, options.pool);
    weights.scale_per_input(options.scale_per_input);
    return weights;
  }
  static void unpack_row(const Weights& weights, std::size_t row, float* out) noexcept { weights.unpack_row(row, out); }
  static void multiply(const Weights& weights, const QuantizedInput& input, MatrixView<float> y, RowRange range) noexcept {
    weights.template multiply<Isa>(input, y, range);
  }
};

}  // namespace tulle
