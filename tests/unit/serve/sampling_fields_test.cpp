// SPDX-License-Identifier: Apache-2.0
#include <tulle/serve/sampling_fields.hpp>

#include <catch2/catch_all.hpp>
#include <string>

using namespace tulle;
using namespace tulle::serve;

namespace {

GenerationOptions read(const Json& body, bool draws = false) {
  return read_generation(RequestFields(body), draws);
}

std::string refused(const Json& body) {
  try {
    (void)read(body);
  } catch (const ApiError& error) {
    CHECK(error.status() == 400);
    return error.param();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("A temperature draws, 0 is greedy", "[serve]") {
  CHECK(read(Json::object(), true).sampling.do_sample);
  CHECK_FALSE(read(Json::object()).sampling.do_sample);
  CHECK(read({{"temperature", 0.5}}).sampling.do_sample);
  CHECK(read({{"top_p", 0.9}}).sampling.do_sample);
  CHECK_FALSE(read({{"temperature", 0}}, true).sampling.do_sample);
  CHECK_FALSE(read({{"do_sample", false}, {"temperature", 1}}).sampling.do_sample);
  CHECK(read({{"top_p", 0}}).sampling.top_p > 0);  // OpenAI's range begins at 0
  CHECK(read({{"top_k", -1}}).sampling.top_k == 0);
}

TEST_CASE("A seed that is not given is another one each time", "[serve]") {
  CHECK(read({{"seed", 5}}).seed == 5);
  CHECK(read(Json::object()).seed != read(Json::object()).seed);
}

TEST_CASE("Biases, stop strings and limits are read", "[serve]") {
  const GenerationOptions options =
      read({{"logit_bias", {{"5", -100}, {"7", 1.5}}}, {"stop", {"a", ""}}, {"n", 2}, {"ignore_eos", true}});
  CHECK(options.sampling.logit_bias == std::vector<std::pair<Token, float>>{{5, -100.0f}, {7, 1.5f}});
  CHECK(options.stop == std::vector<std::string>{"a"});
  CHECK(options.num_return_sequences == 2);
  CHECK(options.force_max_tokens);
  const Json body{{"max_tokens", 3}, {"max_completion_tokens", 4}};
  CHECK(max_tokens_field(RequestFields(body), {"max_completion_tokens", "max_tokens"}, 9) == 4);
  CHECK(max_tokens_field(RequestFields(body), {"none"}, 9) == 9);
  CHECK(read({{"stop_sequences", {"x"}}}).stop == std::vector<std::string>{"x"});
}

TEST_CASE("Values out of range are refused by name", "[serve]") {
  for (const auto& [name, value] : std::vector<std::pair<std::string, Json>>{{"temperature", 2.1},
                                                                             {"temperature", -0.1},
                                                                             {"top_p", 1.1},
                                                                             {"top_k", -2},
                                                                             {"min_p", 2},
                                                                             {"n", 0},
                                                                             {"presence_penalty", 3},
                                                                             {"frequency_penalty", -3},
                                                                             {"repetition_penalty", 0},
                                                                             {"typical_p", 0},
                                                                             {"logit_bias", 3},
                                                                             {"logit_bias", {{"-1", 0}}},
                                                                             {"logit_bias", {{"1", 200}}},
                                                                             {"logit_bias", {{"1", "a"}}},
                                                                             {"stop", 3},
                                                                             {"seed", "a"}}) {
    INFO(name << " " << value.dump());
    CHECK(refused({{name, value}}) == name);
  }
}
