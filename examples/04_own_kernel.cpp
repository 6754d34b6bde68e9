// SPDX-License-Identifier: Apache-2.0
// Lesson 4: your own linear kernel. This one stores weights as bfloat16, row after row, and multiplies in f32.
//   usage: 04_own_kernel MODEL [PROMPT]
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <tulle/cache/contiguous.hpp>
#include <tulle/sampling/greedy.hpp>

#include "continue_prompt.hpp"

using tulle::BFloat16, tulle::MatrixView, tulle::RowRange;

// A kernel defines how a weight matrix W [rows, columns] is stored, how the activations X [inputs, columns] are
// prepared, and how Y = X W^T is computed. X has one row per token: one row in decode, a batch when a prompt is read.
struct RowMajorBf16 {
  static constexpr std::string_view name = "row_major_bf16";

  struct Weights {
    std::size_t row_count, column_count;
    std::vector<BFloat16> values;
    std::size_t rows() const noexcept { return row_count; }
    std::size_t columns() const noexcept { return column_count; }
    std::size_t size_bytes() const noexcept { return values.size() * sizeof(BFloat16); }
    const BFloat16* row(std::size_t index) const noexcept { return values.data() + index * column_count; }
  };

  // The file may hold any type: a row of it is decoded to floats and stored in ours.
  static Weights pack(const tulle::WeightSource& source, const tulle::PackOptions&) {
    Weights weights{source.rows(), source.columns(), {}};
    weights.values.reserve(source.rows() * source.columns());
    std::vector<float> row(source.columns());
    for (std::size_t index = 0; index < source.rows(); ++index) {
      source.decode_row(index, row.data());
      for (const float value : row) weights.values.push_back(tulle::to_bfloat16(value));
    }
    return weights;
  }
  static constexpr bool keeps_values(const tulle::CodeFormat& format, const tulle::PackOptions&) noexcept {
    return format.bits == 0 && format.floats == tulle::DType::bf16;
  }

  // Activations are copied as they are. A quantized kernel quantizes them here, once for all matrices that read them.
  struct Input {
    Input(std::size_t max_inputs, std::size_t max_columns) : values(max_inputs * max_columns) {}
    std::size_t size_bytes() const noexcept { return values.size() * sizeof(float); }
    std::vector<float> values;
  };
  static void start(const Weights&, std::size_t, Input&) noexcept {}
  static void prepare(const Weights& w, MatrixView<const float> x, Input& input, RowRange range) noexcept {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      std::copy_n(x[i], w.columns(), input.values.data() + i * w.columns());
    }
  }
  static bool shares_input(const Weights& a, const Weights& b) noexcept { return a.columns() == b.columns(); }

  // Threads call this for ranges of their own. Eight sums let the compiler use vectors; their order never changes.
  static void multiply(const Weights& w, const Input& input, MatrixView<float> y, RowRange range) noexcept {
    for (std::size_t row = range.begin; row < range.end; ++row) {
      const BFloat16* weights = w.row(row);
      for (std::size_t i = 0; i < y.rows; ++i) {
        const float* x = input.values.data() + i * w.columns();
        std::array<float, 8> sums{};
        for (std::size_t k = 0; k < w.columns(); ++k) sums[k % 8] += tulle::to_float(weights[k]) * x[k];
        y[i][row] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
      }
    }
  }
  static void unpack_row(const Weights& w, std::size_t row, float* out) noexcept {
    for (std::size_t k = 0; k < w.columns(); ++k) out[k] = tulle::to_float(w.row(row)[k]);
  }
};
static_assert(tulle::LinearKernel<RowMajorBf16>);

int main(int count, char** arguments) {
  return continue_prompt<RowMajorBf16, tulle::ContiguousCache<tulle::Half>, tulle::Greedy>(count, arguments);
}
