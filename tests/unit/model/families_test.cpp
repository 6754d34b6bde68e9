// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/families.hpp>

#include <catch2/catch_all.hpp>
#include <string>

#include "unit/format/file_builder.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;

TEST_CASE("every family is found by its model_type", "[model][families]") {
  CHECK(describe_model(testing::llama_config(), "x").family == "llama");
  CHECK(describe_model(testing::codegen_config(), "x").family == "codegen");
  for (const Family& family : families()) {
    if (family.model_type == "codegen") continue;
    Json config = testing::llama_config();
    config["model_type"] = family.model_type;
    config["rotary_dim"] = 8;
    config["attention_types"] = Json::array({Json::array({{"global"}, config["num_hidden_layers"]})});
    CHECK(describe_model(config, "x").family == family.model_type);
  }
}

TEST_CASE("an unknown model_type is refused with the known ones", "[model][families]") {
  for (const Json& config : {Json{{"model_type", "mamba"}}, Json::object()}) {
    try {
      (void)describe_model(config, "dir/config.json");
      FAIL("accepted");
    } catch (const Error& error) {
      const std::string message = error.what();
      CAPTURE(message);
      CHECK(error.code() == ErrorCode::unsupported);
      for (const char* part : {"dir/config.json", "codegen", "llama"}) CHECK(message.find(part) != std::string::npos);
    }
  }
}

TEST_CASE("attention in both directions is refused", "[model][families]") {
  Json config = testing::llama_config();
  config["is_causal"] = true;
  CHECK_NOTHROW(describe_model(config, "x"));
  config["is_causal"] = false;
  CHECK(test::error_of([&] { (void)describe_model(config, "x"); }) == ErrorCode::unsupported);
}

TEST_CASE("a config that is no object, or of a wrong type, is malformed", "[model][families]") {
  for (const Json& config : {Json(3), Json::array(), Json(nullptr), Json{{"model_type", 5}}}) {
    CAPTURE(config.dump());
    CHECK(test::error_of([&] { (void)describe_model(config, "x"); }) == ErrorCode::malformed);
  }
}

TEST_CASE("the two spellings of a config describe one model", "[model][families]") {
  Json old = testing::llama_config(), now = testing::llama_config();
  old["rope_theta"] = 500000.0;
  old["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  old["torch_dtype"] = "bfloat16";
  now["rope_parameters"] = {{"rope_theta", 500000.0}, {"rope_type", "linear"}, {"factor", 2.0}};
  now["dtype"] = "bfloat16";
  const Architecture a = describe_model(old, "x"), b = describe_model(now, "x");
  CHECK(a.rotary_tables[0].inverse_frequencies == b.rotary_tables[0].inverse_frequencies);
  CHECK(a.rotary_tables[0].inverse_frequencies[0] == 0.5f);
}
