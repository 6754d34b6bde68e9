// SPDX-License-Identifier: Apache-2.0
#include <tulle/evaluate/estimate.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <vector>

using namespace tulle;
using Catch::Approx;

TEST_CASE("with equal weights the error is the sample deviation over the root of the number", "[evaluate]") {
  const std::vector<double> values{1, 2, 3, 6}, weights{5, 5, 5, 5};
  const Estimate mean = weighted_mean(values, weights);
  CHECK(mean.value == Approx(3));
  CHECK(mean.standard_error == Approx(std::sqrt((4 + 1 + 0 + 9) / 3.0 / 4.0)));
}

TEST_CASE("a mean follows its weights", "[evaluate]") {
  const std::vector<double> values{1, 4}, weights{2, 1};
  const Estimate mean = weighted_mean(values, weights);
  CHECK(mean.value == Approx(2));
  CHECK(mean.standard_error == Approx(std::sqrt(2.0 * (4 + 4)) / 3));  // deviations 2 * -1 and 1 * 2
}

TEST_CASE("one observation has an unknown error, and none has no mean", "[evaluate]") {
  const std::vector<double> value{3}, weight{7}, none;
  CHECK(weighted_mean(value, weight).value == Approx(3));
  CHECK(std::isnan(weighted_mean(value, weight).standard_error));
  CHECK(weighted_mean(none, none).value == 0);
  CHECK(share(0, 0).value == 0);
  CHECK(std::isnan(share(1, 1).standard_error));
  CHECK(std::isnan(exponential(share(1, 1)).standard_error));
  CHECK(share(2, 2).standard_error == 0);
}

TEST_CASE("a share has the error of zeros and ones", "[evaluate]") {
  const std::vector<double> values{1, 1, 1, 0}, weights{1, 1, 1, 1};
  CHECK(share(3, 4).value == Approx(0.75));
  CHECK(share(3, 4).standard_error == Approx(weighted_mean(values, weights).standard_error));
}

TEST_CASE("an exponential has the error of its slope", "[evaluate]") {
  const Estimate result = exponential({2, 0.1});
  CHECK(result.value == Approx(std::exp(2)));
  CHECK(result.standard_error == Approx(0.1 * std::exp(2)));
}
