// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/rotary_scaling.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "unit/format/file_builder.hpp"

using namespace tulle;

namespace {

void check_frequencies(const Json& config, const std::vector<double>& wanted) {
  const std::vector<float> found = rotary_table(config, 2 * wanted.size(), "config.json").inverse_frequencies;
  REQUIRE(found.size() == wanted.size());
  for (std::size_t j = 0; j < found.size(); ++j) {
    CAPTURE(j);
    CHECK(std::fabs(found[j] - wanted[j]) <= 3e-7 * wanted[j]);  // transformers blends in float
  }
}

Json llama3(double factor, double original) {
  return {{"rope_type", "llama3"},
          {"factor", factor},
          {"low_freq_factor", 1.0},
          {"high_freq_factor", 4.0},
          {"original_max_position_embeddings", original}};
}

}  // namespace

// The values are `inv_freq` of transformers 5.17's LlamaRotaryEmbedding for head_dim 16.
TEST_CASE("frequencies are those of transformers", "[model][rotary_scaling]") {
  const std::vector<double> plain{
      1, 0.316227764, 0.100000001, 0.0316227786, 0.00999999978, 0.00316227786, 0.00100000005, 0.000316227786};
  check_frequencies(Json::object(), plain);
  check_frequencies({{"rope_theta", 10000.0}, {"rope_scaling", nullptr}}, plain);
  check_frequencies({{"rope_parameters", {{"rope_theta", 10000.0}, {"rope_type", "default"}}}}, plain);

  const std::vector<double> linear{0.400000006,   0.1264911,     0.0399999991,   0.0126491114,
                                   0.00399999972, 0.00126491114, 0.000400000019, 0.000126491112};
  check_frequencies({{"rope_scaling", {{"type", "linear"}, {"factor", 2.5}}}}, linear);
  check_frequencies({{"rope_parameters", {{"rope_type", "linear"}, {"factor", 2.5}, {"rope_theta", 10000}}}}, linear);

  // `rope_scaling` beside what transformers 5 saved.
  check_frequencies({{"rope_parameters", {{"rope_theta", 10000.0}, {"rope_type", "default"}}},
                     {"rope_scaling", {{"type", "linear"}, {"factor", 2.5}}}},
                    linear);

  const std::vector<double> short_llama3{
      1, 0.079403013, 0.00470075384, 0.000911583134, 0.000176776681, 3.42810235e-05, 6.64786967e-06, 1.28917316e-06};
  check_frequencies({{"rope_theta", 500000.0}, {"rope_scaling", llama3(8, 64)}}, short_llama3);
  Json parameters = llama3(8, 64);
  parameters["rope_theta"] = 500000.0;
  check_frequencies({{"rope_parameters", parameters}}, short_llama3);
  check_frequencies(
      {{"rope_theta", 500000.0}, {"original_max_position_embeddings", 64}, {"rope_scaling", llama3(8, 1024)}},
      short_llama3);  // the config's own key wins
  check_frequencies(
      {{"rope_theta", 500000.0}, {"rope_scaling", llama3(32, 8192)}},
      {1, 0.193922758, 0.0376060307, 0.00729266508, 0.000429556705, 8.57025589e-06, 1.66196742e-06, 3.22293289e-07});
}

TEST_CASE("factors divide one frequency each", "[model][rotary_scaling]") {
  check_frequencies({{"rope_scaling", {{"rope_type", "factors"}, {"factors", {1, 2, 4, 8}}}}},
                    {1, 0.05, 0.0025, 0.000125});
}

TEST_CASE("rope_scaling wins over what transformers 5 saved", "[model][rotary_scaling]") {
  check_frequencies({{"rope_theta", 10000.0},
                     {"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}},
                     {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 100.0}}}},
                    {0.25, 0.0025});
}

TEST_CASE("rotary settings that make no sense are malformed, unknown kinds unsupported", "[model][rotary_scaling]") {
  const auto code_of = [](const Json& config) {
    CAPTURE(config.dump());
    return test::error_of([&] { (void)rotary_table(config, 16, "config.json"); });
  };
  const auto scaled = [](const Json& scaling) { return Json{{"rope_scaling", scaling}}; };
  for (const Json& theta : {Json(0), Json(-1.0), Json("10000"), Json(std::numeric_limits<double>::infinity())}) {
    CHECK(code_of({{"rope_theta", theta}}) == ErrorCode::malformed);
  }
  CHECK(code_of(scaled("linear")) == ErrorCode::malformed);
  CHECK(code_of(scaled({{"type", "linear"}})) == ErrorCode::malformed);
  CHECK(code_of(scaled({{"type", "linear"}, {"factor", 0}})) == ErrorCode::malformed);
  CHECK(code_of(scaled({{"type", "linear"}, {"factor", "2"}})) == ErrorCode::malformed);
  CHECK(code_of(scaled({{"type", 3}})) == ErrorCode::malformed);
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    Json broken = llama3(8, 64);
    broken.erase(key);
    CHECK(code_of(scaled(broken)) == ErrorCode::malformed);
  }
  Json equal = llama3(8, 64);
  equal["low_freq_factor"] = 4.0;
  CHECK(code_of(scaled(equal)) == ErrorCode::malformed);
  CHECK(code_of(scaled({{"rope_type", "factors"}, {"factors", {1, 2}}})) == ErrorCode::malformed);
  CHECK(code_of(scaled({{"rope_type", "factors"}, {"factors", {1, 1, 1, 1, 1, 1, 1, 0}}})) == ErrorCode::malformed);
  for (const char* kind : {"yarn", "dynamic", "longrope"}) {
    CHECK(code_of(scaled({{"rope_type", kind}, {"factor", 2.0}})) == ErrorCode::malformed);  // of which length?
  }
  CHECK(code_of(scaled({{"rope_type", "proportional"}})) == ErrorCode::unsupported);
}
