// SPDX-License-Identifier: Apache-2.0
#include "synthetic_model.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <tulle/core/json.hpp>
#include <tulle/format/encoding/code_scales.hpp>
#include <tulle/format/encoding/encodings.hpp>
#include <tulle/model/families.hpp>

#include "linear_tensors.hpp"

namespace {

/// The parts of config.json that give a model its shape, by the index in `synthetic_shapes`.
constexpr std::array<std::string_view, synthetic_shapes.size()> configs{
    R"({"model_type": "codegen", "vocab_size": 51200, "n_embd": 1024, "n_layer": 20, "n_head": 16, "n_positions": 2048,
        "rotary_dim": 32})",
    R"({"model_type": "codegen", "vocab_size": 51200, "n_embd": 4096, "n_layer": 33, "n_head": 16, "n_positions": 2048,
        "rotary_dim": 64})",
    R"({"model_type": "llama", "vocab_size": 32000, "hidden_size": 2048, "num_hidden_layers": 22,
        "num_attention_heads": 32, "num_key_value_heads": 4, "intermediate_size": 5632, "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0})",
    R"({"model_type": "llama", "vocab_size": 49152, "hidden_size": 576, "num_hidden_layers": 30,
        "num_attention_heads": 9, "num_key_value_heads": 3, "intermediate_size": 1536, "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-5, "rope_theta": 100000.0})",
    R"({"model_type": "olmoe", "vocab_size": 50304, "hidden_size": 2048, "num_hidden_layers": 16,
        "num_attention_heads": 16, "intermediate_size": 1024, "num_experts": 64, "num_experts_per_tok": 8,
        "max_position_embeddings": 4096})",
    R"({"model_type": "qwen3_moe", "vocab_size": 151936, "hidden_size": 2048, "num_hidden_layers": 12,
        "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "moe_intermediate_size": 768,
        "num_experts": 128, "num_experts_per_tok": 8, "norm_topk_prob": true, "max_position_embeddings": 40960,
        "rope_theta": 1000000.0})"};

/// Odd codes, so that no weight is zero unless pruned, of a size that keeps activations near 1.
I8Matrix random_matrix(std::size_t rows, std::size_t columns) {
  std::mt19937_64 random(rows * 1000003 + columns);
  const float scale = 1.0f / (74.0f * std::sqrt(static_cast<float>(columns)));
  I8Matrix matrix{rows, columns, std::vector<std::int8_t>(rows * columns), std::vector<float>(rows, scale)};
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < matrix.codes.size(); ++i) {
    bytes = i % 8 == 0 ? random() : bytes >> 8;
    matrix.codes[i] = static_cast<std::int8_t>(bytes | 1);
  }
  return matrix;
}

}  // namespace

tulle::Architecture synthetic_architecture(std::string_view shape) {
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (synthetic_shapes[i] == shape) return tulle::describe_model(tulle::parse_json(configs[i], shape), shape);
  }
  tulle::fail(tulle::ErrorCode::invalid_argument, "unknown shape \"", shape, "\"");
}

SyntheticTensors::SyntheticTensors(const tulle::Architecture& model, const Pruning& pruning) {
  for (const LinearTensor& tensor : linear_tensors(model)) {
    add_matrix(tensor.name, tensor.rows, tensor.columns, pruning);
    if (tensor.has_bias) add_vector(tensor.name + ".bias", tensor.rows, 0);
  }
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const std::string prefix = model.layer_prefix(layer);
    const tulle::LayerSpec& spec = model.layers[layer];
    add_norm(prefix + model.names.attention_norm, model);
    if (!model.names.mlp_norm.empty()) add_norm(prefix + model.names.mlp_norm, model);
    if (spec.query_key_norm != tulle::QueryKeyNorm::none) {
      add_vector(prefix + model.names.query_norm + ".weight", model.query_norm_size(spec), 1);
      add_vector(prefix + model.names.key_norm + ".weight", model.key_norm_size(spec), 1);
    }
    if (spec.is_mixture()) add_router(prefix + model.names.router, spec.experts.count, model.hidden);
  }
  add_norm(model.names.final_norm, model);

  std::mt19937 random;
  embedding_.resize(model.vocabulary * model.hidden);
  for (tulle::Half& value : embedding_) {
    value = tulle::to_half(static_cast<float>(random() >> 16) * 0x1p-15f - 1);
  }
  add(model.names.embedding + ".weight", tulle::DType::f16, {model.vocabulary, model.hidden}, embedding_.data());
}

const tulle::EncodedTensor* SyntheticTensors::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::vector<std::string> SyntheticTensors::names() const {
  std::vector<std::string> all;
  for (const auto& [name, tensor] : tensors_) all.push_back(name);
  return all;
}

std::shared_ptr<const tulle::WeightSource> SyntheticTensors::matrix(const std::string& name) const {
  return tulle::open_matrix(*this, name);
}

void SyntheticTensors::add(const std::string& name, tulle::DType dtype, std::vector<std::size_t> shape,
                           const void* bytes) {
  tulle::EncodedTensor tensor{name, dtype, std::move(shape), {}};
  tensor.bytes = {static_cast<const std::byte*>(bytes), tulle::dtype_bytes(dtype, tensor.elements(), name)};
  tensors_.emplace(name, std::move(tensor));
}

void SyntheticTensors::add_matrix(const std::string& name, std::size_t rows, std::size_t columns,
                                  const Pruning& pruning) {
  auto& matrix = matrices_[{rows, columns}];
  if (matrix.codes.empty()) {
    matrix = random_matrix(rows, columns);
    prune(matrix, pruning);
  }
  add(name + ".weight", tulle::DType::i8, {rows, columns}, matrix.codes.data());
  add(tulle::scale_name(name + ".weight"), tulle::DType::f32, {rows, 1}, matrix.scales.data());
}

void SyntheticTensors::add_vector(const std::string& name, std::size_t size, float value) {
  auto& values = vectors_[{size, value}];
  values.resize(size, value);
  add(name, tulle::DType::f32, {size}, values.data());
}

void SyntheticTensors::add_router(const std::string& name, std::size_t experts, std::size_t hidden) {
  std::mt19937 random(static_cast<std::uint32_t>(routers_.size()));
  std::vector<float>& scores = routers_.emplace_back(experts * hidden);
  for (float& score : scores) score = static_cast<float>(random() >> 8) * 0x1p-23f - 1;
  add(name + ".weight", tulle::DType::f32, {experts, hidden}, scores.data());
}

void SyntheticTensors::add_norm(const std::string& name, const tulle::Architecture& model) {
  add_vector(name + ".weight", model.hidden, 1);
  if (model.norm == tulle::NormKind::layer) add_vector(name + ".bias", model.hidden, 0);
}
