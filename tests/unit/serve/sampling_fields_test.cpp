// SPDX-License-Identifier: Apache-2.0
#include <tulle/serve/sampling_fields.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace tulle;
using namespace tulle::serve;

namespace {

GenerationOptions read(const Json& body, bool draws = false) {
  return read_generation(RequestFields(body), draws);
}

std::string refused(const Json& body, std::string_view format = "response_format") {
  try {
    (void)read_generation(RequestFields(body), false, format);
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

TEST_CASE("Fields of other servers that would change a text are refused in every API", "[serve]") {
  const Json schema{{"type", "null"}};
  const std::vector<std::pair<std::string, Json>> all{{"guided_json", schema},
                                                      {"guided_regex", "a"},
                                                      {"guided_choice", {"a"}},
                                                      {"guided_grammar", "a"},
                                                      {"structured_outputs", {{"regex", "a"}}},
                                                      {"grammar", "a"},
                                                      {"json_schema", schema},
                                                      {"output_format", {{"type", "json_schema"}}},
                                                      {"stop_token_ids", {5}},
                                                      {"bad_words", {"a"}},
                                                      {"functions", {{{"name", "a"}}}},
                                                      {"function_call", "auto"},
                                                      {"min_tokens", 5},
                                                      {"allowed_token_ids", {3}},
                                                      {"no_repeat_ngram_size", 2}};
  for (const auto& [name, value] : all) {
    for (const std::string_view format : {"response_format", "text.format", "output_config.format"}) {
      CAPTURE(name, format);
      CHECK(refused({{name, value}}, format) == name);
      CHECK(refused({{name, nullptr}}, format) == "nothing");
      for (const Json& nothing : {Json(false), Json(0), Json(""), Json::array(), Json::object()}) {
        CHECK(refused({{name, nothing}}, format) == "nothing");
      }
    }
  }
}

TEST_CASE("The form of a text stands in the field of its API", "[serve]") {
  const Json form{{"type", "json_object"}}, plain{{"type", "text"}};
  const auto body = [](const std::string& field, const Json& value) {
    const std::size_t dot = field.find('.');
    if (dot == std::string::npos) return Json{{field, value}};
    return Json{{field.substr(0, dot), {{field.substr(dot + 1), value}}}};
  };
  const std::vector<std::string> fields{"response_format", "text.format", "output_config.format"};
  for (const std::string& given : fields) {
    for (const std::string& own : fields) {
      CAPTURE(given, own);
      CHECK(refused(body(given, form), own) == (given == own ? "nothing" : given));
      for (const Json& nothing : {plain, Json(nullptr), Json::object()}) {
        CHECK(refused(body(given, nothing), own) == "nothing");
      }
    }
  }
  CHECK(refused({{"text", "a"}, {"output_config", {{"effort", "low"}}}}) == "nothing");
  try {
    (void)read_generation(RequestFields(Json{{"guided_json", {{"type", "null"}}}}), true, "text.format");
    FAIL("no error");
  } catch (const ApiError& error) {
    CHECK(std::string(error.what()) == "\"guided_json\" is not supported; use \"text.format\"");
  }
}
