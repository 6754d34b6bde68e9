// SPDX-License-Identifier: Apache-2.0
/// \file ELL panels unpacked for a batch on AVX-512 (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include <tulle/kernel/ell/ell_loop.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// A few panels with decoded columns: for every step its window, the place of each slot's activation in it, and the
/// values. A row of activations then costs two permutations and two products a step.
template <class Form>
class UnpackedEll {
 public:
  using Loop = EllLoop<Form, isa::Avx512>;
  static constexpr std::size_t inputs = 8;  ///< rows of activations that are multiplied by a panel at once

  /// Without memory for the steps it holds no panels.
  explicit UnpackedEll(const Loop& loop) noexcept : loop_(loop), steps_(new(std::nothrow) Steps) {}

  /// Unpacks panels from `begin` on, at most up to `end` and while they fit.
  void unpack(std::size_t begin, std::size_t end) noexcept {
    begin_ = end_ = begin;
    if (steps_ == nullptr) return;
    for (std::size_t used = 0; end_ < end; ++end_) {
      const std::size_t first = end_ * loop_.spans;
      const std::size_t count = (loop_.bundles[first + loop_.spans] - loop_.bundles[first]) * Form::steps;
      if (used + count > max_steps) return;
      for (std::size_t piece = first; piece < first + loop_.spans; ++piece)
        used += unpack_piece(loop_.piece(piece), used);
    }
  }
  bool holds(std::size_t panel) const noexcept { return panel >= begin_ && panel < end_; }

  /// Multiplies a panel that it holds by 8 rows of activations.
  void run(std::size_t panel, std::size_t first) const noexcept {
    const std::uint8_t* before = loop_.piece(begin_ * loop_.spans).advances;
    loop_.template run<inputs>({panel}, first, [&](const EllPiece(&piece)[1], const std::uint8_t* x, auto& dots) {
      multiply(static_cast<std::size_t>(piece[0].advances - before), piece[0].bundles * Form::steps, x, dots[0]);
    });
  }

 private:
  static constexpr std::size_t max_steps = 2048;  // they stay in L2

  struct Steps {
    alignas(64) std::uint8_t places[max_steps][64];
    alignas(64) std::int8_t values[max_steps][64];
    std::uint32_t columns[max_steps];  ///< the begins of their windows, from the span's first column on
  };

  /// Writes the steps of a piece from `at` on, and returns their number.
  TULLE_TARGET_AVX512 std::size_t unpack_piece(const EllPiece& piece, std::size_t at) noexcept {
    const std::size_t first = at;
    EllSteps512<Form> steps;
    steps.start(piece);
    for (std::size_t left = piece.bundles; left > 0; --left, steps.next_bundle()) {
      for (std::size_t s = 0; s < Form::steps; ++s, ++at) {
        const auto [places, values, column] = steps.step(s);
        _mm512_store_si512(steps_->places[at], places);
        _mm512_store_si512(steps_->values[at], values);
        steps_->columns[at] = static_cast<std::uint32_t>(column);
      }
    }
    return at - first;
  }

  TULLE_TARGET_AVX512 void multiply(std::size_t begin, std::size_t count, const std::uint8_t* x,
                                    EllDots<inputs>& dots) const noexcept {
    EllSums512<1, inputs> sums;
    sums.clear();
    for (std::size_t at = begin; at < begin + count; ++at) {
      const EllStep512 step{_mm512_load_si512(steps_->places[at]), _mm512_load_si512(steps_->values[at]),
                            steps_->columns[at]};
      sums.add(step, 0, x, loop_.input.stride());
    }
    sums.store(dots);
  }

  const Loop& loop_;
  std::unique_ptr<Steps> steps_;
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace tulle::detail

#endif
