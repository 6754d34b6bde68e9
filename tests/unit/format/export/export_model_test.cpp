// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/export/export_model.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/format/checkpoint.hpp>
#include <tulle/model/families.hpp>

#include "unit/format/export/made_model.hpp"
#include "unit/format/file_builder.hpp"

using namespace tulle;
using namespace tulle::testing;

namespace {

/// Of every kind of matrix; embedding and head of int8.
MadeModel mixed_model() {
  MadeModel model;
  model.put("model.embed_tokens", 40, 64, int8_rows);
  model.put("model.layers.0.up", 24, 64, int4_groups, 0.5);
  model.put("model.layers.0.down", 64, 24, int8_rows, 0.5);
  model.tensors.put_random("model.layers.0.gate.weight", DType::f16, 24, 64, 5);
  model.tensors.put_floats("model.norm.weight", {64}, std::vector<float>(64, 0.5f));
  return model;
}

ModelDescription description() {
  ModelDescription description;
  description.config = {{"model_type", "llama"}};
  description.generation_config = {{"eos_token_id", 2}};
  description.files = {{"tokenizer.json", "{}"}, {"chat_template.jinja", "{{ messages }}"}};
  return description;
}

/// What is read from the directory that an export of `model` in this form makes.
std::shared_ptr<const Checkpoint> exported(const Checkpoint& model, const Json& config, ExportForm form,
                                           const test::TemporaryFolder& folder) {
  ModelDescription described = description();
  described.config = config;
  ExportOptions options;
  options.form = form;
  (void)export_model(model, described, folder.path("copy"), options);
  return Checkpoint::open(folder.path("copy"));
}

std::size_t files_in(const std::string& path) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
}

}  // namespace

TEST_CASE("a model is written with its files, and read again to the same bits", "[format][export]") {
  const MadeModel model = mixed_model();
  const test::TemporaryFolder folder;
  for (const ExportForm form : {ExportForm::compressed_tensors, ExportForm::bitmask}) {
    const std::string path = folder.path(form == ExportForm::bitmask ? "deep/bitmask" : "compressed");
    std::vector<double> fractions;
    ExportOptions options;
    options.form = form;
    options.progress = [&](std::string_view, double fraction) { fractions.push_back(fraction); };
    const ExportReport report = export_model(model, description(), path, options);
    CHECK(fractions.back() == 1);
    CHECK(report.files == std::vector<std::string>{"model.safetensors", "chat_template.jinja", "tokenizer.json",
                                                   "generation_config.json", "config.json"});
    CHECK(files_in(path) == 5);
    CHECK(report.notes.size() == (form == ExportForm::bitmask ? 0 : 1));
    const auto copy = Checkpoint::open(path);
    CHECK(copy->generation_config() == Json{{"eos_token_id", 2}});
    for (const MatrixPart& part : model_parts(model, Json::object()).matrices) {
      if (form == ExportForm::compressed_tensors && part.is_table) continue;
      CAPTURE(part.name);
      CHECK(same_matrix(*copy->matrix(part.name), *model.matrix(part.name)));
    }
    // Again, from what was written.
    const ExportReport again = export_model(*copy, description(), path + "-again", options);
    CHECK(again.bytes == report.bytes);
  }
}

TEST_CASE("models whose files differ from their description are written and read again", "[format][export]") {
  for (const char* name : {"gpt2-tiny", "bloom-tiny", "gpt-oss-tiny", "gpt-oss-tiny-mxfp4", "qwen2-moe-tiny"}) {
    const auto model = Checkpoint::open(std::string(TULLE_GOLDEN "/models/") + name);
    for (const ExportForm form : {ExportForm::compressed_tensors, ExportForm::bitmask}) {
      const test::TemporaryFolder folder;
      const auto copy = exported(*model, model->config(), form, folder);
      for (const MatrixPart& part : model_parts(*model, model->config()).matrices) {
        CAPTURE(name, part.name);
        REQUIRE(copy->matrix(part.name) != nullptr);
        CHECK(values_of(*copy->matrix(part.name)) == values_of(*model->matrix(part.name)));
      }
      for (const std::string& tensor : model_parts(*model, model->config()).tensors) {
        CAPTURE(name, tensor);
        REQUIRE(copy->find(tensor) != nullptr);
        CHECK(copy->find(tensor)->taken_elements() == model->find(tensor)->taken_elements());
      }
    }
  }
}

TEST_CASE("matrices that files keep in parts are written and read again", "[format][export]") {
  for (const char* name :
       {"gptq", "gptq_v2", "awq", "ct_bitmask", "ct_bitmask_0_8", "ct_24", "ct_stacked", "ct_pack"}) {
    const auto model = Checkpoint::open(std::string(TULLE_GOLDEN "/quantized/") + name);
    Json config = model->config();
    config["model_type"] = "llama";
    const ModelParts parts = model_parts(*model, config);
    CHECK_FALSE(parts.matrices.empty());
    for (const std::string& tensor : parts.tensors) {
      CAPTURE(name, tensor);  // no part of a matrix
      const std::string_view last = std::string_view(tensor).substr(tensor.rfind('.') + 1);
      const bool is_vector = last == "bias" || tensor == "norm.weight";
      CHECK((is_vector || last == "expected" || last.starts_with("input_")));
    }
    for (const ExportForm form : {ExportForm::compressed_tensors, ExportForm::bitmask}) {
      const test::TemporaryFolder folder;
      const auto copy = exported(*model, config, form, folder);
      for (const MatrixPart& part : parts.matrices) {
        CAPTURE(name, part.name);
        REQUIRE(copy->matrix(part.name) != nullptr);
        const std::vector<float> found = values_of(*copy->matrix(part.name)),
                                 wanted = values_of(*model->matrix(part.name));
        REQUIRE(found.size() == wanted.size());
        float largest = 0, error = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
          largest = std::max(largest, std::abs(wanted[i]));
          error = std::max(error, std::abs(found[i] - wanted[i]));
        }
        CHECK(error <= 1e-3f * largest);  // some become F16
      }
    }
  }
}

TEST_CASE("a GGUF file of any family becomes a directory of the same model", "[format][export]") {
  for (const char* name :
       {"gemma", "gemma3", "falcon", "falcon-40b", "bloom", "gptneox", "gpt2", "mpt", "phi2", "phi4-mini", "olmo2",
        "starcoder2", "mixtral", "qwen2moe", "gpt-oss", "gpt-oss-mxfp4", "llama-yarn"}) {
    CAPTURE(name);
    const auto model = Checkpoint::open(std::string(TULLE_GOLDEN "/models/gguf/") + name + ".gguf");
    const test::TemporaryFolder folder;
    (void)export_model(*model, describe_checkpoint(*model), folder.path("copy"));
    const auto copy = Checkpoint::open(folder.path("copy"));
    CHECK(copy->names().size() >= model->names().size());  // codes have scales beside them
    for (const MatrixPart& part : model_parts(*model, model->config()).matrices) {
      CAPTURE(part.name);
      REQUIRE(copy->matrix(part.name) != nullptr);
      CHECK(values_of(*copy->matrix(part.name)) == values_of(*model->matrix(part.name)));
    }
    for (const std::string& tensor : model_parts(*model, model->config()).tensors) {
      CAPTURE(tensor);
      REQUIRE(copy->find(tensor) != nullptr);
      CHECK(read_floats(*copy, *copy->find(tensor)) == read_floats(*model, *model->find(tensor)));
    }
    Architecture found = describe_model(copy->config(), "copy"), wanted = describe_model(model->config(), "model");
    CHECK(found.family == wanted.family);
    CHECK(found.norm_epsilon == Catch::Approx(wanted.norm_epsilon));
    REQUIRE(found.rotary_tables.size() == wanted.rotary_tables.size());
    for (const std::size_t length : {std::size_t{16}, std::size_t{4096}}) {
      found.set_sequence_length(length);
      wanted.set_sequence_length(length);
      for (std::size_t i = 0; i < found.rotary_tables.size(); ++i) {
        CHECK(found.rotary_tables[i].inverse_frequencies == wanted.rotary_tables[i].inverse_frequencies);
        CHECK(found.rotary_tables[i].factor == wanted.rotary_tables[i].factor);
      }
    }
    for (std::size_t i = 0; i < found.layers.size(); ++i) {
      CHECK(found.layers[i].window.positions == wanted.layers[i].window.positions);
      CHECK(found.layers[i].qkv_bias == wanted.layers[i].qkv_bias);
    }
  }
}

TEST_CASE("a directory that is not empty is kept, unless it may be replaced", "[format][export]") {
  const MadeModel model = mixed_model();
  const test::TemporaryFolder folder;
  folder.write("notes.txt", std::string_view("mine"));
  CHECK(test::error_of([&] { export_model(model, description(), folder.path()); }) == ErrorCode::invalid_argument);
  CHECK(files_in(folder.path()) == 1);
  CHECK(test::error_of([&] { export_model(model, description(), folder.path("notes.txt")); }) ==
        ErrorCode::invalid_argument);
  ExportOptions options;
  options.replace = true;
  export_model(model, description(), folder.path(), options);
  CHECK(files_in(folder.path()) == 6);
}

TEST_CASE("the parts of a model that is replaced go with their index", "[format][export]") {
  const MadeModel model = mixed_model();
  ExportOptions options;
  options.replace = true;
  for (const char* index : {R"({"weight_map": {"a": "model-1.safetensors", "b": "../kept.safetensors", "c": 7,
                                               "d": "notes.txt", "e": "model.safetensors"}})",
                            "[]", "{"}) {
    const test::TemporaryFolder folder;
    for (const char* name : {"model-1.safetensors", "notes.txt"}) folder.write(name, std::string_view("x"));
    folder.write("model.safetensors.index.json", std::string_view(index));
    export_model(model, description(), folder.path(), options);
    CHECK(files_in(folder.path()) == (std::string_view(index).size() > 2 ? 6 : 7));
  }
}

TEST_CASE("what an ended export left of a file is removed, and what another one writes is not", "[format][export]") {
  const MadeModel model = mixed_model();
  const test::TemporaryFolder folder;
  const int ended = 1 << 30;  // above the largest number of a process
  folder.write("model.safetensors.1764222222222222222-" + std::to_string(ended) + ".part", std::string_view("half"));
  export_model(model, description(), folder.path());
  CHECK(files_in(folder.path()) == 5);
  const test::TemporaryFolder other;
  const OutputFile running(other.path("model.safetensors"));
  CHECK(test::error_of([&] { export_model(model, description(), other.path()); }) == ErrorCode::invalid_argument);
  CHECK(files_in(other.path()) == 1);
}

TEST_CASE("an export that fails leaves no file", "[format][export]") {
  MadeModel model = mixed_model();
  model.tensors.put_floats("lm_head.weight", {1, 2}, {1, 2});
  const test::TemporaryFolder folder;
  ModelDescription broken = description();
  broken.files["missing/tokenizer.json"] = "{}";
  CHECK(test::error_of([&] { export_model(model, broken, folder.path()); }) == ErrorCode::io);
  CHECK(files_in(folder.path()) == 0);
  model.tensors.put("blocks", DType::q8_0, {32}, std::vector<std::byte>(34));
  CHECK(test::error_of([&] { export_model(model, description(), folder.path()); }) == ErrorCode::unsupported);
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("mutated files of every form are read or refused", "[format][export]") {
  const MadeModel model = mixed_model();
  for (const ExportForm form : {ExportForm::compressed_tensors, ExportForm::bitmask}) {
    const test::TemporaryFolder folder;
    ExportOptions options;
    options.form = form;
    export_model(model, description(), folder.path("m"), options);
    std::ifstream file(folder.path("m/model.safetensors"), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const test::Bytes bytes = test::to_bytes(text);
    std::mt19937 random(1);
    std::size_t refused = 0;
    for (std::size_t i = 0; i < 300; ++i) {
      test::Bytes mutated = bytes;
      const std::size_t size = i % 2 == 0 ? mutated.size() : mutated.size() / 2;  // half of them in the header
      for (std::size_t change = 0; change <= i % 3; ++change) {
        mutated[random() % size] = static_cast<std::byte>(random());
      }
      try {
        folder.write("m/model.safetensors", mutated);
        const auto copy = Checkpoint::open(folder.path("m"));
        for (const MatrixPart& part : model_parts(*copy, Json::object()).matrices)
          (void)values_of(*copy->matrix(part.name));
      } catch (const Error&) {
        ++refused;
      }
    }
    CHECK(refused > 30);
  }
}
