// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/quantizer.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <vector>

using namespace tulle;
using Catch::Matchers::WithinAbs;

TEST_CASE("Scales and codes as compressed-tensors has them") {
  const std::vector<double> first{.7, -.35, .1, 0}, second{-1.5, .75, .28, .6};
  const QuantizationPlan plan{.bits = 4, .searches_scale = false};
  const auto a = find_scale<double>(first, nullptr, plan), b = find_scale<double>(second, nullptr, plan);
  CHECK_THAT(a.scale, WithinAbs(.0933333, 1e-6));
  CHECK_THAT(b.scale, WithinAbs(.2, 1e-9));
  std::vector<int> codes;
  for (const double value : first) codes.push_back(a.code(value));
  for (const double value : second) codes.push_back(b.code(value));
  CHECK(codes == std::vector<int>{7, -4, 1, 0, -8, 4, 1, 3});
}

TEST_CASE("Codes with a minimum cover the range, and zero stays exactly zero") {
  const std::vector<float> values{.7f, -.35f, .1f, 0};
  const auto scale = find_scale<float>(values, nullptr, {.bits = 4, .symmetric = false, .searches_scale = false});
  CHECK_THAT(scale.scale, WithinAbs(.07, 1e-6));
  CHECK(scale.nearest(0.0f) == 0.0f);
  for (const float value : values) CHECK(std::abs(scale.nearest(value) - value) <= scale.scale * 0.5001f);
}

TEST_CASE("A searched scale is never worse than that of the largest value, and values off the mask do not count") {
  std::vector<float> values;
  for (int i = 0; i < 32; ++i) values.push_back(i == 5 ? 3.0f : std::sin(static_cast<float>(i * i)));
  const auto error = [&](const CodeScale<float>& scale) {
    double sum = 0;
    for (const float value : values) sum += std::pow(scale.nearest(value) - value, 2);
    return sum;
  };
  for (const std::size_t bits : {std::size_t{4}, std::size_t{8}}) {
    QuantizationPlan plan{.bits = bits, .searches_scale = false};
    const double plain = error(find_scale<float>(values, nullptr, plan));
    plan.searches_scale = true;
    CHECK(error(find_scale<float>(values, nullptr, plan)) <= plain);
  }
  std::vector<std::uint8_t> mask(values.size(), 1);
  mask[5] = 0;
  constexpr QuantizationPlan gptq{.method = QuantizationMethod::gptq, .bits = 4};
  CHECK(find_scale<float>(values, mask.data(), gptq).scale < find_scale<float>(values, nullptr, gptq).scale);
}

TEST_CASE("Descent gives the largest value the code -8, and errors of important weights count more") {
  std::vector<float> values(32);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i * i));
  for (const float largest : {3.0f, -3.0f}) {
    values[5] = largest;
    const auto scale = find_scale<float>(values, nullptr, {.bits = 4, .group = 32});
    CHECK(scale.code(largest) < -6);
    CHECK(std::signbit(scale.scale) == (largest > 0));
  }
  CHECK(find_scale<float>(values, nullptr, {.bits = 8}).scale > 0);
  std::vector<float> importance(values.size(), 1);
  importance[5] = 0;
  const auto error = [&](const float* weights) {
    const auto scale = find_scale<float>(values, nullptr, {.bits = 4, .group = 32}, weights);
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i != 5) sum += std::pow(scale.nearest(values[i]) - values[i], 2);
    }
    return sum;
  };
  CHECK(error(importance.data()) < error(nullptr));
}

TEST_CASE("Groups of zeros and of tiny values have usable scales; scales of groups are exact in 16 bits") {
  for (const float value : {0.0f, 1e-42f, 1e-30f}) {
    const std::vector<float> values(32, value);
    const auto scale = find_scale<float>(values, nullptr, {.bits = 4, .group = 32});
    CHECK(scale.scale != 0);
    CHECK(std::isfinite(scale.nearest(value)));
  }
  const std::vector<float> values{0.123456f, -0.7f};
  const float scale = find_scale<float>(values, nullptr, {.bits = 4, .group = 32}).scale;
  CHECK(to_float(to_half(scale)) == scale);
}
