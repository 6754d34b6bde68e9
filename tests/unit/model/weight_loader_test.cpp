// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/weight_loader.hpp>

#include <catch2/catch_all.hpp>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tulle/kernel/any_kernel.hpp>

#include "unit/format/file_builder.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;
using testing::MemorySource;

namespace {

const std::string layer0 = "model.layers.0.";

Architecture llama(const Json& changes = Json::object()) {
  Json config = testing::llama_config();
  config.update(changes);
  return describe_model(config, "config.json");
}

ModelWeights<AnyKernel> load(const TensorSource& source, const Architecture& model, std::string_view kernel = "auto") {
  LoadOptions options;
  options.pack.kernel = kernel;
  return load_weights<AnyKernel>(source, model, options);
}

std::vector<float> row_of(const Linear<AnyKernel>& linear, std::size_t row) {
  std::vector<float> out(linear.columns());
  for (const auto& part : linear.parts) {
    if (row >= part.first_row && row < part.first_row + part.weights.rows()) {
      AnyKernel::unpack_row(part.weights, row - part.first_row, out.data());
    }
  }
  return out;
}

/// Loading must fail with this code and a message that names the tensor.
void check_refused(const TensorSource& source, const Architecture& model, ErrorCode code, const std::string& tensor) {
  CAPTURE(tensor);
  try {
    (void)load(source, model);
    FAIL("loaded");
  } catch (const Error& error) {
    const std::string message = error.what();
    CAPTURE(message);
    CHECK(error.code() == code);
    CHECK(message.find(tensor) != std::string::npos);
  }
}

/// Every row of every matrix.
std::vector<float> all_rows(const ModelWeights<AnyKernel>& weights) {
  std::vector<float> all;
  weights.for_each_linear([&](const Linear<AnyKernel>& linear) {
    for (std::size_t row = 0; row < linear.rows(); ++row) {
      const std::vector<float> values = row_of(linear, row);
      all.insert(all.end(), values.begin(), values.end());
    }
    all.insert(all.end(), linear.bias.begin(), linear.bias.end());
  });
  return all;
}

}  // namespace

TEST_CASE("a source that reads piece by piece gives the same weights, and no more is held than what is packed",
          "[model][weight_loader]") {
  for (const DType dtype : {DType::f32, DType::i8}) {
    for (const bool tied : {false, true}) {
      CAPTURE(dtype_name(dtype), tied);
      const Architecture model = llama({{"tie_word_embeddings", tied}, {"attention_bias", true}});
      const MemorySource source = testing::random_tensors(
          model, [&](std::string_view name) { return name.starts_with("model.layers") ? dtype : DType::f32; });
      const testing::LentSource lent(source);
      for (const std::string_view kernel : {"auto", "dense_i8"}) {
        const auto expected = load(source, model, kernel), weights = load(lent, model, kernel);
        CHECK(all_rows(weights) == all_rows(expected));
        std::vector<float> row(model.hidden), expected_row(model.hidden);
        weights.embed(7, row.data());
        expected.embed(7, expected_row.data());
        CHECK(row == expected_row);
        CHECK(lent.still_held() == 0);
        // Gate and up together, or the embedding where the layers are a fourth of its type.
        CHECK(lent.max_held == (dtype == DType::f32 ? 2 * model.layers[0].intermediate : model.vocabulary) *
                                   model.hidden * sizeof(float));
      }
    }
  }
}

TEST_CASE("query, key and value are stacked, gate and up too, with their biases", "[model][weight_loader]") {
  const Architecture model = llama({{"attention_bias", true}, {"mlp_bias", true}});
  const MemorySource source = testing::random_tensors(model);
  const auto weights = load(source, model);
  REQUIRE(weights.layers.size() == 2);
  const auto& layer = weights.layers[1];
  const std::string prefix = "model.layers.1.";
  REQUIRE(layer.query_key_value.parts.size() == 1);
  CHECK(layer.query_key_value.rows() == 128);
  CHECK(row_of(layer.query_key_value, 5) == source.row(prefix + "self_attn.q_proj.weight", 5));
  CHECK(row_of(layer.query_key_value, 64 + 5) == source.row(prefix + "self_attn.k_proj.weight", 5));
  CHECK(row_of(layer.query_key_value, 96 + 31) == source.row(prefix + "self_attn.v_proj.weight", 31));
  CHECK(row_of(layer.up, 95) == source.row(prefix + "mlp.gate_proj.weight", 95));
  CHECK(row_of(layer.up, 96) == source.row(prefix + "mlp.up_proj.weight", 0));
  CHECK(row_of(layer.output, 63) == source.row(prefix + "self_attn.o_proj.weight", 63));
  CHECK(row_of(layer.down, 63) == source.row(prefix + "mlp.down_proj.weight", 63));
  CHECK(row_of(weights.head, 99) == source.row("lm_head.weight", 99));
  REQUIRE(layer.query_key_value.bias.size() == 128);
  const std::vector<float> bias = source.floats(prefix + "self_attn.v_proj.bias");
  CHECK(std::vector<float>(layer.query_key_value.bias.begin() + 96, layer.query_key_value.bias.end()) == bias);
  CHECK(layer.up.bias.size() == 192);
  CHECK(layer.down.bias.size() == 64);
  CHECK(layer.output.bias.size() == 64);
  CHECK(weights.head.bias.empty());
  CHECK(source.released > 0);
}

TEST_CASE("a tied head is the embedding; both exist once where the kernel keeps every value",
          "[model][weight_loader]") {
  const Architecture model = llama({{"tie_word_embeddings", true}});
  const MemorySource source = testing::random_tensors(model);
  std::vector<float> row(64);
  const auto shared = load(source, model);
  CHECK_FALSE(shared.embedding.has_value());
  shared.embed(99, row.data());
  CHECK(row == source.row("model.embed_tokens.weight", 99));
  const auto quantized = load(source, model, "dense_i8");
  CHECK(quantized.embedding.has_value());
  CHECK(quantized.head.parts.front().weights.kernel_name() == "dense_i8");
}

TEST_CASE("embedding and positions in F32 follow a kernel that quantizes", "[model][weight_loader]") {
  Architecture model = llama();
  model.names.position = "model.positions";
  model.learned_positions = 20;
  MemorySource source = testing::random_tensors(model);
  source.put_random("model.positions.weight", DType::f32, 20, 64, 1);
  const auto check = [&](const Embedding& table, const std::string& name, std::size_t rows, bool rounds) {
    CHECK(table.size_bytes() == rows * 64 * (rounds ? sizeof(Half) : sizeof(float)));
    std::vector<float> wanted = source.row(name, 7), row(64);
    for (float& value : wanted) value = rounds ? to_float(to_half(value)) : value;
    table.row(7, row.data());
    CHECK(row == wanted);
  };
  for (const std::string_view kernel : {"auto", "dense_f32", "dense_f16", "i8", "i4", "dense_i4", "bitmask_i8"}) {
    CAPTURE(kernel);
    const bool rounds = kernel.ends_with("i8") || kernel.ends_with("i4");
    const auto weights = load(source, model, kernel);
    check(*weights.embedding, "model.embed_tokens.weight", 100, rounds);
    check(*weights.positions, "model.positions.weight", 20, rounds);
  }
  // Layers of codes on their own kernel: every value is kept.
  const MemorySource codes = testing::random_tensors(
      llama(), [](std::string_view name) { return name.ends_with("_proj") ? DType::i8 : DType::f32; });
  CHECK(load(codes, llama()).embedding->size_bytes() == 100 * 64 * sizeof(float));
}

TEST_CASE("an untied head is a tensor of its own", "[model][weight_loader]") {
  const Architecture model = llama();
  const MemorySource source = testing::random_tensors(model);
  const auto weights = load(source, model);
  std::vector<float> row(64);
  weights.embed(3, row.data());
  CHECK(row == source.row("model.embed_tokens.weight", 3));
  CHECK(row_of(weights.head, 3) == source.row("lm_head.weight", 3));
  CHECK(row != source.row("lm_head.weight", 3));
}

TEST_CASE("tensors of different types in one stack become parts where panels allow it", "[model][weight_loader]") {
  const auto dtype_of = [](std::string_view name) {
    return name.ends_with("v_proj")                               ? DType::q8_0
           : name.ends_with("k_proj") || name.ends_with("q_proj") ? DType::q4_1
                                                                  : DType::f32;
  };
  const Architecture model = llama();
  const MemorySource source = testing::random_tensors(model, dtype_of);
  const auto weights = load(source, model);
  const auto& parts = weights.layers[0].query_key_value.parts;
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].weights.kernel_name() == "dense_i4");
  CHECK(parts[1].weights.kernel_name() == "dense_i4");
  CHECK(parts[2].weights.kernel_name() == "dense_i8");
  CHECK(parts[2].first_row == 96);
  CHECK(parts[2].name == layer0 + "self_attn.v_proj");
  CHECK(row_of(weights.layers[0].query_key_value, 96 + 3) == source.row(layer0 + "self_attn.v_proj.weight", 3));
  CHECK(row_of(weights.layers[0].query_key_value, 64 + 3) == source.row(layer0 + "self_attn.k_proj.weight", 3));

  // Heads of 12: the key rows would begin inside a panel, so all become one matrix.
  const Architecture odd = llama({{"head_dim", 12}, {"num_attention_heads", 1}, {"num_key_value_heads", 1}});
  const auto odd_type = [](std::string_view name) { return name.ends_with("v_proj") ? DType::q8_0 : DType::f32; };
  const MemorySource odd_source = testing::random_tensors(odd, odd_type);
  const auto odd_weights = load(odd_source, odd);
  REQUIRE(odd_weights.layers[0].query_key_value.parts.size() == 1);
  CHECK(odd_weights.layers[0].query_key_value.rows() == 36);
  CHECK(row_of(odd_weights.layers[0].query_key_value, 24 + 3) == odd_source.row(layer0 + "self_attn.v_proj.weight", 3));
}

TEST_CASE("rows and biases come in the order that their tensors name", "[model][weight_loader]") {
  const Architecture model = llama({{"attention_bias", true}});
  MemorySource source = testing::random_tensors(model);
  const std::vector<float> query_bias = source.floats(layer0 + "self_attn.q_proj.bias");
  for (const char* kind : {".weight", ".bias"}) {
    source.put_order(layer0 + "self_attn.q_proj" + kind, RowOrder::halves_of_pairs(4, 16));
    source.put_order(layer0 + "self_attn.k_proj" + kind, RowOrder::halves_of_pairs(2, 16));
  }
  const auto weights = load(source, model);
  const auto& linear = weights.layers[0].query_key_value;
  for (std::size_t head = 0; head < 4; ++head) {
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(row_of(linear, 16 * head + i) == source.row(layer0 + "self_attn.q_proj.weight", 16 * head + 2 * i));
      CHECK(row_of(linear, 16 * head + 8 + i) == source.row(layer0 + "self_attn.q_proj.weight", 16 * head + 2 * i + 1));
      CHECK(linear.bias[16 * head + 8 + i] == query_bias[16 * head + 2 * i + 1]);
    }
  }
  CHECK(row_of(linear, 64 + 9) == source.row(layer0 + "self_attn.k_proj.weight", 3));
  CHECK(row_of(linear, 96 + 9) == source.row(layer0 + "self_attn.v_proj.weight", 9));
}

TEST_CASE("rows and biases come in the order that the architecture names", "[model][weight_loader]") {
  Architecture model = llama({{"attention_bias", true}});
  const MemorySource source = testing::random_tensors(model);
  model.key_order = RowOrder::halves_of_pairs(2, 16);
  const auto weights = load(source, model);
  const auto& linear = weights.layers[0].query_key_value;
  CHECK(row_of(linear, 64 + 9) == source.row(layer0 + "self_attn.k_proj.weight", 3));
  CHECK(linear.bias[64 + 9] == source.floats(layer0 + "self_attn.k_proj.bias")[3]);
  CHECK(row_of(linear, 9) == source.row(layer0 + "self_attn.q_proj.weight", 9));
}

// transformers' CodeGenAttention: the output of qkv_proj is mp_num blocks; each splits into query, value, key.
TEST_CASE("CodeGen's fused tensor is blocks of query, value and key rows", "[model][weight_loader]") {
  const Architecture model = describe_model(testing::codegen_config(), "config.json");
  const MemorySource source = testing::random_tensors(model);
  const auto weights = load(source, model);
  const auto& linear = weights.layers[0].query_key_value;
  REQUIRE(linear.rows() == 192);
  const std::string name = "transformer.h.0.attn.qkv_proj.weight";
  // Two blocks of 96 rows, 32 (two heads of 16) of each kind.
  for (const std::size_t block : {0, 1}) {
    for (const std::size_t row : {0, 15, 31}) {
      CHECK(row_of(linear, block * 32 + row) == source.row(name, block * 96 + row));
      CHECK(row_of(linear, 128 + block * 32 + row) == source.row(name, block * 96 + 32 + row));
      CHECK(row_of(linear, 64 + block * 32 + row) == source.row(name, block * 96 + 64 + row));
    }
  }
  CHECK(weights.head.bias.size() == 70);
  CHECK(weights.layers[0].mlp_norm.weight.empty());
  CHECK(weights.layers[0].attention_norm.bias.size() == 64);
}

TEST_CASE("a missing tensor is an error that names it", "[model][weight_loader]") {
  const Architecture biased = llama({{"attention_bias", true}, {"mlp_bias", true}});
  const MemorySource whole = testing::random_tensors(biased);
  for (const std::string& name : whole.names()) {
    MemorySource source = testing::random_tensors(biased);
    source.erase(name);
    check_refused(source, biased, ErrorCode::not_found, name);
  }
  const Architecture codegen = describe_model(testing::codegen_config(), "config.json");
  for (const std::string& name : testing::random_tensors(codegen).names()) {
    MemorySource source = testing::random_tensors(codegen);
    source.erase(name);
    check_refused(source, codegen, ErrorCode::not_found, name);
  }
}

TEST_CASE("a tensor of the wrong shape is an error that names it", "[model][weight_loader]") {
  const Architecture model = llama({{"attention_bias", true}});
  for (const std::string& name : testing::random_tensors(model).names()) {
    MemorySource source = testing::random_tensors(model);
    std::vector<std::size_t> shape = source.find(name)->shape;
    shape.front() += 1;
    source.put_floats(name, shape, std::vector<float>(shape.front() * (shape.size() == 2 ? shape[1] : 1)));
    check_refused(source, model, ErrorCode::malformed, name);
  }
  MemorySource transposed = testing::random_tensors(model);
  transposed.put_random(layer0 + "mlp.down_proj.weight", DType::f32, 96, 64, 1);
  check_refused(transposed, model, ErrorCode::malformed, layer0 + "mlp.down_proj.weight");
  MemorySource flat = testing::random_tensors(model);
  flat.put_floats(layer0 + "mlp.down_proj.weight", {96 * 64}, std::vector<float>(96 * 64));
  check_refused(flat, model, ErrorCode::malformed, layer0 + "mlp.down_proj.weight");
}

TEST_CASE("a tensor of a type that cannot be there is an error that names it", "[model][weight_loader]") {
  const Architecture model = llama();
  MemorySource matrix = testing::random_tensors(model);
  matrix.put(layer0 + "mlp.up_proj.weight", DType::boolean, {96, 64}, std::vector<std::byte>(96 * 64));
  check_refused(matrix, model, ErrorCode::unsupported, layer0 + "mlp.up_proj.weight");
  MemorySource norm = testing::random_tensors(model);
  norm.put("model.norm.weight", DType::q8_0, {64}, std::vector<std::byte>(2 * 34));
  check_refused(norm, model, ErrorCode::unsupported, "model.norm.weight");
}

TEST_CASE("int8 rows come with a scale per row or one for all", "[model][weight_loader]") {
  const Architecture model = llama();
  const auto dtype_of = [](std::string_view name) { return name.ends_with("_proj") ? DType::i8 : DType::f32; };
  MemorySource source = testing::random_tensors(model, dtype_of);
  const std::string name = layer0 + "mlp.down_proj.weight";
  const auto codes = source.row(name, 5);
  const std::vector<float> scales = source.floats(name + "_scale");
  const auto check_row = [&](float scale) {
    const auto weights = load(source, model);
    CHECK(weights.layers[0].down.parts.front().weights.kernel_name() == "dense_i8");
    const auto row = row_of(weights.layers[0].down, 5);
    for (std::size_t column = 0; column < codes.size(); ++column) CHECK(row[column] == codes[column] * scale);
  };
  check_row(scales[5]);
  source.put_floats(name + "_scale", {1}, {0.25f});
  check_row(0.25f);
  source.put_floats(name + "_scale", {63, 1}, std::vector<float>(63, 1.0f));
  check_refused(source, model, ErrorCode::malformed, name + "_scale");
  source.erase(name + "_scale");
  check_refused(source, model, ErrorCode::not_found, name + "_scale");
}

TEST_CASE("an embedding of int8 codes has its rows' scales", "[model][weight_loader]") {
  const Architecture model = llama();
  MemorySource source = testing::random_tensors(model);
  source.put_random("model.embed_tokens.weight", DType::i8, 100, 64, 1);
  const auto codes = source.row("model.embed_tokens.weight", 7);
  const float scale = source.floats("model.embed_tokens.weight_scale")[7];
  const auto weights = load(source, model);
  std::vector<float> row(64);
  weights.embed(7, row.data());
  for (std::size_t column = 0; column < 64; ++column) CHECK(row[column] == codes[column] * scale);
}

TEST_CASE("loading tells how far it is", "[model][weight_loader]") {
  const Architecture model = llama();
  const MemorySource source = testing::random_tensors(model);
  std::vector<double> fractions;
  LoadOptions options;
  options.progress = [&](std::string_view, double fraction) { fractions.push_back(fraction); };
  (void)load_weights<AnyKernel>(source, model, options);
  CHECK(fractions == std::vector<double>{0.5, 1.0});
}

TEST_CASE("any number of threads loads the same model, and only the caller's tells how far it is",
          "[model][weight_loader]") {
  const Architecture model = llama();
  const MemorySource source = testing::random_tensors(model);
  ThreadPool own(2);
  std::vector<std::vector<float>> loaded;
  for (const std::size_t threads : {1, 0, 3, 2}) {
    LoadOptions options;
    options.threads = threads;
    if (threads == 2) options.pack.pool = &own;
    bool on_this_thread = true;
    options.progress = [&, here = std::this_thread::get_id()](std::string_view, double) {
      on_this_thread = on_this_thread && std::this_thread::get_id() == here;
    };
    loaded.push_back(all_rows(load_weights<AnyKernel>(source, model, options)));
    CHECK(on_this_thread);
  }
  for (const auto& rows : loaded) CHECK(rows == loaded.front());
  LoadOptions too_many;
  too_many.threads = 100000;
  CHECK(test::error_of([&] { (void)load_weights<AnyKernel>(source, model, too_many); }) == ErrorCode::invalid_argument);
}
