// SPDX-License-Identifier: Apache-2.0
/// \file Unstructured sparse weights as sliced ELL with windows (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/activations/activations_i14.hpp>
#include <tulle/kernel/ell/ell_loop.hpp>
#include <tulle/kernel/ell/ell_panels.hpp>
#include <tulle/kernel/ell/ell_row_order.hpp>
#include <tulle/kernel/ell/ell_rows.hpp>
#include <tulle/kernel/ell/ell_unpacked.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/parallel_pack.hpp>
#include <tulle/kernel/schedule/work_partition.hpp>
#include <tulle/tensor/machine.hpp>

namespace tulle {

/// Every row has one scale: windows do not end where a group of columns does. Activations are finer instead
/// (`ActivationsI14`).
class EllWeights {
 public:
  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }
  std::size_t size_bytes() const noexcept {
    return bytes_.size_bytes() + advances_.size_bytes() + sums_.size_bytes() + scales_.size_bytes() +
           order_.size_bytes() + bundles_.size() * sizeof(std::size_t);
  }

  /// Whether panel p holds rows 16 p ... 16 p + 15, so that a share of `multiply` writes the rows of its range.
  bool is_in_order() const noexcept { return order_.is_that_of_matrix(); }

  /// The cost of a panel is its number of bundles.
  RowRange share(std::size_t, std::size_t worker, std::size_t workers) const noexcept {
    return share_by_cost(rows_, worker, workers, [&](std::size_t panel) { return bundles_[panel * spans()]; });
  }

  /// `nibbles`: values of 4 bits. Otherwise 8, with gaps of 2 or of 4 bits, whichever takes less memory.
  /// Windows are those that suit the instruction set; the others read them too, AVX2 those of AVX-512 slowly. Errors:
  /// memory.
  template <class Isa>
  static EllWeights pack(const WeightSource& source, bool nibbles, ThreadPool* pool = nullptr) {
    constexpr double narrow_share = 0.44;  // from there on 2-bit gaps take less memory, in spite of more filled slots
    std::vector<Part> parts(detail::panel_parts(pool), {detail::EllRows(source, nibbles), {}});
    std::vector<std::uint32_t> nonzeros(source.rows());
    const std::size_t panels = round_up(source.rows(), panel_rows) / panel_rows;
    detail::for_each_panel(pool, 0, panels, [&](std::size_t part, std::size_t panel) {
      const PanelRows rows(panel * panel_rows, source.rows());
      parts[part].rows.read(rows);
      for (std::size_t i = 0; i < rows.size(); ++i) nonzeros[panel * panel_rows + i] = parts[part].rows.nonzeros(i);
    });
    const auto sum = static_cast<double>(std::accumulate(nonzeros.begin(), nonzeros.end(), std::size_t{0}));
    const double share = sum / static_cast<double>(std::max<std::size_t>(source.rows() * source.columns(), 1));
    detail::EllRowOrder order(nonzeros, source.columns(), round_up(source.rows(), panel_rows));
    if (!nibbles && share > narrow_share) {
      return pack_as<detail::EllNarrow>(source, order, Form::narrow, detail::EllNarrow::window, parts, pool);
    }
    const std::size_t window = with_instruction_set<Isa>([&](auto tag) { return best_window(tag, nibbles, share); });
    return nibbles ? pack_as<detail::EllNibbles>(source, order, Form::nibbles, window, parts, pool)
                   : pack_as<detail::EllWide>(source, order, Form::wide, window, parts, pool);
  }

  void unpack_row(std::size_t row, float* out) const noexcept {
    std::fill_n(out, columns_, 0.0f);
    const std::size_t place = order_.place_of(row);
    with_form([&]<class Layout>(Layout) {
      for (std::size_t span = 0; span < spans(); ++span) {
        const std::size_t piece = place / panel_rows * spans() + span;
        detail::for_each_ell_value<Layout>(
            bytes_.data() + bundles_[piece] * Layout::bundle_bytes, bundles_[piece + 1] - bundles_[piece],
            [&](std::size_t of, std::size_t column, std::int8_t value) {
              if (of == place % panel_rows)
                out[span * detail::span_columns + column] = scales_[place] * static_cast<float>(value);
            });
      }
    });
  }

  template <class Self, class Fields>
  static void each_field(Self& self, Fields& fields) {
    fields(self.rows_, self.columns_, self.form_, self.window_, self.bytes_, self.advances_, self.bundles_, self.sums_,
           self.scales_, self.order_);
  }
  /// Whether no loop reads beyond the arrays or the activations.
  bool is_sound() const noexcept {
    const std::size_t padded = round_up(rows_, panel_rows);
    const bool has_window =
        window_ == detail::short_window || window_ == detail::middle_window || window_ == detail::EllWide::window;
    if (form_ > Form::nibbles || !has_window || bundles_.size() != padded / panel_rows * spans() + 1 ||
        sums_.size() != padded * spans() || scales_.size() != padded || !order_.is_sound(padded)) {
      return false;
    }
    bool sound = true;
    with_form([&]<class Layout>(Layout) {
      sound = detail::are_sound_pieces<Layout>(bytes_.span(), advances_.span(), bundles_, spans(), columns_);
    });
    return sound;
  }

  template <class Isa>
  void multiply(const ActivationsI14& input, MatrixView<float> y, RowRange range) const noexcept {
    with_instruction_set<Isa>([&]<class Tag>(Tag) { multiply_on<Tag>(input, y, range); });
  }
  /// The loop of one instruction set. Not inline, see `I8Weights`.
  template <class Tag>
  void multiply_on(const ActivationsI14& input, MatrixView<float> y, RowRange range) const noexcept;

 private:
  enum class Form : std::uint8_t { narrow, wide, nibbles };

  /// What a thread packs with.
  struct Part {
    detail::EllRows rows;
    detail::EllEncoder encoder;
  };

  /// Where AVX2 is memory-bound, fewer bytes are worth more shuffles (bench/README).
  template <class Tag>
  static std::size_t best_window(Tag, bool nibbles, double nonzero_share) noexcept {
    if constexpr (!std::is_base_of_v<isa::Avx2, Tag>) return detail::EllWide::window;
    const bool memory_bound = std::is_same_v<Tag, isa::Avx2> && !nibbles && nonzero_share <= this_machine.ell_window_48;
    return memory_bound ? detail::middle_window : detail::short_window;
  }

  /// For a batch on AVX-512: unpacked panels. Else nothing.
  template <class Layout, class Tag>
  static auto unpacked_for(const detail::EllLoop<Layout, Tag>& loop) noexcept {
#if defined(TULLE_X86)
    if constexpr (std::is_same_v<Tag, isa::Avx512>) {
      std::optional<detail::UnpackedEll<Layout>> unpacked;
      if (loop.input.inputs() >= 2 * detail::UnpackedEll<Layout>::inputs) unpacked.emplace(loop);
      return unpacked;
    } else
#endif
      return (void)loop, std::nullopt;
  }

  /// One row of activations.
  template <class Loop>
  static void run_far_apart(const Loop& loop, std::size_t begin, std::size_t end) noexcept {
    const std::size_t half = (end - begin) / 2;
    for (std::size_t panel = begin; panel < begin + half; ++panel) loop.template run<1>({panel, panel + half}, 0);
    if (begin + 2 * half < end) loop.template run<1>({end - 1}, 0);
  }

  template <std::size_t Inputs, class Unpacked, class Loop>
  static void run_panel(const Unpacked& unpacked, const Loop& loop, std::size_t panel, std::size_t first) noexcept {
    if constexpr (!std::is_same_v<Unpacked, std::nullopt_t> && Inputs == 8) {
      if (unpacked && unpacked->holds(panel)) return unpacked->run(panel, first);
    }
    loop.template run<Inputs>({panel}, first);
  }

  std::size_t spans() const noexcept { return round_up(columns_, detail::span_columns) / detail::span_columns; }

  template <class Run>
  void with_form(Run&& run) const noexcept {
    switch (form_) {
      case Form::narrow: return run(detail::EllNarrow{});
      case Form::wide: return run(detail::EllWide{});
      case Form::nibbles: return run(detail::EllNibbles{});
    }
  }

  template <class Layout>
  static EllWeights pack_as(const WeightSource& source, detail::EllRowOrder& order, Form form, std::size_t window,
                            std::vector<Part>& parts, ThreadPool* pool) {
    constexpr int value_steps = Layout::nibbles ? 16 : 1;  // a nibble is read as the high half of a byte
    EllWeights weights;
    weights.form_ = form;
    weights.window_ = window;
    weights.rows_ = source.rows();
    weights.columns_ = source.columns();
    const std::size_t padded = round_up(source.rows(), panel_rows);
    weights.sums_ = AlignedBuffer<std::int32_t>(padded * weights.spans(), Pages::shared);
    weights.scales_ = AlignedBuffer<float>(padded, Pages::shared);
    weights.order_ = std::move(order);
    const std::size_t panels = padded / panel_rows, spans = weights.spans();
    std::vector<detail::EllPanel> pieces(panels * spans);
    detail::for_each_panel(pool, 0, panels, [&](std::size_t part, std::size_t panel) {
      detail::EllRows& rows = parts[part].rows;
      const std::size_t first = panel * panel_rows;
      std::array<std::uint32_t, panel_rows> of_panel;
      for (std::size_t i = 0; i < panel_rows; ++i) {
        of_panel[i] = static_cast<std::uint32_t>(weights.order_.row_at(first + i));
      }
      rows.read({of_panel.data(), std::min(panel_rows, source.rows() - first)});
      for (std::size_t row = 0; row < panel_rows; ++row) {
        weights.scales_[first + row] = rows.scale(row) / value_steps;
      }
      for (std::size_t span = 0; span < spans; ++span) {
        const std::size_t begin = span * detail::span_columns,
                          end = std::min(begin + detail::span_columns, source.columns());
        const std::size_t piece = panel * spans + span;
        for (std::size_t row = 0; row < panel_rows; ++row) {
          weights.sums_[piece * panel_rows + row] =
              value_steps * std::accumulate(rows.codes(row) + begin, rows.codes(row) + end, std::int32_t{0});
        }
        pieces[piece] =
            parts[part].encoder.template encode<Layout>(rows.codes(0) + begin, source.columns(), end - begin, window);
      }
    });
    weights.join(pieces, Layout::bundle_bytes, Layout::steps, pool);
    return weights;
  }

  /// Sets bundles and their bytes from those of the pieces, whose memory goes back.
  void join(std::span<detail::EllPanel> pieces, std::size_t bundle_bytes, std::size_t steps, ThreadPool* pool) {
    bundles_.push_back(0);
    for (const detail::EllPanel& piece : pieces) {
      bundles_.push_back(bundles_.back() + piece.bytes.size() / bundle_bytes);
    }
    bytes_ = AlignedBuffer<std::uint8_t>(bundles_.back() * bundle_bytes, Uninitialized{}, Pages::shared);
    advances_ = AlignedBuffer<std::uint8_t>(bundles_.back() * steps, Uninitialized{}, Pages::shared);
    detail::for_each_panel(pool, 0, pieces.size(), [&](std::size_t, std::size_t index) {
      const detail::EllPanel piece = std::move(pieces[index]);
      const std::size_t bundle = bundles_[index];
      std::copy(piece.bytes.begin(), piece.bytes.end(), bytes_.data() + bundle * bundle_bytes);
      std::copy(piece.advances.begin(), piece.advances.end(), advances_.data() + bundle * steps);
    });
  }

  std::size_t rows_ = 0, columns_ = 0;
  Form form_ = Form::wide;
  std::size_t window_ = detail::EllWide::window;  ///< columns of one
  AlignedBuffer<std::uint8_t> bytes_, advances_;
  std::vector<std::size_t> bundles_;  ///< [panels * spans + 1], the first bundle of each
  AlignedBuffer<std::int32_t> sums_;  ///< [panels * spans][16] of a row's values
  AlignedBuffer<float> scales_;       ///< [rows padded]
  detail::EllRowOrder order_;
  InstructionSetHold hold_;  ///< the window suits the set
};

template <class Tag>
void EllWeights::multiply_on(const ActivationsI14& input, MatrixView<float> y, RowRange range) const noexcept {
  if (range.begin >= range.end) return;  // a worker without a share; its range may begin inside a panel
  with_form([&]<class Layout>(Layout) {
    const detail::EllLoop<Layout, Tag> loop{
        bytes_.data(), advances_.data(), bundles_.data(), window_, columns_, spans(),
        sums_.data(),  scales_.data(),   order_,          input,   y,        range};
    if constexpr (ActivationsI14::tile_of<Tag> > 0) {
      if (input.many()) return loop.run_many();
    }
    const std::size_t end = round_up(range.end, panel_rows) / panel_rows;
    // Two panels interleaved: two memory streams, which some CPUs read faster than one. They need more registers than
    // AVX2 has: that pays only where a bundle is more than one step.
    if constexpr (std::is_same_v<Tag, isa::Avx512> || (std::is_base_of_v<isa::Avx2, Tag> && Layout::steps > 1)) {
      if (input.inputs() == 1 && this_machine.interleaves_ell)
        return run_far_apart(loop, range.begin / panel_rows, end);
    }
    // A few rows of activations stay in L1 while 16 panels, which stay in L2, are multiplied by them.
    constexpr std::size_t panels_at_once = 16;
    [[maybe_unused]] auto unpacked = unpacked_for(loop);
    for (std::size_t begin = range.begin / panel_rows; begin < end; begin += panels_at_once) {
      const std::size_t group_end = std::min(begin + panels_at_once, end);
      if constexpr (std::is_same_v<Tag, isa::Avx512>) {
        if (unpacked) unpacked->unpack(begin, group_end);
      }
      const auto run = [&]<std::size_t Inputs>(std::size_t& first) {
        for (; first + Inputs <= input.inputs(); first += Inputs) {
          for (std::size_t panel = begin; panel < group_end; ++panel) {
            run_panel<Inputs>(unpacked, loop, panel, first);
          }
        }
      };
      std::size_t first = 0;
      if constexpr (!std::is_same_v<Tag, isa::Simd128>) {
        run.template operator()<8>(first);
        run.template operator()<4>(first);
        run.template operator()<2>(first);
      }
      run.template operator()<1>(first);
    }
  });
}

}  // namespace tulle
