// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/linear_kernel.hpp>

#include <stdexcept>
#include <string_view>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

/// The smallest kernel: no columns matter, every output is 1.
struct Ones {
  static constexpr std::string_view name = "ones";
  struct Weights {
    std::size_t rows() const noexcept { return 1; }
    std::size_t columns() const noexcept { return 1; }
    std::size_t size_bytes() const noexcept { return 0; }
  };
  struct Input {
    Input(std::size_t, std::size_t) {}
    std::size_t size_bytes() const noexcept { return 0; }
  };
  static bool keeps_values(const CodeFormat&, const PackOptions&) noexcept { return false; }
  static Weights pack(const WeightSource&, const PackOptions&) { return {}; }
  static void start(const Weights&, std::size_t, Input&) noexcept {}
  static void prepare(const Weights&, MatrixView<const float>, Input&, RowRange) noexcept {}
  static bool shares_input(const Weights&, const Weights&) noexcept { return true; }
  static void multiply(const Weights&, const Input&, MatrixView<float> y, RowRange) noexcept { *y[0] = 1; }
  static void unpack_row(const Weights&, std::size_t, float* out) noexcept { *out = 1; }
};

struct MayThrow : Ones {
  static void multiply(const Weights&, const Input&, MatrixView<float>, RowRange) { throw std::runtime_error("no"); }
};
struct NoRanges : Ones {
  static void multiply(const Weights&, const Input&, MatrixView<float>) noexcept {}
};
struct NoName : Ones {
  static constexpr int name = 1;
};
struct NoRoom : Ones {
  struct Input {
    std::size_t size_bytes() const noexcept { return 0; }
  };
  static void multiply(const Weights&, const Input&, MatrixView<float>, RowRange) noexcept {}
};

struct NoSize : Ones {
  struct Input {
    Input(std::size_t, std::size_t) {}
  };
  static void start(const Weights&, std::size_t, Input&) noexcept {}
  static void prepare(const Weights&, MatrixView<const float>, Input&, RowRange) noexcept {}
  static void multiply(const Weights&, const Input&, MatrixView<float>, RowRange) noexcept {}
};

}  // namespace

TEST_CASE("a kernel is what packs, prepares and multiplies without throwing", "[kernel][linear_kernel]") {
  STATIC_CHECK(LinearKernel<Ones>);
  STATIC_CHECK_FALSE(LinearKernel<MayThrow>);
  STATIC_CHECK_FALSE(LinearKernel<NoRanges>);
  STATIC_CHECK_FALSE(LinearKernel<NoName>);
  STATIC_CHECK_FALSE(LinearKernel<NoRoom>);
  STATIC_CHECK_FALSE(LinearKernel<NoSize>);
  STATIC_CHECK_FALSE(LinearKernel<int>);
}

TEST_CASE("packing keeps the file's values unless asked otherwise", "[kernel][linear_kernel]") {
  const PackOptions options;
  CHECK(options.kernel == "auto");
  CHECK(options.int4_group == 32);
  CHECK_FALSE(options.scale_per_input);
}
