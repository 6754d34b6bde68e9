// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/export/model_description.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/format/file_builder.hpp"

using namespace tulle;

TEST_CASE("the files of a directory's tokenizer are taken, and no others", "[format][export]") {
  const test::TemporaryFolder folder;
  folder.write("config.json", std::string_view(R"({"model_type": "llama"})"));
  folder.write("generation_config.json", std::string_view(R"({"eos_token_id": 2})"));
  folder.write("model.safetensors", test::safetensors_file("{}", 0));
  folder.write("tokenizer.json", std::string_view("{}"));
  folder.write("chat_template.jinja", std::string_view("{{ x }}"));
  folder.write("README.md", std::string_view("text"));
  for (const std::string& path : {folder.path(), folder.path("model.safetensors")}) {
    const ModelDescription model = describe_checkpoint(*Checkpoint::open(path));
    CHECK(model.config == Json{{"model_type", "llama"}});
    CHECK(model.generation_config == Json{{"eos_token_id", 2}});
    CHECK(model.files ==
          std::map<std::string, std::string>{{"tokenizer.json", "{}"}, {"chat_template.jinja", "{{ x }}"}});
    CHECK_FALSE(model.vocabulary);
  }
}

TEST_CASE("a GGUF file gives a config, a tokenizer and a chat template", "[format][export]") {
  const auto checkpoint = Checkpoint::from_gguf_bytes(test::tiny_llama_gguf().build(), "tiny.gguf");
  const ModelDescription model = describe_checkpoint(*checkpoint);
  CHECK(model.config.at("rms_norm_eps") == 1e-5);
  CHECK(model.config.at("rope_parameters") == Json{{"rope_type", "default"}, {"rope_theta", 10000.0}});
  CHECK((model.config.at("dtype") == "float16" && model.config.at("torch_dtype") == "float16"));
  CHECK(model.generation_config == Json{{"bos_token_id", 3}, {"eos_token_id", 3}});
  CHECK(model.files.at("chat_template.jinja") == "{{ messages }}");
  CHECK(parse_json(model.files.at("tokenizer.json"), "t").at("model").at("vocab").at("ab") == 2);
  CHECK(parse_json(model.files.at("tokenizer_config.json"), "t").at("eos_token") == "<|end|>");
  CHECK(model.vocabulary->tokens.size() == 6);
  CHECK(model.notes.empty());

  const Json scaling{{"rope_type", "factors"}, {"factors", {1.0, 2.0}}};
  ModelDescription scaled = model;
  scaled.config["rope_scaling"] = scaling;
  detail::complete_gguf_config(scaled);
  CHECK(scaled.config.at("rope_scaling") == scaling);
  CHECK(scaled.notes.size() == 1);
}

TEST_CASE("Gemma 3 has rotary parameters for each kind of layer, whatever the file says", "[format][export]") {
  ModelDescription model;
  model.config = {
      {"model_type", "gemma3_text"}, {"rope_theta", 1e6}, {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}}}};
  detail::complete_gguf_config(model);
  const Json& parameters = model.config.at("rope_parameters");
  CHECK(parameters.at("full_attention").at("factor") == 8);
  CHECK(parameters.at("sliding_attention").at("rope_theta") == 10000);
}

TEST_CASE("divisors of llama3 scaling become that scaling", "[format][export]") {
  const std::vector<double> divisors = detail::llama3_divisors(500000, 32, 8, 1, 4, 8192);
  CHECK((divisors.front() == 1 && divisors.back() == 8));
  const Json scaling = detail::llama3_scaling_of(divisors, 500000);
  CHECK(scaling.at("factor") == 8);
  CHECK(scaling.at("rope_type") == "llama3");
  CHECK(detail::llama3_scaling_of(divisors, 10000).is_null());
}
