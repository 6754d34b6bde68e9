// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/config_values.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("sizes are found under the first name that a config has", "[model][config_values]") {
  const Json config{{"n_head", 4}, {"heads", 5}, {"width", nullptr}};
  CHECK(first_size(config, {"num_heads", "n_head", "heads"}, 1, "x") == 4);
  CHECK(first_size(config, {"width", "heads"}, 1, "x") == 5);
  CHECK(first_size(config, {"width"}, 7, "x") == 7);
}

TEST_CASE("heads that no model has are refused before tables are made of them", "[model][config_values]") {
  Architecture model;
  model.hidden = 65536;
  model.heads = 16;
  CHECK(even_head_dim(model, "x") == 4096);
  model.heads = 1;
  CHECK(test::error_of([&] { (void)even_head_dim(model, "x"); }) == ErrorCode::malformed);
  model.hidden = model.heads = std::size_t{1} << 40;
  CHECK(test::error_of([&] { (void)even_head_dim(model, "x"); }) == ErrorCode::malformed);
}

TEST_CASE("activations are known by all their names", "[model][config_values]") {
  CHECK(plain_mlp("relu", "x") == MlpKind::relu);
  CHECK(plain_mlp("gelu", "x") == MlpKind::gelu_erf);
  CHECK(plain_mlp("gelu_pytorch_tanh", "x") == MlpKind::gelu);
  CHECK(test::error_of([] { (void)plain_mlp("swish", "x"); }) == ErrorCode::unsupported);
}

TEST_CASE("the part of a head that rotates is an even number of dimensions", "[model][config_values]") {
  CHECK(rotary_dimensions(0.75, 16, "x") == 12);
  CHECK(rotary_dimensions(1, 16, "x") == 16);
  for (const double part : {0.2, 0.0, -0.5, 2.0, 1e300}) {
    CHECK(test::error_of([&] { (void)rotary_dimensions(part, 16, "x"); }) == ErrorCode::malformed);
  }
}
