// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/plan/form_costs.hpp>

#include <catch2/catch_all.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

TEST_CASE("measured costs have the bytes of the kernels", "[compress][plan]") {
  const std::vector<MatrixForm> forms{matrix_form("int8", ""), matrix_form("int4-128", ""), matrix_form("int4-32", ""),
                                      matrix_form("int4-32-min", "")};
  ThreadPool pool(1);
  const auto costs = measure_costs(forms, 64, 64 * 64, pool);
  REQUIRE(costs.size() == 3);  // 64 columns are no groups of 128
  CHECK(cost_of(costs, "int8", 64).bytes == Catch::Approx(1 + 4.0 / 64));
  CHECK(cost_of(costs, "int4-32", 64).bytes == Catch::Approx(0.5625));
  CHECK(cost_of(costs, "int4-32", 64).kernel == "dense_i4");
  CHECK(cost_of(costs, "int4-32-min", 64).bytes == Catch::Approx(0.625));
  CHECK(cost_of(costs, "int4-32-min", 64).kernel == "dense_i4");
  for (const FormCost& cost : costs) CHECK(cost.seconds > 0);

  const auto again = read_costs(costs_json(costs), "speeds.json");
  CHECK(costs_json(again) == costs_json(costs));
  for (const Json& other : {Json::array({1}), Json(), Json(1)}) {
    CHECK(error_of([&] { read_costs(other, "speeds.json"); }).starts_with("malformed: speeds.json"));
  }
  CHECK(error_of([&] { cost_of(costs, "int8", 128); }).find("remove speeds.json") != std::string::npos);
}
