// SPDX-License-Identifier: Apache-2.0
#include <tulle/compat/deepsparse/names.hpp>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include <catch2/catch_all.hpp>

#include "unit/generate/tiny_pipeline.hpp"

using namespace tulle;

namespace {

DeepSparseConstruction constructed(const Json& arguments) {
  DeepSparseConstruction construction;
  apply_construction_arguments(arguments, construction);
  return construction;
}
DeepSparseConstruction constructed(const char* arguments) {
  return constructed(Json::parse(arguments));
}

DeepSparseCall called(const char* arguments, const GenerationOptions& defaults = {}) {
  DeepSparseCall call;
  call.options = defaults;
  apply_call_arguments(Json::parse(arguments), call);
  return call;
}

template <class Rows>
std::string table_of(const Rows& rows) {
  std::string text = "| name | from | here |\n|---|---|---|\n";
  for (const auto& row : rows) {
    text += "| `" + std::string(row.name) + "` | " + std::string(row.from) + " | " + std::string(row.meaning) + " |\n";
  }
  return text;
}

TEST_CASE("COMPATIBILITY.md shows the tables word for word", "[generate][deepsparse_names]") {
  std::ifstream file(TULLE_GOLDEN "/../../COMPATIBILITY.md");
  REQUIRE(file);
  std::stringstream page;
  page << file.rdbuf();
  for (const std::string& table : {table_of(construction_rows), table_of(call_rows), table_of(generation_rows)}) {
    INFO("the table that the page should hold:\n" << table);
    CHECK(page.str().find("\n" + table + "\n") != std::string::npos);
  }
}

TEST_CASE("no name stands twice where both would be read", "[generate][deepsparse_names]") {
  std::set<std::string_view> at_construction, at_call;
  for (const auto& row : generation_rows) {
    CHECK(at_construction.insert(row.name).second);
    CHECK(at_call.insert(row.name).second);
  }
  for (const auto& row : construction_rows) CHECK(at_construction.insert(row.name).second);
  for (const auto& row : call_rows) CHECK(at_call.insert(row.name).second);
}

TEST_CASE("a construction in the words of the 1.6 nightly", "[generate][deepsparse_names]") {
  const DeepSparseConstruction construction = constructed(R"({"task": "text-generation", "model_path": "models/codegen",
      "deterministic": false, "sampling_temperature": 0.5, "max_generated_tokens": 64, "sequence_length": 256,
      "prompt_processing_sequence_length": 32, "use_deepsparse_cache": true, "engine_type": "deepsparse",
      "num_cores": 4, "batch_size": 1, "scheduler": null, "context": null, "force_max_tokens": true})");
  CHECK(construction.model_path == "models/codegen");
  CHECK(construction.defaults.sampling.do_sample);
  CHECK(construction.defaults.sampling.temperature == 0.5f);
  CHECK(construction.defaults.max_new_tokens == 64);
  CHECK(construction.defaults.force_max_tokens);
  CHECK(construction.options.engine.sequence_length == 256);
  CHECK(construction.options.engine.prefill_chunk == 32);
  CHECK(construction.options.engine.threads == 4);
  CHECK(construction.options.engine.max_sequences == EngineOptions().max_sequences);
}

TEST_CASE("a construction in the words of 1.8, and ours among them", "[generate][deepsparse_names]") {
  const DeepSparseConstruction construction = constructed(R"({"model": "m.gguf", "sequence_length": 1024,
      "prompt_sequence_length": 16, "internal_kv_cache": false, "continuous_batch_sizes": [4, 64], "benchmark": false,
      "generation_config": {"do_sample": true, "top_k": 50}, "trust_remote_code": true, "num_streams": 2, "alias": "x",
      "kernel": "dense_i8", "cache": "paged", "cache_dtype": "i8", "share_prefixes": true,
      "packed_cache": "on", "verify_packed": true})");
  CHECK(construction.model_path == "m.gguf");
  CHECK(construction.options.engine.sequence_length == 1024);
  CHECK(construction.options.engine.prefill_chunk == 16);
  CHECK(construction.options.engine.max_sequences == 64);
  CHECK(construction.options.engine.cache == "paged");
  CHECK(construction.options.engine.cache_dtype == "i8");
  CHECK(construction.options.engine.share_prefixes);
  CHECK(construction.options.engine.packed_cache == "on");
  CHECK(construction.options.engine.verify_packed);
  CHECK(construction.options.kernel == "dense_i8");
  CHECK(construction.defaults.sampling.do_sample);
  CHECK(construction.defaults.sampling.top_k == 50);
}

TEST_CASE("tasks are known under DeepSparse's names for them", "[generate][deepsparse_names]") {
  for (const char* task : {"text-generation", "text_generation", "Text Generation", "codegen", "code_generation", "opt",
                           "bloom", "mpt", "llama", "chat", "chatbot"}) {
    CHECK_NOTHROW(constructed(Json{{"task", task}}));
  }
  CHECK_THROWS_AS(constructed(Json{{"task", "question-answering"}}), Error);
}

TEST_CASE("what cannot be constructed is refused with a reason", "[generate][deepsparse_names]") {
  CHECK_THROWS_WITH(constructed(R"({"engine_type": "onnxruntime"})"),
                    "argument \"engine_type\" cannot be \"onnxruntime\": only `deepsparse`: there is one engine");
  for (const char* arguments :
       {R"({"sequence_length": [128, 256]})", R"({"model": "zoo:nlg/x"})", R"({"model": "hf:org/../x"})",
        R"({"onnx_model_name": "model.onnx"})", R"({"input_shapes": "[1,2]"})", R"({"engine_kwargs": {}})",
        R"({"executor": 1})", R"({"prompt_sequence_length": 0})", R"({"num_cores": 0})", R"({"kernel": "dense"})",
        R"({"sequences": "a"})", R"({"tempreature": 1})", R"([])", R"({"generation_config": 1})"}) {
    CAPTURE(arguments);
    CHECK_THROWS_AS(constructed(arguments), Error);
  }
}

TEST_CASE("a construction's generation config may be a file or its folder", "[generate][deepsparse_names]") {
  const auto folder = std::filesystem::temp_directory_path() / "tulle_deepsparse_names_test";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "generation_config.json").string();
  std::ofstream(file) << R"({"max_new_tokens": 9})";
  CHECK(constructed(Json{{"generation_config", file}}).defaults.max_new_tokens == 9);
  CHECK(constructed(Json{{"generation_config", folder.string()}}).defaults.max_new_tokens == 9);
  std::ofstream(file) << R"({"max_new_tokns": 9})";
  CHECK_THROWS_WITH(constructed(Json{{"generation_config", file}}),
                    Catch::Matchers::ContainsSubstring("max_new_tokens"));
  std::filesystem::remove_all(folder);
  CHECK_THROWS_AS(constructed(Json{{"generation_config", file}}), Error);
}

TEST_CASE("a call takes prompts, a session and how to answer", "[generate][deepsparse_names]") {
  const DeepSparseCall old = called(R"({"sequences": ["a", "b"], "return_logits": true, "session_id": null,
      "fixed_sequences_length": false, "streamer": null})");
  CHECK(old.prompts == std::vector<std::string>{"a", "b"});
  CHECK(old.options.return_logits);
  const DeepSparseCall call = called(R"({"prompt": "a", "streaming": true, "return_input_tokens": true,
      "session_ids": "s", "max_new_tokens": 3, "callback": null})");
  CHECK(call.prompts == std::vector<std::string>{"a"});
  CHECK(call.streaming);
  CHECK(call.return_input_tokens);
  CHECK(call.session_ids == std::vector<std::string>{"s"});
  CHECK(call.options.max_new_tokens == 3);
}

TEST_CASE("nearer settings win: arguments, generation_kwargs, generation_config, defaults",
          "[generate][deepsparse_names]") {
  GenerationOptions defaults;
  defaults.seed = 1;
  const DeepSparseCall call = called(R"({"generation_config": {"top_k": 1, "top_p": 0.1, "temperature": 0.1},
                                         "generation_kwargs": {"top_k": 2, "top_p": 0.2}, "top_k": 3})",
                                     defaults);
  CHECK(call.options.sampling.top_k == 3);
  CHECK(call.options.sampling.top_p == 0.2f);
  CHECK(call.options.sampling.temperature == 0.1f);
  CHECK(call.options.seed == 1);
}

TEST_CASE("what a call cannot do is refused with a reason", "[generate][deepsparse_names]") {
  CHECK_THROWS_WITH(called(R"({"sequence_length": 4})"), "argument \"sequence_length\" does not belong to a call");
  CHECK_THROWS_WITH(called(R"({"max_new_token": 4})"),
                    "unknown argument \"max_new_token\" of a call; did you mean max_new_tokens, min_new_tokens?");
  for (const char* arguments :
       {R"({"fixed_sequences_length": true})", R"({"streamer": "x"})", R"({"callback": "x"})", R"({"sequences": []})",
        R"({"sequences": [1]})", R"({"sequences": "a", "prompt": "b"})", R"({"generation_config": "/etc/passwd"})",
        R"({"generation_config": {"generation_config": {}}})", R"({"generation_kwargs": {"sequences": "a"}})",
        R"({"prompt": "a", "session_ids": ["s", "t"]})", R"({"prompt": ["a", "b"], "session_ids": ["s", "s"]})"}) {
    CAPTURE(arguments);
    CHECK_THROWS_AS(called(arguments), Error);
  }
}

// Shapes: tests/deepsparse/transformers/pipelines/test_text_generation.py of DeepSparse, but for its one token too
// many.
TEST_CASE("both generations of calls get the rows of logits that they got", "[generate][deepsparse_names]") {
  const auto pipeline = testing::tiny_pipeline(testing::small_engine());
  const auto logits_of = [&](const char* arguments) {
    const DeepSparseCall call = called(arguments);
    return (*pipeline)(call.prompts, call.options).generations.back();
  };
  const GeneratedText old = logits_of(R"({"sequences": "def fib():", "return_logits": true, "max_generated_tokens": 5,
                                          "force_max_tokens": true})");
  const std::size_t prompt = old.prompt_tokens, vocabulary = pipeline->model().architecture().vocabulary;
  REQUIRE(prompt > 1);
  REQUIRE(old.logits.rows == prompt + 5 - 1);
  REQUIRE(old.logits.columns == vocabulary);

  const GeneratedText scores = logits_of(R"({"prompt": "def fib():", "output_scores": true, "max_new_tokens": 5,
                                             "force_max_tokens": true, "num_return_sequences": 2})");
  REQUIRE(scores.tokens == old.tokens);
  REQUIRE(scores.logits.rows == 5);
  for (std::size_t row = 0; row < 5; ++row) {
    for (std::size_t id = 0; id < vocabulary; ++id) REQUIRE(scores.logits[row][id] == old.logits[prompt - 1 + row][id]);
  }
  CHECK(logits_of(R"({"prompt": "def fib():", "output_scores": true, "max_new_tokens": 5, "force_max_tokens": true,
                      "include_prompt_logits": true})")
            .logits.rows == prompt + 5 - 1);
  CHECK(logits_of(R"({"prompt": "def fib():", "output_scores": true, "max_new_tokens": 0})").logits.rows == 1);
  CHECK(logits_of(R"({"prompt": "def fib():", "output_scores": true, "max_new_tokens": 0,
                      "include_prompt_logits": true})")
            .logits.rows == prompt);
}

}  // namespace
