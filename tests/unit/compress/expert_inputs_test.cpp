// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/expert_inputs.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>
#include <vector>

#include <tulle/model/weight_loader.hpp>

#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("every expert gets its own tokens, and the shared one all of them") {
  const Architecture model = describe_model(testing::mixture_config(), "config.json");
  const auto source = testing::random_tensors(model);
  const LayerWeights<BlasLinear> weights = WeightLoader<BlasLinear>(source, model, {}).load_layer(0);
  const LayerSpec& spec = model.layers[0];
  Matrix x(30, model.hidden);
  x.values = testing::random_floats(x.values.size(), 4, -2, 2);
  const ExpertInputs inputs(model, spec, weights.router, x.view());
  std::size_t chosen = 0;
  for (std::size_t expert = 0; expert < spec.experts.count; ++expert) {
    const std::vector<std::size_t>& tokens = inputs.tokens(expert);
    chosen += tokens.size();
    const Matrix own = inputs.rows(expert, x.view());
    REQUIRE(own.rows == tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) CHECK(own[i][7] == x[tokens[i]][7]);
  }
  CHECK(chosen == 30 * spec.experts.per_row);
  CHECK(inputs.tokens(spec.experts.count).size() == 30);

  Matrix none(0, model.hidden), one = inputs.rows(spec.experts.count, x.view());
  CHECK(inputs.activated(weights.experts[0].up, none).columns == 48);
  const Matrix inner = inputs.activated(weights.up, one);
  CHECK(inner.rows == 30);
  CHECK(inner.columns == 32);
}

TEST_CASE("too few rows say nothing of an expert") {
  ThreadPool pool(1);
  Matrix few(min_expert_rows - 1, 4), many(min_expert_rows, 4);
  many.values.assign(many.values.size(), 2.0f);
  const LayerStatistics nothing = expert_statistics(few.view(), few.view(), pool);
  CHECK(nothing.hessian[5] == 1);
  CHECK(nothing.hessian[1] == 0);
  CHECK(nothing.cross[10] == 1);
  CHECK(expert_statistics(few.view(), {}, pool).cross.size() == 0);
  CHECK(expert_statistics(many.view(), {}, pool).hessian[1] != 0);
}
