// SPDX-License-Identifier: Apache-2.0
/// \file What the layouts of 8 or 4-bit weights share: panels of blocks in memory, how they are packed and read (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/error.hpp>
#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/row_quantizer.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/parallel_pack.hpp>

namespace tulle::detail {

/// Reads a panel of a matrix: its blocks as dense codes and its scales, both padded with zeros.
/// Not thread-safe: one for each thread.
class I8PanelReader {
 public:
  I8PanelReader(const WeightSource& source, RowQuantizer::Codes of)
      : rows_(source, of),
        padded_(round_up(source.columns(), group_columns)),
        lines_(panel_rows * stride()),
        codes_(panel_rows * padded_),
        scales_(panel_rows * rows_.scales_per_row()),
        minimums_(rows_.format().has_minimums ? scales_.size() : 0) {}

  void read(std::size_t panel) noexcept {
    const PanelRows rows(panel * panel_rows, rows_.rows());
    rows_.read(rows, {lines_.data(), rows.size(), rows_.columns(), stride()}, scales_.data(),
               minimums_.empty() ? nullptr : minimums_.data());
    const auto padding = static_cast<std::ptrdiff_t>(rows.size() * rows_.scales_per_row());
    std::fill(lines_.begin() + static_cast<std::ptrdiff_t>(rows.size() * stride()), lines_.end(), std::int8_t{0});
    std::fill(scales_.begin() + padding, scales_.end(), 0.0f);
    if (!minimums_.empty()) std::fill(minimums_.begin() + padding, minimums_.end(), 0.0f);
    for (std::size_t column = 0; column < padded_; column += 4) {
      for (std::size_t row = 0; row < panel_rows; ++row) {
        std::memcpy(&codes_[column * panel_rows + row * 4], &lines_[row * stride() + column], 4);
      }
    }
  }

  const CodeFormat& format() const noexcept { return rows_.format(); }
  std::span<const std::int8_t> codes() const noexcept { return codes_; }  ///< [columns padded / 4][16 rows][4]
  std::span<const float> scales() const noexcept { return scales_; }      ///< [16 rows][scales of a row]

  void copy_scales(GroupScales& scales, GroupScales& minimums, std::size_t panel) const noexcept {
    scales.set_panel(panel, scales_, rows_.scales_per_row());
    if (!minimums_.empty()) minimums.set_panel(panel, minimums_, rows_.scales_per_row());
  }

 private:
  /// Of the rows as they are read: no power of 2, so that 16 of them do not share the sets of the L1 cache.
  std::size_t stride() const noexcept { return padded_ + 64; }

  RowQuantizer rows_;
  std::size_t padded_;
  std::vector<std::int8_t> lines_;  // [16][stride]; behind the columns of the matrix they stay zeros
  std::vector<std::int8_t> codes_;
  std::vector<float> scales_, minimums_;
};

/// How a layout stores a block, for code that is compiled once for all layouts.
struct I8Format {
  std::string_view name;
  RowQuantizer::Codes codes;
  std::size_t block_bytes;                                     ///< 0: blocks differ in size
  std::size_t (*bytes_of)(const std::int8_t* codes) noexcept;  ///< what `write` makes of these
  bool (*fits)(const std::int8_t* codes) noexcept;             ///< whether they have the layout's pattern
  std::uint8_t* (*write)(const std::int8_t* codes, std::uint8_t* block) noexcept;       ///< returns the block's end
  const std::uint8_t* (*read)(const std::uint8_t* block, std::int8_t* codes) noexcept;  ///< returns the block's end
  std::size_t (*bytes_at)(const std::uint8_t* block) noexcept;  ///< of a block, known from its first `head_bytes`

  static constexpr std::size_t head_bytes = 32;

  template <class Layout>
  static constexpr I8Format of() noexcept {
    return {Layout::name,
            Layout::code_bits == 4 ? RowQuantizer::Codes::of_4_bits : RowQuantizer::Codes::of_file,
            Layout::block_bytes,
            [](const std::int8_t* block) noexcept {
              if constexpr (Layout::block_bytes != 0)
                return (void)block, Layout::block_bytes;
              else
                return Layout::bytes_of(block);
            },
            Layout::fits,
            Layout::write,
            [](const std::uint8_t* block, std::int8_t* into) noexcept {
              typename Layout::Cursor cursor{block};
              cursor.read(into);
              cursor.next();
              return cursor.at;
            },
            [](const std::uint8_t* block) noexcept {
              if constexpr (Layout::block_bytes != 0)
                return (void)block, Layout::block_bytes;
              else
                return Layout::bytes_at(block);
            }};
  }
};

/// W in panels of 16 rows, each a run of blocks of 16 columns, and the scales beside them.
class PackedPanels {
 public:
  PackedPanels() = default;

  /// Errors: unsupported when a block does not have the pattern of the layout; memory.
  PackedPanels(const WeightSource& source, const I8Format& format, ThreadPool* pool)
      : rows_(source.rows()), columns_(source.columns()), padded_(round_up(source.columns(), group_columns)) {
    std::vector<I8PanelReader> readers(panel_parts(pool), I8PanelReader(source, format.codes));
    scales_ = GroupScales(rows_, padded_, readers[0].format());
    if (readers[0].format().has_minimums) minimums_ = GroupScales(rows_, padded_, readers[0].format());
    panel_bytes_ = blocks() * format.block_bytes;
    const std::size_t panels = round_up(rows_, panel_rows) / panel_rows;
    std::size_t size = checked_multiply(panels, panel_bytes_, "a weight matrix");
    if (format.block_bytes == 0) {
      offsets_.resize(panels);
      for_each_panel(pool, 0, panels, [&](std::size_t part, std::size_t panel) {
        readers[part].read(panel);
        const std::int8_t* codes = readers[part].codes().data();
        std::size_t bytes = 0;
        for (std::size_t block = 0; block < blocks(); ++block) bytes += format.bytes_of(codes + block * block_codes);
        offsets_[panel] = bytes;
      });
      for (std::size_t& offset : offsets_) {  // sizes until now
        const std::size_t panel_size = round_up(offset, std::size_t{64});
        offset = size;
        size += panel_size;
      }
    }
    bytes_ = AlignedBuffer<std::uint8_t>(size, Uninitialized{}, Pages::shared);
    for_each_panel(pool, 0, panels, [&](std::size_t part, std::size_t panel) {
      readers[part].read(panel);
      write(panel, readers[part], format);
    });
  }

  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }
  std::size_t padded_columns() const noexcept { return padded_; }
  std::size_t size_bytes() const noexcept {
    return bytes_.size_bytes() + scales_.size_bytes() + minimums_.size_bytes() + offsets_.size() * sizeof(std::size_t);
  }
  const std::uint8_t* bytes() const noexcept { return bytes_.data(); }
  std::size_t panel_bytes() const noexcept { return panel_bytes_; }        ///< 0 where panels differ in size
  const std::size_t* offsets() const noexcept { return offsets_.data(); }  ///< of the panels, where they differ
  const GroupScales& scales() const noexcept { return scales_; }
  const GroupScales& minimums() const noexcept { return minimums_; }  ///< without groups where codes have none

  /// Where panel `index` begins; of the one after the last, where all of them end.
  std::size_t panel_begin(std::size_t index) const noexcept {
    if (offsets_.empty()) return index * panel_bytes_;
    return index < offsets_.size() ? offsets_[index] : bytes_.size();
  }

  template <class Self, class Fields>
  static void each_field(Self& self, Fields& fields) {
    fields(self.rows_, self.columns_, self.padded_, self.panel_bytes_, self.bytes_, self.offsets_, self.scales_,
           self.minimums_);
  }
  /// Whether no loop reads beyond the arrays. Needs: fewer than 2^31 rows and columns.
  bool are_sound(const I8Format& format) const noexcept {
    if (padded_ != round_up(columns_, group_columns) || panel_bytes_ != blocks() * format.block_bytes) return false;
    const std::size_t group = scales_.group(), panels = round_up(rows_, panel_rows) / panel_rows;
    if (group != 32 && (format.codes == RowQuantizer::Codes::of_4_bits || (group != 0 && group != 16))) return false;
    if (!scales_.are_sound(rows_, padded_)) return false;
    if (minimums_.groups() != 0 && (minimums_.group() != group || !minimums_.are_sound(rows_, padded_))) return false;
    if (format.block_bytes != 0) return offsets_.empty() && bytes_.size() == panels * panel_bytes_;
    if (offsets_.size() != panels) return false;
    std::size_t at = 0;
    for (std::size_t panel = 0; panel < panels; ++panel) {
      const std::size_t end = panel_begin(panel + 1);
      if (offsets_[panel] != at || end > bytes_.size()) return false;
      for (std::size_t block = 0; block < blocks(); ++block) {
        if (at > end || end - at < format.head_bytes) return false;
        at += format.bytes_at(bytes_.data() + at);
      }
      at = round_up(at, std::size_t{64});
      if (at != end) return false;
    }
    return true;
  }

  void unpack_row(std::size_t row, const I8Format& format, float* out) const noexcept {
    const std::uint8_t* block = bytes_.data() + panel_begin(row / panel_rows);
    for (std::size_t begin = 0; begin < columns_; begin += block_columns) {
      std::int8_t codes[block_codes];
      block = format.read(block, codes);
      const float scale = scales_.at(row, begin), minimum = minimums_.groups() == 0 ? 0 : minimums_.at(row, begin);
      for (std::size_t k = 0; k < block_columns && begin + k < columns_; ++k) {
        const std::int8_t code = codes[(k / 4 * panel_rows + row % panel_rows) * 4 + k % 4];
        out[begin + k] = scale * static_cast<float>(code);
        if (minimums_.groups() != 0) out[begin + k] += minimum;
      }
    }
  }

 private:
  std::size_t blocks() const noexcept { return padded_ / block_columns; }

  void write(std::size_t panel, const I8PanelReader& reader, const I8Format& format) {
    const std::int8_t* codes = reader.codes().data();
    std::uint8_t* out = bytes_.data() + panel_begin(panel);
    for (std::size_t block = 0; block < blocks(); ++block, codes += block_codes) {
      if (!format.fits(codes)) {
        fail(ErrorCode::unsupported, "the weights in rows ", panel * panel_rows, " to ", panel * panel_rows + 15,
             " do not have the zeros that ", format.name, " needs; choose another kernel, or auto");
      }
      out = format.write(codes, out);
    }
    reader.copy_scales(scales_, minimums_, panel);
  }

  std::size_t rows_ = 0, columns_ = 0, padded_ = 0, panel_bytes_ = 0;
  AlignedBuffer<std::uint8_t> bytes_;
  std::vector<std::size_t> offsets_;
  GroupScales scales_, minimums_;
};

}  // namespace tulle::detail
