// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/config_tokens.hpp>

#include <catch2/catch_all.hpp>
#include <optional>
#include <vector>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("eos_token_id is one id, a list, or nothing", "[model][config_tokens]") {
  CHECK(eos_tokens({{"eos_token_id", 7}}, "x") == std::vector<Token>{7});
  CHECK(eos_tokens({{"eos_token_id", {7, 8}}}, "x") == std::vector<Token>{7, 8});
  CHECK(eos_tokens({{"eos_token_id", nullptr}}, "x").empty());
  CHECK(eos_tokens(Json::object(), "x").empty());
}

TEST_CASE("eos_token_id of another kind is malformed", "[model][config_tokens]") {
  for (const Json& wrong : {Json("2"), Json::object(), Json{"2"}, Json(2.5), Json(4294967298), Json{4294967298}}) {
    CAPTURE(wrong.dump());
    CHECK(test::error_of([&] { (void)eos_tokens({{"eos_token_id", wrong}}, "x"); }) == ErrorCode::malformed);
  }
}

TEST_CASE("absent special tokens take the family's ids, null ones do not exist", "[model][config_tokens]") {
  Architecture model;
  model.vocabulary = 100;
  read_special_tokens(Json::object(), 1, 2, "x", model);
  CHECK(model.bos == 1);
  CHECK(model.eos == std::vector<Token>{2});
  Architecture without;
  without.vocabulary = 100;
  read_special_tokens({{"bos_token_id", nullptr}, {"eos_token_id", nullptr}}, 1, 2, "x", without);
  CHECK(without.bos == std::nullopt);
  CHECK(without.eos.empty());
  read_special_tokens({{"bos_token_id", 5}, {"eos_token_id", {6, 7}}}, 1, 2, "x", model);
  CHECK(model.bos == 5);
  CHECK(model.eos == std::vector<Token>{6, 7});
}
