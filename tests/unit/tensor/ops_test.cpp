// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/ops.hpp>

#include <algorithm>
#include <bit>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <tuple>
#include <vector>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;
using testing::random_floats;

namespace {

/// Those whose loops differ.
#if defined(TULLE_X86)
using Sets = std::tuple<isa::Scalar, isa::Avx2>;
#else
using Sets = testing::InstructionSets;
#endif

const std::vector<std::size_t> sizes{1, 3, 4, 7, 8, 15, 16, 17, 31, 64, 100, 576};

void check_close(const std::vector<float>& found, const std::vector<double>& wanted, double tolerance) {
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i, found.size());
    CHECK(std::fabs(found[i] - wanted[i]) <= tolerance * (1 + std::fabs(wanted[i])));
  }
}

double silu(double x) {
  return x / (1 + std::exp(-x));
}
double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the RMS norm is that of doubles", "[tensor][ops]", Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  for (const std::size_t size : sizes) {
    const auto x = random_floats(size, 1), weight = random_floats(size, 2);
    double squares = 0;
    for (const float value : x) squares += static_cast<double>(value) * value;
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(size) + 1e-5);
    std::vector<double> wanted(size);
    for (std::size_t i = 0; i < size; ++i) wanted[i] = x[i] * inverse * weight[i];
    std::vector<float> y(size);
    rms_norm(x.data(), weight.data(), size, 1e-5f, y.data());
    check_close(y, wanted, 1e-6);
  }
}

TEMPLATE_LIST_TEST_CASE("the layer norm is that of doubles, also far from zero", "[tensor][ops]", Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  for (const float offset : {0.0f, 500.0f}) {
    for (const std::size_t size : sizes) {
      const auto x = random_floats(size, 3, offset - 2, offset + 2), weight = random_floats(size, 4),
                 bias = random_floats(size, 5);
      double mean = 0, squares = 0;
      for (const float value : x) mean += value / static_cast<double>(size);
      for (const float value : x) squares += (value - mean) * (value - mean);
      const double inverse = 1 / std::sqrt(squares / static_cast<double>(size) + 1e-5);
      std::vector<double> wanted(size);
      for (std::size_t i = 0; i < size; ++i) wanted[i] = (x[i] - mean) * inverse * weight[i] + bias[i];
      std::vector<float> y(size);
      layer_norm(x.data(), weight.data(), bias.data(), size, 1e-5f, y.data());
      if (size > 1) check_close(y, wanted, offset == 0 ? 2e-6 : 3e-4);  // the mean itself has 24 bits
      if (size == 1) CHECK(y[0] == bias[0]);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("a row of zeros has norms without infinities", "[tensor][ops]", Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  const std::vector<float> zeros(20), ones(20, 1.0f);
  std::vector<float> y(20, 7.0f);
  rms_norm(zeros.data(), ones.data(), y.size(), 1e-6f, y.data());
  CHECK(y == zeros);
  layer_norm(zeros.data(), ones.data(), ones.data(), y.size(), 1e-6f, y.data());
  CHECK(y == ones);
}

TEMPLATE_LIST_TEST_CASE("rows are added element by element", "[tensor][ops]", Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  for (const std::size_t size : sizes) {
    const auto x = random_floats(size, 6), before = random_floats(size, 7);
    auto y = before;
    add(x.data(), size, y.data());
    for (std::size_t i = 0; i < size; ++i) CHECK(y[i] == before[i] + x[i]);
  }
}

TEMPLATE_LIST_TEST_CASE("the gated activation is that of doubles, also in place", "[tensor][ops]", Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  for (const std::size_t size : sizes) {
    auto gate = random_floats(size, 8, -12, 12);
    const auto up = random_floats(size, 9);
    std::vector<double> wanted(size);
    for (std::size_t i = 0; i < size; ++i) wanted[i] = silu(gate[i]) * up[i];
    silu_times(gate.data(), up.data(), size, gate.data());
    check_close(gate, wanted, 1e-6);
  }
}

TEMPLATE_LIST_TEST_CASE("the gate by gelu is that of doubles, also in place", "[tensor][ops]", Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  for (const std::size_t size : sizes) {
    auto gate = random_floats(size, 8, -6, 6);
    const auto up = random_floats(size, 9);
    std::vector<double> wanted(size);
    for (std::size_t i = 0; i < size; ++i) wanted[i] = gelu(gate[i]) * up[i];
    std::vector<float> apart(size);
    gelu_times(gate.data(), up.data(), size, apart.data());
    gelu_times(gate.data(), up.data(), size, gate.data());
    check_close(gate, wanted, 2e-6);
    CHECK(apart == gate);
    scale(-2, size, apart.data());
    for (std::size_t i = 0; i < size; ++i) CHECK(apart[i] == -2 * gate[i]);
  }
}

TEMPLATE_LIST_TEST_CASE("gelu_new is that of doubles", "[tensor][ops]", Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  for (const std::size_t size : sizes) {
    auto x = random_floats(size, 10, -6, 6);
    std::vector<double> wanted(size);
    for (std::size_t i = 0; i < size; ++i) wanted[i] = gelu(x[i]);
    gelu_new(x.data(), size);
    check_close(x, wanted, 2e-6);
  }
}

TEMPLATE_LIST_TEST_CASE("gelu by erf, relu, the soft cap and the clip are those of doubles", "[tensor][ops]", Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  for (const std::size_t size : sizes) {
    const auto x = random_floats(size, 12, -6, 6);
    std::vector<double> by_erf(size), positive(size), capped(size), clipped(size);
    for (std::size_t i = 0; i < size; ++i) {
      by_erf[i] = 0.5 * x[i] * (1 + std::erf(x[i] / std::numbers::sqrt2));
      positive[i] = std::max(x[i], 0.0f);
      capped[i] = 2.5 * std::tanh(x[i] / 2.5);
      clipped[i] = std::clamp(x[i], -1.5f, 1.5f);
    }
    auto y = x;
    gelu_erf(y.data(), size);
    check_close(y, by_erf, 1e-6);
    y = x;
    relu(y.data(), size);
    check_close(y, positive, 0);
    y = x;
    soft_cap(2.5f, size, y.data());
    check_close(y, capped, 1e-6);
    y = x;
    clip(1.5f, size, y.data());
    check_close(y, clipped, 0);
  }
}

TEMPLATE_LIST_TEST_CASE("activations of huge values are the value or zero, and a NaN stays one", "[tensor][ops]",
                        Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  // 20 elements: whole batches and a tail on every machine.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float huge : {90.0f, 1000.0f, 1e12f}) {
    std::vector<float> high(20, huge), low(20, -huge), one(20, 1.0f);
    silu_times(high.data(), one.data(), high.size(), high.data());
    silu_times(low.data(), one.data(), low.size(), low.data());
    for (const float value : high) CHECK(value == huge);
    for (const float value : low) CHECK(std::fabs(value) < 1e-30f);
    std::fill(low.begin(), low.end(), -huge);
    gelu_new(high.data(), high.size());
    gelu_new(low.data(), low.size());
    for (const float value : high) CHECK(value == huge);
    for (const float value : low) CHECK(value == 0.0f);
    std::fill(low.begin(), low.end(), -huge);
    gelu_erf(high.data(), high.size());
    gelu_erf(low.data(), low.size());
    for (const float value : high) CHECK(value == huge);
    for (const float value : low) CHECK(value == 0.0f);
    soft_cap(30, high.size(), high.data());
    for (const float value : high) CHECK(std::fabs(value - 30 * std::tanh(huge / 30)) < 1e-5f);
  }
  std::vector<float> broken(20, nan), one(20, 1.0f);
  gelu_erf(broken.data(), broken.size());
  for (const float value : broken) CHECK(std::isnan(value));
  soft_cap(30, broken.size(), broken.data());
  for (const float value : broken) CHECK(std::isnan(value));
  gelu_new(broken.data(), broken.size());
  for (const float value : broken) CHECK(std::isnan(value));
  silu_times(broken.data(), one.data(), broken.size(), broken.data());
  for (const float value : broken) CHECK(std::isnan(value));
}

TEMPLATE_LIST_TEST_CASE("a rotation turns pairs by their angle and leaves the rest of the head alone", "[tensor][ops]",
                        Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  constexpr std::size_t head_dim = 12, pairs = 4;
  const auto x = random_floats(head_dim, 11);
  std::vector<float> cosines(pairs), sines(pairs);
  for (std::size_t j = 0; j < pairs; ++j) {
    cosines[j] = std::cos(0.3f + static_cast<float>(j));
    sines[j] = std::sin(0.3f + static_cast<float>(j));
  }
  for (const auto pairing : {RotaryPairing::halves, RotaryPairing::interleaved}) {
    auto head = x;
    rotate(head.data(), cosines.data(), sines.data(), pairs, pairing);
    for (std::size_t j = 0; j < pairs; ++j) {
      const std::size_t a = pairing == RotaryPairing::halves ? j : 2 * j;
      const std::size_t b = pairing == RotaryPairing::halves ? j + pairs : 2 * j + 1;
      const double angle = 0.3 + static_cast<double>(j);
      CHECK(std::fabs(head[a] - (x[a] * std::cos(angle) - x[b] * std::sin(angle))) < 1e-6);
      CHECK(std::fabs(head[b] - (x[a] * std::sin(angle) + x[b] * std::cos(angle))) < 1e-6);
    }
    for (std::size_t i = 2 * pairs; i < head_dim; ++i) CHECK(head[i] == x[i]);
  }
}

TEMPLATE_LIST_TEST_CASE("the bits of a row do not depend on where it lies", "[tensor][ops]", Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  constexpr std::size_t size = 77;
  const auto x = random_floats(size, 12), weight = random_floats(size, 13), bias = random_floats(size, 14);
  std::vector<float> first(3 * size);
  for (const std::size_t shift : {0, 1, 3, 5}) {
    std::vector<float> moved(size + shift), out(3 * size);
    std::copy(x.begin(), x.end(), moved.begin() + static_cast<std::ptrdiff_t>(shift));
    rms_norm(moved.data() + shift, weight.data(), size, 1e-5f, out.data());
    layer_norm(moved.data() + shift, weight.data(), bias.data(), size, 1e-5f, out.data() + size);
    silu_times(moved.data() + shift, weight.data(), size, out.data() + 2 * size);
    if (shift == 0) first = out;
    CHECK(std::memcmp(out.data(), first.data(), out.size() * sizeof(float)) == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("an activation has the same bits when a row is cut at a multiple of 16", "[tensor][ops]",
                        Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  constexpr std::size_t size = 77;
  const auto x = random_floats(size, 15, -6, 6);
  auto whole = x;
  gelu_new(whole.data(), size);
  for (const std::size_t cut : {16, 48, 64}) {
    auto parts = x;
    gelu_new(parts.data(), cut);
    gelu_new(parts.data() + cut, size - cut);
    CHECK(std::memcmp(parts.data(), whole.data(), size * sizeof(float)) == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("activations follow the exponential over its whole range", "[tensor][ops]", Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  std::vector<float> gate, one;
  for (float x = -95; x <= 95; x += 0.37f) gate.push_back(x);
  one.assign(gate.size(), 1.0f);
  auto y = gate;
  silu_times(gate.data(), one.data(), gate.size(), y.data());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double wanted = silu(gate[i]);
    CAPTURE(gate[i]);
    CHECK(std::fabs(y[i] - wanted) <=
          5e-7 * std::fabs(wanted) + 1e-36);  // an exponential of 88.4 may be infinite already
  }
}

TEMPLATE_LIST_TEST_CASE("halves are those of to_half, for numbers of every kind", "[tensor][ops]", Sets) {
  testing::require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  std::vector<float> x;
  for (std::uint32_t i = 0; i < 100003; ++i) x.push_back(std::bit_cast<float>(i * 42943u));  // over all 2^32 patterns
  for (const float special :
       {0.0f, -0.0f, 65504.0f, 65519.9f, 65520.0f, 0x1p-14f, 0x1p-24f, 0x1p-25f, 0x1.8p-25f, 2049.0f})
    x.push_back(special);
  std::vector<Half> y(x.size());
  to_halves(x.data(), x.size(), y.data());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) wrong += y[i].bits != to_half(x[i]).bits;
  CHECK(wrong == 0);
}
