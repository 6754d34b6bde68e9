// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/gguf.hpp>

#include <catch2/catch_all.hpp>
#include <filesystem>
#include <string>
#include <unit/format/file_builder.hpp>
#include <unit/format/lent_files.hpp>

using namespace tulle;
using namespace tulle::test;

namespace {

const std::string models = TULLE_GOLDEN "/models/";

/// A safetensors file of I8 vectors of two elements.
Bytes tiny_safetensors(const std::vector<std::string>& names) {
  Json header = Json::object();
  std::size_t at = 0;
  for (const std::string& name : names) {
    header[name] = {{"dtype", "I8"}, {"shape", {2}}, {"data_offsets", {at, at + 2}}};
    at += 2;
  }
  return safetensors_file(header.dump(), at);
}

std::optional<ErrorCode> code_of(const std::string& path) {
  return error_of([&] { Checkpoint::open(path); });
}

}  // namespace

TEST_CASE("a Hugging Face directory opens", "[format][checkpoint]") {
  const auto checkpoint = Checkpoint::open(models + "codegen-tiny");
  CHECK(checkpoint->format_name() == "safetensors");
  CHECK(checkpoint->config()["model_type"] == "codegen");
  CHECK(checkpoint->generation_config().contains("eos_token_id"));
  CHECK(checkpoint->matrix("transformer.wte")->rows() == 320);
  CHECK(checkpoint->matrix("transformer") == nullptr);
  CHECK(checkpoint->gguf() == nullptr);
  const EncodedTensor* embedding = checkpoint->find("transformer.wte.weight");
  REQUIRE(embedding != nullptr);
  CHECK(embedding->shape == std::vector<std::size_t>{320, 64});
  CHECK(checkpoint->find("transformer.wte") == nullptr);
  std::size_t bytes = 0;
  for (const std::string& name : checkpoint->names()) bytes += checkpoint->find(name)->bytes.size();
  CHECK(bytes == checkpoint->size_bytes());
  CHECK(Checkpoint::open(models + "codegen-tiny/model.safetensors")->names() == checkpoint->names());
  CHECK(Checkpoint::open(models + "llama-tiny-tied")->generation_config() == Json::object());
}

TEST_CASE("shards are found through their index", "[format][checkpoint]") {
  const auto checkpoint = Checkpoint::open(models + "llama-tiny-gqa");
  CHECK(checkpoint->names().size() == 21);
  CHECK(checkpoint->find("lm_head.weight") != nullptr);
  CHECK(checkpoint->find("model.layers.0.self_attn.q_proj.weight")->shape == std::vector<std::size_t>{48, 48});
}

TEST_CASE("released pages come back unchanged", "[format][checkpoint]") {
  const auto checkpoint = Checkpoint::open(models + "codegen-tiny");
  const EncodedTensor& tensor = *checkpoint->find("transformer.wte.weight");
  const Bytes before(tensor.bytes.begin(), tensor.bytes.end());
  checkpoint->release(tensor.bytes);
  CHECK(std::equal(before.begin(), before.end(), tensor.bytes.begin()));
  checkpoint->release(before);  // not ours: nothing happens
  CHECK(before == Bytes(tensor.bytes.begin(), tensor.bytes.end()));
}

TEST_CASE("a GGUF file opens under Hugging Face names", "[format][checkpoint]") {
  const auto checkpoint = Checkpoint::open(models + "gguf/q8_0.gguf");
  CHECK(checkpoint->format_name() == "gguf");
  CHECK(checkpoint->find("model.layers.1.self_attn.q_proj.weight")->order == RowOrder::halves_of_pairs(4, 16));
  CHECK(checkpoint->config()["hidden_size"] == 64);
  CHECK(checkpoint->find("model.layers.1.mlp.down_proj.weight")->dtype == DType::q8_0);
  CHECK(checkpoint->find("model.norm.weight")->dtype == DType::f32);
  CHECK(checkpoint->find("token_embd.weight") == nullptr);
  const auto scaled = Checkpoint::open(models + "gguf/bf16.gguf");
  CHECK(scaled->find("rope_freqs.weight") == nullptr);
  CHECK(scaled->config()["rope_scaling"]["factors"].size() == 8);
}

TEST_CASE("every golden GGUF tensor decodes to the reference's values", "[format][checkpoint]") {
  for (const std::string name : {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q5_k", "q6_k",
                                 "k_quants", "low_bits", "four_bits"}) {
    const MappedFile file(models + "gguf/" + name + ".gguf");
    const GgufFile gguf = parse_gguf(file.bytes(), name);
    const Json golden = parse_json(MappedFile(models + "gguf/" + name + ".golden.json").text(), name);
    REQUIRE(golden["tensors"].size() == gguf.tensors.size());
    for (std::size_t i = 0; i < gguf.tensors.size(); ++i) {
      const EncodedTensor& tensor = gguf.tensors[i];
      const Json& expected = golden["tensors"][i];
      INFO(name << ' ' << tensor.name);
      CHECK(expected["name"] == tensor.name);
      CHECK(expected["type"] == dtype_name(tensor.dtype));
      CHECK(expected["shape"].get<std::vector<std::size_t>>() == tensor.shape);
      const TensorFiles files;  // none: the bytes are here
      // A vector is a matrix of one row.
      const std::size_t columns = tensor.shape.back(), rows = tensor.elements() / columns;
      const auto source =
          find_encoding(tensor.dtype)->open(files, {tensor.name, tensor.dtype, {rows, columns}, tensor.bytes});
      std::vector<float> values(tensor.elements());
      for (std::size_t row = 0; row < rows; ++row) source->decode_row(row, values.data() + row * columns);
      const auto first = expected["first"].get<std::vector<float>>();
      CHECK(std::equal(first.begin(), first.end(), values.begin()));
      CHECK(values.back() == expected["last"].get<float>());
      double sum = 0, squares = 0;
      for (const float value : values) {
        sum += value;
        squares += static_cast<double>(value) * value;
      }
      CHECK(sum == Catch::Approx(expected["sum"].get<double>()).margin(1e-6 * squares));
      CHECK(squares == Catch::Approx(expected["sum_of_squares"].get<double>()).epsilon(1e-6));
    }
  }
}

TEST_CASE("a GGUF file opens from memory", "[format][checkpoint]") {
  const auto checkpoint = Checkpoint::from_gguf_bytes(tiny_llama_gguf().build(), "memory");
  CHECK(checkpoint->path() == "memory");
  CHECK(checkpoint->gguf()->metadata["tokenizer.ggml.model"] == "gpt2");
  CHECK(checkpoint->find("model.embed_tokens.weight")->shape == std::vector<std::size_t>{6, 4});
  const auto bytes = tiny_llama_gguf().build();
  const auto over = Checkpoint::over_gguf_bytes(bytes, "kept");
  const std::byte* first = over->find("model.embed_tokens.weight")->bytes.data();
  CHECK((first >= bytes.data() && first < bytes.data() + bytes.size()));
  CHECK(error_of([] { Checkpoint::from_gguf_bytes(to_bytes("GGUF"), "memory"); }) == ErrorCode::malformed);
  const GgufBuilder twice = tiny_llama_gguf().tensor("model.norm.weight", {4}, 0, float_bytes(4));
  CHECK(error_of([&] { Checkpoint::from_gguf_bytes(twice.build(), "memory"); }) == ErrorCode::malformed);
}

TEST_CASE("lent files open as the mapped ones, and only tensors that are wanted are read", "[format][checkpoint]") {
  for (const std::string name :
       {"gguf/q4_1.gguf", "gguf/bf16.gguf", "codegen-tiny", "llama-tiny-gqa", "llama-tiny-int8"}) {
    INFO(name);
    std::size_t read = 0;
    const GivenFiles files = lent_files(models + name, &read);
    const auto mapped = Checkpoint::open(models + name);
    const auto lent = Checkpoint::open(files);
    REQUIRE(lent->names() == mapped->names());
    CHECK(lent->config() == mapped->config());
    CHECK(lent->generation_config() == mapped->generation_config());
    CHECK(lent->size_bytes() == mapped->size_bytes());
    for (const std::string& tensor : lent->names()) {
      const EncodedTensor& found = *lent->find(tensor);
      CHECK(found.bytes.empty());
      read = 0;
      const auto bytes = lent->read(found);
      CHECK(read == bytes.size());
      const auto expected = mapped->read(*mapped->find(tensor));
      CHECK(std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()));
      lent->release(bytes);
    }
  }
}

TEST_CASE("lent files that are no model say so", "[format][checkpoint]") {
  const TemporaryFolder folder;
  const auto code = [&] { return error_of([&] { Checkpoint::open(lent_files(folder.path())); }); };
  folder.write("config.json", R"({"model_type":"llama"})");
  CHECK(code() == ErrorCode::not_found);
  folder.write("model.safetensors", tiny_safetensors({"a"}));
  CHECK(code() == std::nullopt);
  Bytes cut = tiny_safetensors({"a"});
  cut.pop_back();
  folder.write("model.safetensors", cut);
  CHECK(code() == ErrorCode::malformed);
  CHECK(error_of([&] { Checkpoint::open(lent_files(folder.path("config.json"))); }) == ErrorCode::not_found);
}

TEST_CASE("the one GGUF file of a directory, and links to files, open", "[format][checkpoint]") {
  const TemporaryFolder folder;
  folder.write("blob", tiny_llama_gguf().build());
  std::filesystem::create_symlink("blob", folder.path("model.gguf"));
  CHECK(Checkpoint::open(folder.path())->format_name() == "gguf");
  CHECK(Checkpoint::open(folder.path("blob"))->format_name() == "gguf");
}

TEST_CASE("a directory is a model by its config and weights, or by its one GGUF file", "[format][checkpoint]") {
  const TemporaryFolder folder;
  CHECK(code_of(folder.path()) == ErrorCode::not_found);
  folder.write("a.gguf", tiny_llama_gguf().build());
  CHECK(Checkpoint::open(folder.path())->format_name() == "gguf");
  folder.write("config.json", "{}");  // repositories of GGUF files often hold one
  CHECK(Checkpoint::open(folder.path())->format_name() == "gguf");
  folder.write("b.gguf", tiny_llama_gguf().build());
  CHECK(code_of(folder.path()) == ErrorCode::invalid_argument);
  folder.write("model.safetensors", tiny_safetensors({"a"}));
  CHECK(Checkpoint::open(folder.path())->format_name() == "safetensors");
}

TEST_CASE("what is missing or of another kind is said", "[format][checkpoint]") {
  CHECK(code_of(models + "none") == ErrorCode::not_found);
  CHECK(code_of(models) == ErrorCode::not_found);
  CHECK(code_of(models + "gguf") == ErrorCode::invalid_argument);
  const TemporaryFolder folder;
  folder.write("model.safetensors", tiny_safetensors({"a"}));
  CHECK(code_of(folder.path()) == ErrorCode::not_found);  // no config
  CHECK(code_of(folder.path("model.safetensors")) == ErrorCode::not_found);
  folder.write("config.json", "[]");
  CHECK(code_of(folder.path()) == ErrorCode::malformed);
  folder.write("config.json", R"({"quantization_config": {"quant_method": "fp8"}})");
  CHECK(code_of(folder.path()) == ErrorCode::unsupported);
  folder.write("config.json", "{}");
  CHECK(code_of(folder.path()) == std::nullopt);
  folder.write("generation_config.json", "{");
  CHECK(code_of(folder.path()) == ErrorCode::malformed);
}

TEST_CASE("an int8 checkpoint needs its scales", "[format][checkpoint]") {
  CHECK(code_of(models + "llama-tiny-int8") == std::nullopt);
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors",
               safetensors_file(R"({"q.weight":{"dtype":"I8","shape":[1,2],"data_offsets":[0,2]}})", 2));
  CHECK(code_of(folder.path()) == ErrorCode::not_found);
}

TEST_CASE("an index names the files of shards, whatever is in them", "[format][checkpoint]") {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("one.safetensors", tiny_safetensors({"a", "b"}));
  folder.write("again.safetensors", tiny_safetensors({"c"}));
  Bytes last = tiny_safetensors({"c"});
  last[last.size() - 2] = std::byte{5};
  folder.write("two.safetensors", last);
  const auto with_index = [&](const std::string& weight_map) {
    folder.write("model.safetensors.index.json", R"({"metadata":{},"weight_map":)" + weight_map + "}");
    return code_of(folder.path());
  };
  CHECK(with_index(R"({"a":"one.safetensors","b":"one.safetensors","c":"two.safetensors"})") == std::nullopt);
  CHECK(with_index(R"({"a":"one.safetensors","d":"one.safetensors","b":"two.safetensors"})") == std::nullopt);
  CHECK(Checkpoint::open(folder.path())->names() == std::vector<std::string>{"a", "b", "c"});
  CHECK(with_index(R"({"a":"none.safetensors"})") == ErrorCode::not_found);
  CHECK(with_index(R"({"c":"again.safetensors","a":"two.safetensors"})") == std::nullopt);
  const auto twice = Checkpoint::open(folder.path());
  CHECK((twice->size_bytes() == 2 && twice->find("c")->bytes.front() == std::byte{5}));  // of the last file
  CHECK(with_index(R"({"a":"../one.safetensors"})") == ErrorCode::malformed);
  CHECK(with_index(R"({"a":"/one.safetensors"})") == ErrorCode::malformed);
  CHECK(with_index(R"({"a":""})") == ErrorCode::malformed);
  CHECK(with_index(R"({"a":1})") == ErrorCode::malformed);
  CHECK(with_index("[]") == ErrorCode::malformed);
  folder.write("model.safetensors.index.json", "{}");
  CHECK(code_of(folder.path()) == ErrorCode::malformed);
}

TEST_CASE("a model from memory that is cut or changed anywhere opens or is refused",
          "[format][checkpoint][mutations]") {
  const Bytes file = tiny_llama_gguf().tensor("rope_freqs.weight", {1}, 0, float_bytes(1)).build();
  survive_mutations(file, 2000, [](const Bytes& bytes) {
    const auto checkpoint = Checkpoint::from_gguf_bytes(bytes, "memory");
    sum_of(checkpoint->gguf()->tensors);
  });
}
