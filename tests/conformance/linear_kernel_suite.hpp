// SPDX-License-Identifier: Apache-2.0
/// \file What every model of `LinearKernel` must do.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/thread_pool.hpp>

#include "conformance/kernel_under_test.hpp"
#include "unit/kernel/encoded_matrix.hpp"

namespace tulle::conformance {

using testing::EncodedMatrix;
using testing::InputRows;
using testing::MatrixEncoder;
using testing::same_value;

/// A matrix Y that notices who writes beside it: rows are padded, and canaries lie before, between and behind them.
class GuardedOutput {
 public:
  GuardedOutput(std::size_t inputs, std::size_t rows)
      : inputs_(inputs), rows_(rows), stride_(rows + 5), values_((inputs + 2) * stride_, canary) {}

  MatrixView<float> view() noexcept { return {values_.data() + stride_, inputs_, rows_, stride_}; }

  /// Whether all is canaries but the output rows of `written`.
  bool untouched_beside(RowRange written) const noexcept {
    for (std::size_t at = 0; at < values_.size(); ++at) {
      const std::size_t line = at / stride_, row = at % stride_;
      const bool inside = line >= 1 && line <= inputs_ && row >= written.begin && row < written.end;
      if (!inside && values_[at] != canary) return false;
    }
    return true;
  }

 private:
  static constexpr float canary = -6.0221e23f;
  std::size_t inputs_, rows_, stride_;
  std::vector<float> values_;
};

/// The laws of one kernel, for rows of one type, with zeros in them where the kernel is a sparse one. `reference` is
/// the kernel whose bits it must give: the scalar dense one.
class LinearKernelLaws {
 public:
  LinearKernelLaws(const KernelUnderTest& kernel, const KernelUnderTest& reference, DType dtype, PackOptions options,
                   testing::Zeros zeros)
      : kernel_(kernel), reference_(reference), dtype_(dtype), options_(options), zeros_(zeros) {}

  void check_all() const {
    CAPTURE(dtype_name(dtype_), kernel_.name(), options_.int4_group, options_.scale_per_input, zeros_.kept,
            zeros_.group);
    check_shapes();
    check_largest_codes();
    check_broken_inputs();
    check_threads();
  }

  /// For kernels of which many rows of x take another form, and which sum the columns in spans.
  void check_spans() const {
    CAPTURE(dtype_name(dtype_), kernel_.name(), zeros_.kept, zeros_.group);
    check_shape(19, legal(2100), {31, 67, 131});
  }

 private:
  static constexpr std::size_t max_inputs = 20;

  /// One matrix, rows of activations, and the outputs they must have.
  struct Problem {
    Problem(const LinearKernelLaws& laws, EncodedMatrix encoded, InputRows inputs)
        : matrix(std::move(encoded)), weights(laws.kernel_.pack(matrix.rows, laws.options_)), x(std::move(inputs)) {
      const auto reference = laws.reference_.pack(matrix.rows, laws.options_);
      const auto input = reference->make_input(1, matrix.rows.columns());
      expected.resize(x.rows() * rows());
      // One row and one panel at a time: whatever is taken together elsewhere is apart here.
      for (std::size_t index = 0; index < x.rows(); ++index) {
        reference->start(1, *input);
        reference->prepare(x.only(index), *input, {0, 1});
        const MatrixView<float> y(expected.data() + index * rows(), 1, rows());
        for (std::size_t row = 0; row < rows(); row += panel_rows) {
          reference->multiply(*input, y, {row, std::min(row + panel_rows, rows())});
        }
      }
    }

    std::size_t rows() const noexcept { return matrix.rows.rows(); }
    std::size_t columns() const noexcept { return matrix.rows.columns(); }

    bool is_expected(MatrixView<float> y) const noexcept {
      for (std::size_t index = 0; index < y.rows; ++index) {
        if (!std::equal(y[index], y[index] + rows(), expected.data() + index * rows(), same_value)) return false;
      }
      return true;
    }

    EncodedMatrix matrix;
    std::unique_ptr<const WeightsUnderTest> weights;
    InputRows x;
    std::vector<float> expected;  // [rows of x][rows]
  };

  EncodedMatrix random_matrix(std::size_t rows, std::size_t columns) const {
    const auto seed = static_cast<std::uint32_t>(rows * 4099 + columns);
    return testing::pruned(testing::random_matrix(dtype_, rows, columns, seed), zeros_, seed);
  }
  static InputRows random_inputs(std::size_t inputs, std::size_t columns) {
    return {inputs, columns, testing::random_floats(inputs * columns, static_cast<std::uint32_t>(inputs + columns))};
  }
  std::size_t legal(std::size_t columns) const noexcept { return round_up(columns, dtype_info(dtype_).block_elements); }

  void check_shapes() const {
    for (const std::size_t columns : {1, 3, 31, 32, 63, 64, 65, 96, 256, 576}) {
      if (columns == legal(columns)) check_shape(33, columns, {1, 2, 3, 8, 13});
    }
    for (const std::size_t rows : {1, 15, 16, 17, 100}) check_shape(rows, legal(96), {1, 2, 4, 6, 9});
    check_shape(16, 1024, {1, 7});
    check_shape(40, legal(1100), {17, 20});  // more than two tiles, more columns than one part
    std::vector<std::size_t> all;
    for (std::size_t inputs = 1; inputs <= max_inputs; ++inputs) all.push_back(inputs);
    check_shape(65, legal(70), all);              // 5 panels: a group of four and one left over, or two of two
    check_shape(113, legal(130), {1, 2, 8, 17});  // 8 panels: two groups of four, or four of two
  }

  void check_shape(std::size_t rows, std::size_t columns, const std::vector<std::size_t>& counts) const {
    const Problem problem(*this, random_matrix(rows, columns), random_inputs(counts.back(), columns));
    CAPTURE(rows, columns);
    REQUIRE(problem.weights->rows() == rows);
    REQUIRE(problem.weights->columns() == columns);
    REQUIRE(problem.weights->size_bytes() > 0);
    check_unpacked(problem);
    const auto input =
        problem.weights->make_input(counts.back(), columns + 70);  // kept for all counts: nothing stale may show
    for (const std::size_t inputs : counts) {
      CAPTURE(inputs);
      problem.weights->start(inputs, *input);
      problem.weights->prepare(problem.x.first(inputs), *input, {0, inputs});
      check_close(problem, *input, inputs);
      for (const std::size_t part : {rows, 3 * panel_rows, panel_rows}) check_ranges(problem, *input, inputs, part);

      problem.weights->start(inputs, *input);
      for (std::size_t first = (inputs - 1) / tile_inputs * tile_inputs;; first -= tile_inputs) {  // last tile first
        problem.weights->prepare(problem.x.first(inputs), *input, {first, std::min(first + tile_inputs, inputs)});
        if (first == 0) break;
      }
      check_ranges(problem, *input, inputs, rows);
    }
  }

  /// The same bits when the rows are computed `part` at a time, from the last to the first, and nothing written beside.
  void check_ranges(const Problem& problem, const InputUnderTest& input, std::size_t inputs, std::size_t part) const {
    CAPTURE(part);
    const std::size_t rows = problem.rows();
    GuardedOutput output(inputs, rows);
    problem.weights->multiply(input, output.view(), {rows, rows});  // the range of a worker without a share
    REQUIRE(output.untouched_beside({0, 0}));
    const std::size_t step = round_up(part, panel_rows), last = (rows - 1) / step * step;
    for (std::size_t begin = last;; begin -= step) {
      problem.weights->multiply(input, output.view(), {begin, std::min(begin + step, rows)});
      if (problem.weights->is_in_order()) REQUIRE(output.untouched_beside({begin, rows}));
      if (begin == 0) break;
    }
    REQUIRE(output.untouched_beside({0, rows}));
    REQUIRE(problem.is_expected(output.view()));
  }

  void check_unpacked(const Problem& problem) const {
    if (!kernel_.keeps_values(problem.matrix.rows.code_format(), options_)) return;
    std::vector<float> decoded(problem.columns()), unpacked(problem.columns());
    for (std::size_t row = 0; row < problem.rows(); ++row) {
      problem.matrix.rows.decode_row(row, decoded.data());
      problem.weights->unpack_row(row, unpacked.data());
      CAPTURE(row);
      REQUIRE(std::equal(decoded.begin(), decoded.end(), unpacked.begin(), same_value));
    }
  }

  /// Close to the product in double precision of what `unpack_row` gives and what the prepared input holds. An output
  /// is a sum of at most `columns` terms, each added with one rounding of 2^-24; four more roundings make a term. A
  /// Q4_1 weight is a sum whose parts may cancel, so it counts with the size of its parts.
  void check_close(const Problem& problem, const InputUnderTest& input, std::size_t inputs) const {
    const std::size_t rows = problem.rows(), columns = problem.columns();
    const double roundings = kernel_.reads_floats() ? static_cast<double>(columns) : static_cast<double>(columns) / 8;
    std::vector<float> weights(columns);
    std::vector<double> x(inputs * columns);
    for (std::size_t index = 0; index < inputs; ++index) {
      for (std::size_t k = 0; k < columns; ++k) x[index * columns + k] = problem.weights->value_read(input, index, k);
    }
    double worst = 0;
    for (std::size_t row = 0; row < rows; row += row + 8 < rows ? 7 : 1) {
      problem.weights->unpack_row(row, weights.data());
      for (std::size_t index = 0; index < inputs; ++index) {
        double sum = 0, size = 0;
        for (std::size_t k = 0; k < columns; ++k) {
          const double value = x[index * columns + k];
          sum += double{weights[k]} * value;
          size += (std::fabs(weights[k]) + 2 * double{problem.matrix.largest_minimum}) * std::fabs(value);
        }
        const double bound = (roundings + 6) * 0x1p-24 * size + 1e-38;
        worst = std::max(worst, std::fabs(problem.expected[index * rows + row] - sum) / bound);
      }
    }
    REQUIRE(worst <= 1);
  }

  /// All codes at the ends of their range, all signs equal: where an instruction saturates, it shows here.
  void check_largest_codes() const {
    constexpr std::size_t rows = 16, columns = 2048, inputs = 6;
    for (const int code : {0x80, 0x7F, 0x00, 0xFF}) {
      std::vector<float> values(inputs * columns);
      for (std::size_t at = 0; at < values.size(); ++at) {
        constexpr std::array patterns{0x00u, 0xFFu, 0xAAu, 0x0Fu, 0x33u, 0x69u};  // a set bit is a negative value
        values[at] = patterns[at / columns] >> at % 8 & 1 ? -1.0f : 1.0f;
      }
      EncodedMatrix matrix = MatrixEncoder(dtype_, 7, static_cast<std::uint8_t>(code)).encode(rows, columns);
      const Problem problem(*this, testing::pruned(std::move(matrix), zeros_, 7), InputRows(inputs, columns, values));
      const auto input = problem.weights->make_input(inputs, columns);
      problem.weights->start(inputs, *input);
      problem.weights->prepare(problem.x.first(inputs), *input, {0, inputs});
      CAPTURE(code);
      REQUIRE(std::fabs(std::fabs(problem.weights->value_read(*input, 0, 0)) - 1) < 1e-6);
      check_close(problem, *input, inputs);
      GuardedOutput output(inputs, rows);
      problem.weights->multiply(*input, output.view(), {0, rows});
      REQUIRE(problem.is_expected(output.view()));
    }
  }

  /// Rows that are not finite show in every output of theirs and in no other; zeros give zeros, tiny and huge numbers
  /// what the reference gives.
  void check_broken_inputs() const {
    constexpr float inf = std::numeric_limits<float>::infinity();
    constexpr std::array<float, 9> oddities{std::numeric_limits<float>::quiet_NaN(),
                                            inf,
                                            -inf,
                                            std::numeric_limits<float>::max(),
                                            1e-36f,
                                            2e-38f,
                                            1e-42f,
                                            -0.0f,
                                            3e38f};
    constexpr std::size_t finite_from = 3, rows = 17, inputs = 2 * oddities.size() + 2;
    const std::size_t columns = legal(130);
    InputRows x = random_inputs(inputs, columns);
    for (std::size_t odd = 0; odd < oddities.size(); ++odd) {
      x.row(odd)[columns - 1] = oddities[odd];                            // among ordinary numbers
      std::fill_n(x.row(oddities.size() + odd), columns, oddities[odd]);  // and alone
    }
    std::fill_n(x.row(inputs - 1), columns, 0.0f);
    EncodedMatrix matrix =
        testing::pruned(MatrixEncoder(dtype_, 3, std::uint8_t{0x35}).encode(rows, columns), zeros_, 3);
    const Problem problem(*this, std::move(matrix), std::move(x));
    const auto input = problem.weights->make_input(inputs, columns);
    problem.weights->start(inputs, *input);
    problem.weights->prepare(problem.x.first(inputs), *input, {0, inputs});
    GuardedOutput output(inputs, rows);
    problem.weights->multiply(*input, output.view(), {0, rows});
    const MatrixView<float> y = output.view();
    REQUIRE(problem.is_expected(y));
    for (std::size_t index = 0; index < inputs; ++index) {
      CAPTURE(index);
      const bool broken = index % oddities.size() < finite_from && index < 2 * oddities.size();
      if (broken) REQUIRE(std::none_of(y[index], y[index] + rows, [](float value) { return std::isfinite(value); }));
    }
    REQUIRE(std::all_of(y[inputs - 2], y[inputs - 2] + rows, [](float value) { return std::isfinite(value); }));
    REQUIRE(std::all_of(y[inputs - 1], y[inputs - 1] + rows, [](float value) { return value == 0; }));
  }

  void check_threads() const {
    const std::size_t rows = 161, columns = legal(130), inputs = 20;
    const Problem problem(*this, random_matrix(rows, columns), random_inputs(inputs, columns));
    const auto input = problem.weights->make_input(inputs, columns);
    for (const std::size_t workers : {2, 3}) {
      ThreadPool pool(workers);
      problem.weights->start(inputs, *input);
      pool.run([&](std::size_t worker) noexcept {
        const Share share = share_of(inputs, tile_inputs, worker, workers);
        problem.weights->prepare(problem.x.first(inputs), *input, {share.begin, share.end});
      });
      GuardedOutput output(inputs, rows);
      const MatrixView<float> y = output.view();
      pool.run([&](std::size_t worker) noexcept {
        const Share share = share_of(rows, panel_rows, worker, workers);
        problem.weights->multiply(*input, y, {share.begin, share.end});
      });
      CAPTURE(workers);
      REQUIRE(output.untouched_beside({0, rows}));
      REQUIRE(problem.is_expected(y));
    }
  }

  const KernelUnderTest& kernel_;
  const KernelUnderTest& reference_;
  DType dtype_;
  PackOptions options_;
  testing::Zeros zeros_;
};

template <LinearKernel Kernel, LinearKernel Reference = Kernel>
class LinearKernelSuite : public LinearKernelLaws {
 public:
  explicit LinearKernelSuite(DType dtype, PackOptions options = {}, testing::Zeros zeros = {})
      : LinearKernelLaws(kernel_under_test<Kernel>(), kernel_under_test<Reference>(), dtype, options, zeros) {}
};

}  // namespace tulle::conformance
