// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/model.hpp>

#include <array>
#include <catch2/catch_all.hpp>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "unit/format/file_builder.hpp"
#include "unit/generate/golden_model.hpp"
#include "unit/generate/tiny_pipeline.hpp"

using namespace tulle;
using testing::GoldenModel;
using testing::small_engine;
using testing::tiny_engine;
using testing::tiny_model;

namespace {

/// One in each form that Tulle writes: tests/golden/make_forms.py.
constexpr std::array written_forms{"bitmask-int8", "bitmask-int4", "pack-quantized-int4", "int-quantized-int8",
                                   "mixed-precision"};

/// Every position in one pass, in chunks, and one by one through the cache; then the greedy continuation.
void check_against_transformers(const GoldenModel& golden, std::string_view kernel, double tolerance) {
  CAPTURE(golden.name, kernel);
  for (const std::size_t chunk : {golden.tokens.size(), std::size_t{64}, std::size_t{7}, std::size_t{1}}) {
    EngineOptions options = small_engine();
    options.prefill_chunk = chunk;
    options.sequence_length = golden.tokens.size();  // which rotary tables may follow, as those of transformers do
    auto engine = tiny_engine(golden.name, options, kernel);
    CAPTURE(chunk);
    const auto found = testing::prompt_logits(*engine, golden.tokens);
    REQUIRE(found.size() == golden.logits.size());
    CHECK(testing::largest_difference(found, golden.logits) <= tolerance * testing::range_of(golden.logits));
    SequenceOptions sequence;
    sequence.max_new_tokens = golden.greedy.size();
    sequence.ignore_eos = true;
    options.sequence_length = golden.prompt.size() + golden.greedy.size();
    engine = tiny_engine(golden.name, options, kernel);
    const SequenceId id = engine->start(golden.prompt, SamplerChain(), sequence);
    CHECK(testing::finish_sequence(*engine, id).tokens == golden.greedy);
  }
}

}  // namespace

TEST_CASE("every model of the contract that all languages keep gives the golden tokens", "[generate][model][golden]") {
  std::ifstream contract(TULLE_GOLDEN "/contract.txt");
  std::string name, assembly;
  int models = 0;
  for (; contract >> name >> assembly; ++models) {
    CAPTURE(name, assembly);
    const GoldenModel golden(name);
    const std::size_t slash = assembly.find('/');
    const std::string cache = slash == std::string::npos ? "contiguous" : assembly.substr(slash + 1);
    const std::size_t mark = cache.find('_');
    EngineOptions options = small_engine();
    options.cache = cache.substr(0, mark);
    options.cache_dtype = mark == std::string::npos ? "auto" : cache.substr(mark + 1);
    SequenceOptions sequence;
    sequence.max_new_tokens = golden.greedy.size();
    sequence.ignore_eos = true;
    const auto engine = tiny_engine(golden.name, options, assembly.substr(0, slash));
    const SequenceId id = engine->start(golden.prompt, SamplerChain(), sequence);
    CHECK(testing::finish_sequence(*engine, id).tokens == golden.greedy);
  }
  CHECK(models > 5);
}

TEST_CASE("logits and greedy tokens of every family are those of transformers", "[generate][model][golden]") {
  std::size_t listed = 0;
  for (const testing::GoldenFamily& family : testing::golden_families()) {
    for (const auto* names : {&family.directories, &family.gguf}) {
      for (const std::string& name : *names) {
        const GoldenModel golden(name);
        CHECK(tiny_model(name)->architecture().family == family.name);
        check_against_transformers(golden, "dense_f32", 1e-4);
        if (name.find("-mxfp4") == std::string::npos)
          check_against_transformers(golden, "auto", 1e-4);  // whose codes run in integers
      }
    }
    CHECK(!family.directories.empty());
    ++listed;
  }
  CHECK(listed == families().size());
}

// A bound of the mean, as close as Llama's is: activations are rounded to 8 bits.
TEST_CASE("every family runs in integers within the rounding of weights and activations", "[generate][model][golden]") {
  for (const testing::GoldenFamily& family : testing::golden_families()) {
    const GoldenModel golden(family.directories.front());
    EngineOptions options = small_engine();
    options.sequence_length = golden.tokens.size();
    const auto engine = tiny_engine(golden.name, options, "dense_i8");
    const double difference =
        testing::relative_difference(testing::prompt_logits(*engine, golden.tokens), golden.logits);
    CAPTURE(family.name, difference);
    CHECK(difference < 0.1);
    CHECK(difference > 1e-4);  // otherwise it did not run in integers
  }
}

TEST_CASE("every instruction set gives the logits of transformers", "[generate][model][golden]") {
  for (const InstructionSet set : instruction_sets) {
    if (!machine_has(set)) continue;
    const testing::TinyModelsOn active(set);
    CAPTURE(instruction_set_name(set));
    for (const std::string name : {"codegen-tiny", "llama-tiny-tied", "gguf/bf16.gguf"}) {
      const GoldenModel golden(name);
      const auto engine = tiny_engine(name, small_engine());
      CHECK(testing::largest_difference(testing::prompt_logits(*engine, golden.tokens), golden.logits) <=
            1e-4 * testing::range_of(golden.logits));
    }
  }
}

TEST_CASE("quantized files in f32 have the logits of transformers on their dequantized values",
          "[generate][model][golden]") {
  for (const std::string name :
       {"gguf/q8_0.gguf", "gguf/q4_0.gguf", "gguf/q4_1.gguf", "gguf/q5_0.gguf", "gguf/q5_1.gguf", "gguf/q5_k.gguf",
        "gguf/q6_k.gguf", "gguf/k_quants.gguf", "gguf/low_bits.gguf", "gguf/four_bits.gguf", "llama-tiny-int8"}) {
    check_against_transformers(GoldenModel(name), "dense_f32", 1e-4);
  }
  for (const char* name : written_forms) check_against_transformers(GoldenModel(name), "dense_f32", 1e-4);
  check_against_transformers(GoldenModel("gguf/numbers.gguf"), "auto", 1e-4);  // F64, and norms of integers
}

TEST_CASE("quantized files run in integers within the rounding of their activations", "[generate][model][golden]") {
  std::vector<std::string> names{"gguf/q8_0.gguf",     "gguf/q4_0.gguf",      "gguf/q4_1.gguf", "gguf/q5_0.gguf",
                                 "gguf/q5_1.gguf",     "gguf/q5_k.gguf",      "gguf/q6_k.gguf", "gguf/k_quants.gguf",
                                 "gguf/low_bits.gguf", "gguf/four_bits.gguf", "llama-tiny-int8"};
  names.insert(names.end(), written_forms.begin(), written_forms.end());
  for (const std::string& name : names) {
    const GoldenModel golden(name);
    for (const InstructionSet set : instruction_sets) {
      if (!machine_has(set)) continue;
      const testing::TinyModelsOn active(set);
      const auto engine = tiny_engine(name, small_engine());
      const double difference =
          testing::relative_difference(testing::prompt_logits(*engine, golden.tokens), golden.logits);
      CAPTURE(name, instruction_set_name(set), difference);
      CHECK(difference < 0.03);
      CHECK(difference > 1e-4);  // otherwise they did not run in integers
    }
  }
}

// The ids were searched so that no activation lies near a rounding boundary: see tests/golden/README.md.
TEST_CASE("a checkpoint quantized per token has the logits of compressed-tensors' arithmetic",
          "[generate][model][golden]") {
  const Json facts = testing::golden_json("models/llama-tiny-int8/golden.json");
  const auto tokens = facts["w8a8_127_tokens"].get<std::vector<Token>>();
  const auto wanted = testing::golden_floats("models/llama-tiny-int8/logits_w8a8_127.npy");
  for (const InstructionSet set : instruction_sets) {
    if (!machine_has(set)) continue;
    const testing::TinyModelsOn active(set);
    CAPTURE(instruction_set_name(set));
    bool in_ell = false;  // which `auto` takes on some sets; its activations are finer than int8
    const auto model = Model<AnyKernel>::load(TULLE_GOLDEN "/models/llama-tiny-int8");
    model->weights().for_each_linear([&](const auto& linear) {
      for (const auto& part : linear.parts) in_ell = in_ell || part.weights.kernel_name() == EllI8::name;
    });
    const auto engine = tiny_engine("llama-tiny-int8", small_engine());
    CHECK(testing::largest_difference(testing::prompt_logits(*engine, tokens), wanted) <= (in_ell ? 0.5 : 2e-4));
  }
}

TEST_CASE("int8 activations per token stay as near to transformers as transformers to itself",
          "[generate][model][golden]") {
  const GoldenModel golden("llama-tiny-int8");
  const auto theirs = testing::golden_floats("models/llama-tiny-int8/logits_w8a8.npy");
  const auto engine = tiny_engine("llama-tiny-int8", small_engine());
  const auto ours = testing::prompt_logits(*engine, golden.tokens);
  const double deviation = golden.facts["logits_std"].get<double>();
  const double rms = testing::relative_difference(ours, theirs) * deviation;
  CAPTURE(rms);
  CHECK(rms < 2 * golden.facts["w8a8_rms_difference_under_1e-6_noise"].get<double>());
}

TEST_CASE("the kernel of a matrix is the one that keeps its file's values, or the one asked for", "[generate][model]") {
  const auto kernels = [](const std::string& name, std::string_view kernel) {
    std::vector<std::string> names;
    tiny_model(name, kernel)->weights().for_each_linear([&](const Linear<AnyKernel>& linear) {
      for (const auto& part : linear.parts) names.emplace_back(part.weights.kernel_name());
    });
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(kernels("gguf/f32.gguf", "auto") == Names{"dense_f32"});
  CHECK(kernels("gguf/f16.gguf", "auto") == Names{"dense_f16"});
  CHECK(kernels("gguf/bf16.gguf", "auto") == Names{"dense_f16"});
  CHECK(kernels("gguf/q8_0.gguf", "auto") == Names{"dense_i8"});
  CHECK(kernels("gguf/q6_k.gguf", "auto") == Names{"dense_i8"});
  CHECK(kernels("gguf/k_quants.gguf", "auto") == Names{"dense_i4", "dense_i8"});
  CHECK(kernels("gguf/low_bits.gguf", "auto") == Names{"dense_i4"});
  CHECK(kernels("gguf/four_bits.gguf", "auto") == Names{"dense_i8"});
  CHECK(kernels("gguf/q4_0.gguf", "auto") == Names{"dense_i4"});
  CHECK(kernels("gguf/q4_1.gguf", "auto") == Names{"dense_i4", "dense_i8"});
  for (const std::string& name : kernels("llama-tiny-int8", "auto")) {
    CHECK((name == "dense_f32" || name.ends_with("_i8")));  // which layout, its zeros and the instruction set decide
  }
  for (const std::string& name : kernels("llama-tiny-int8", "i8")) CHECK(name.ends_with("_i8"));
  CHECK(kernels("llama-tiny-int8", "dense_i4") == Names{"dense_i4"});
  CHECK(kernels("codegen-tiny", "dense_i8") == Names{"dense_i8"});
  for (const std::string& name : kernels("bitmask-int8", "auto")) CHECK((name == "dense_f16" || name.ends_with("_i8")));
  CHECK(kernels("pack-quantized-int4", "auto") == Names{"dense_f16", "dense_i4"});
  for (const InstructionSet set : instruction_sets) {
    if (instruction_set_name(set) != "avx2" || !machine_has(set)) continue;
    const testing::TinyModelsOn active(set);
    CHECK(kernels("bitmask-int4", "auto") == Names{"8:16_gap4_i4", "dense_f16", "dense_i4"});
  }
}

TEST_CASE("end tokens come from the generation config where it has them", "[generate][model]") {
  CHECK(tiny_model("llama-tiny-llama3")->architecture().eos == std::vector<Token>{2, 5, 9});
  CHECK(tiny_model("llama-tiny-tied")->architecture().eos == std::vector<Token>{2});
  CHECK(tiny_model("gguf/f32.gguf")->architecture().eos == std::vector<Token>{2, 0});  // 0: <|endoftext|>
  const test::TemporaryFolder folder;
  for (const std::string file : {"config.json", "model.safetensors"}) {
    std::filesystem::copy(TULLE_GOLDEN "/models/llama-tiny-linear/" + file, folder.path(file));
  }
  folder.write("generation_config.json", R"({"eos_token_id": [7, 8]})");
  CHECK(Model<AnyKernel>::load(folder.path())->architecture().eos == std::vector<Token>{7, 8});
  folder.write("generation_config.json", R"({"eos_token_id": 256})");
  const auto model = Model<AnyKernel>::load(folder.path());  // an id that can never be drawn
  CHECK(model->architecture().eos.empty());
  CHECK(model->architecture().impossible_eos == std::vector<Token>{256});
}

#if !defined(__EMSCRIPTEN__)
TEST_CASE("pytorch_model.bin gives the logits of transformers", "[generate][model][golden]") {
  check_against_transformers(GoldenModel("codegen-tiny-bin"), "dense_f32", 1e-4);
  check_against_transformers(GoldenModel("codegen-tiny-bin"), "auto", 1e-4);
}

TEST_CASE("pytorch_model.bin gives the logits of the same safetensors, to the bit", "[generate][model][golden]") {
  const GoldenModel golden("starcoder2-tiny");
  EngineOptions options = small_engine();
  options.sequence_length = golden.tokens.size();
  const auto logits_of = [&](const std::string& name) {
    return testing::prompt_logits(*tiny_engine(name, options, "auto"), golden.tokens);
  };
  const auto expected = logits_of(golden.name);
  for (const char* name : {"../pytorch/one", "../pytorch/shards"}) CHECK(logits_of(name) == expected);
}

TEST_CASE("model.onnx gives the logits of the same safetensors, to the bit", "[generate][model][golden]") {
  const GoldenModel golden("starcoder2-tiny");
  EngineOptions options = small_engine();
  options.sequence_length = golden.tokens.size();
  const auto logits_of = [&](const std::string& name) {
    return testing::prompt_logits(*tiny_engine(name, options, "dense_f32"), golden.tokens);
  };
  CHECK(logits_of("../onnx/scoped") == logits_of(golden.name));
  CHECK(logits_of("../onnx/quantized") == logits_of("../onnx/floats"));
}
#else
TEST_CASE("files that this version does not run say so", "[generate][model]") {
  const std::string message = test::message_of([] { (void)tiny_model("codegen-tiny-bin"); });
  CHECK(message.find("pytorch_model.bin") != std::string::npos);
}
#endif

TEST_CASE("LoRA adapters give the logits of PEFT's merged models", "[generate][model][golden]") {
  for (const std::string name : {"llama", "patterns", "two", "embedding", "gpt2", "phi3", "router", "tied"}) {
    const double tolerance = name == "tied" ? 2e-2 : 1e-4;  // PEFT rounds a change of a BF16 embedding twice

    const std::string folder = "lora/" + name + "/";
    const Json facts = testing::golden_json(folder + "case.json");
    const auto tokens = facts["tokens"].get<std::vector<Token>>();
    const std::vector<float> logits = testing::golden_floats(folder + "logits.npy");
    std::vector<AdapterPath> adapters;
    for (const Json& each : facts["adapters"]) {
      adapters.push_back({TULLE_GOLDEN "/" + folder + each["path"].get<std::string>(), each["scale"]});
    }
    std::vector<std::string> models{facts["model"]};
    if (!facts["gguf"].is_null()) models.push_back("gguf/" + facts["gguf"].get<std::string>() + ".gguf");
    for (const std::string& model : models) {
      CAPTURE(name, model);
      PackOptions pack;
      pack.kernel = kernel_choice("dense_f32");
      const auto checkpoint = Checkpoint::open(TULLE_GOLDEN "/models/" + model, adapters);
      EngineOptions options = small_engine();
      options.sequence_length = tokens.size();
      const auto engine = make_engine(Model<AnyKernel>::load(*checkpoint, pack), options);
      const auto found = testing::prompt_logits(*engine, tokens);
      CHECK(testing::largest_difference(found, logits) <= tolerance * testing::range_of(logits));
    }
  }
}

TEST_CASE("a LoRA adapter of a tied head is refused", "[generate][model]") {
  const test::TemporaryFolder folder;
  const std::string golden = TULLE_GOLDEN "/models/llama-tiny-gqa/";
  const auto model = Checkpoint::open(golden);
  const auto text_of = [&](const char* name) {
    const std::span<const std::byte> bytes = model->find(name)->bytes;
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const std::string head = text_of("lm_head.weight");
  for (const auto& entry : std::filesystem::directory_iterator(golden)) {
    std::string file(MappedFile(entry.path().string()).text());
    if (const std::size_t at = file.find(head); at != std::string::npos)
      file.replace(at, head.size(), text_of("model.embed_tokens.weight"));
    folder.write(entry.path().filename().string(), file);
  }
  Json config = testing::golden_json("models/llama-tiny-gqa/config.json");
  config["tie_word_embeddings"] = true;
  folder.write("config.json", config.dump());
  const auto load = [&](const std::string& adapter) {
    (void)Model<AnyKernel>::load(*Checkpoint::open(folder.path(), {{TULLE_GOLDEN "/lora/" + adapter, 1}}));
  };
  CHECK(test::error_of([&] { load("llama/adapter"); }) == std::nullopt);
  CHECK(test::error_of([&] { load("two/second"); }) == ErrorCode::unsupported);
}

TEST_CASE("loading a model reports its progress and a missing path", "[generate][model]") {
  double last = 0;
  (void)Model<AnyKernel>::load(TULLE_GOLDEN "/models/codegen-tiny", {}, [&](std::string_view, double fraction) {
    CHECK(fraction >= last);
    last = fraction;
  });
  CHECK(last == 1);
  CHECK(test::error_of([] { (void)Model<AnyKernel>::load(TULLE_GOLDEN "/models/no-such-model"); }) ==
        ErrorCode::not_found);
}
