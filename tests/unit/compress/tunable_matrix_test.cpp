// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/tunable_matrix.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <vector>

using namespace tulle;

namespace {

/// Adam on the squared distance of a row to `target`; returns that distance.
float approach(TunableMatrix& matrix, const std::vector<float>& target, std::size_t steps) {
  std::vector<float> row(target.size()), gradient(target.size());
  float distance = 0;
  for (std::size_t step = 1; step <= steps; ++step) {
    matrix.row(0, row.data());
    distance = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      gradient[i] = 2 * (row[i] - target[i]);
      distance += (row[i] - target[i]) * (row[i] - target[i]);
    }
    matrix.step(0, gradient, {step, 0.02f});
  }
  return distance;
}

}  // namespace

TEST_CASE("Values of floats move, and zeros that are to stay do not") {
  const std::vector<float> start{1, 0, -1, 2}, target{1.5f, 1, -0.5f, 1.5f};
  const auto source = matrix_of_floats(1, 4, DType::f32, start);
  TunableMatrix masked(*source, *source, true), whole(*source, *source, false);
  CHECK(approach(masked, target, 300) == Catch::Approx(1).margin(1e-3));
  CHECK(approach(whole, target, 300) < 1e-3f);
  float row[4];
  masked.matrix()->decode_row(0, row);
  CHECK(row[1] == 0);
  CHECK(std::abs(row[0] - 1.5f) < 0.02f);
}

TEST_CASE("Codes and their scales move, inside of their range") {
  for (const bool with_minimum : {false, true}) {
    CAPTURE(with_minimum);
    OwnedCodes codes{{}, {0.5f}, {}};
    std::vector<float> target;
    for (int i = 0; i < 32; ++i) {
      codes.codes.push_back(static_cast<std::int8_t>(with_minimum ? i % 16 : i % 16 - 8));
      target.push_back(0.4f * static_cast<float>(i % 16 - 8));  // the same codes by a smaller scale
    }
    if (with_minimum) codes.minimums = {-4};
    const auto source = matrix_of_codes(1, 32, {.bits = 4, .group = 32}, codes);
    TunableMatrix matrix(*source, *source, false);
    matrix.keep();
    CHECK(approach(matrix, target, 400) < 0.2f);
    const auto found = matrix.matrix();
    CHECK(found->code_format() == source->code_format());
    const auto& values = dynamic_cast<const MatrixOfCodes&>(*found).values();
    CHECK(values.scales[0] < 0.48f);
    std::vector<float> row(32), stored(32), start(32);
    matrix.row(0, row.data());
    found->decode_row(0, stored.data());
    for (std::size_t i = 0; i < 32; ++i) CHECK(stored[i] == Catch::Approx(row[i]).margin(1e-5));
    matrix.restore();
    matrix.row(0, row.data());
    source->decode_row(0, start.data());
    CHECK(row == start);
  }
}

TEST_CASE("Behind codes stand the dense values, as far as these round to them") {
  const auto source = matrix_of_codes(1, 32, {.bits = 4, .group = 32}, {std::vector<std::int8_t>(32, 2), {0.5f}, {}});
  std::vector<float> dense(32, 1), row(32);
  dense[1] = 1.2f;   // rounds to code 2, near the edge
  dense[2] = -3.0f;  // does not round to it
  TunableMatrix matrix(*source, *matrix_of_floats(1, 32, DType::f32, dense), false);
  matrix.row(0, row.data());
  CHECK(row == std::vector<float>(32, 1));
  std::vector<float> gradient(32, 0);
  gradient[0] = gradient[1] = -1;
  gradient[2] = 1;
  matrix.step(0, gradient, {1, 0.02f});  // a step of 0.02 * 8 * 0.5
  matrix.row(0, row.data());
  CHECK(row[0] == Catch::Approx(row[3]));
  CHECK(row[1] > row[0]);
  CHECK(row[2] < row[0]);
}
