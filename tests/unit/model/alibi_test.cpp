// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/alibi.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

using namespace tulle;

// Source: transformers 5.17, build_alibi_tensor of BLOOM.
TEST_CASE("slopes are those of the paper, for any number of heads", "[model][alibi]") {
  CHECK(alibi_slopes(4) == std::vector<float>{0.25f, 0.0625f, 0.015625f, 0.00390625f});
  CHECK(alibi_slopes(6) == std::vector<float>{0.25f, 0.0625f, 0.015625f, 0.00390625f, 0.5f, 0.125f});
  CHECK(alibi_powers(2, 4) == std::vector<float>{0.25f, 0.0625f});
}
