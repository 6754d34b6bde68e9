// SPDX-License-Identifier: Apache-2.0
/// \file Small models of random weights in memory, for tests: the same on every machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/format/encoding/encodings.hpp>
#include <tulle/model/families.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

#include "unit/kernel/encoded_matrix.hpp"

namespace tulle::testing {

/// Tensors that a test puts in, changes and takes out.
class MemorySource final : public TensorSource {
 public:
  void put(const std::string& name, DType dtype, std::vector<std::size_t> shape, std::vector<std::byte> bytes) {
    Entry& entry = entries_[name];
    entry.bytes = std::move(bytes);
    entry.tensor = {name, dtype, std::move(shape), entry.bytes};
  }
  void put_order(const std::string& name, const RowOrder& order) { entries_.at(name).tensor.order = order; }
  void put_floats(const std::string& name, std::vector<std::size_t> shape, const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    put(name, DType::f32, std::move(shape), std::move(bytes));
  }
  void put_random(const std::string& name, DType dtype, std::size_t rows, std::size_t columns, std::uint32_t seed) {
    if (dtype == DType::f32) {
      // Outputs as large as the inputs: deeper layers then neither fade nor explode.
      const float most = 1.7f / std::sqrt(static_cast<float>(columns));
      return put_floats(name, {rows, columns}, random_floats(rows * columns, seed, -most, most));
    }
    EncodedMatrix matrix = random_matrix(dtype, rows, columns, seed);
    put(name, dtype, {rows, columns}, {matrix.bytes.begin() + 1, matrix.bytes.end()});
    if (dtype == DType::i8) put_floats(name + "_scale", {rows, 1}, random_floats(rows, seed + 1, 0.001f, 0.01f));
  }
  void erase(const std::string& name) { entries_.erase(name); }

  /// Row `row` of a matrix as floats, where it lies; without the scales that rows of I8 have.
  std::vector<float> row(const std::string& name, std::size_t row) const {
    const EncodedTensor& tensor = *find(name);
    RowList rows(tensor.shape.at(1));
    rows.append(tensor.bytes.data() + row * dtype_bytes(tensor.dtype, rows.columns(), name), tensor.dtype);
    std::vector<float> values(rows.columns());
    rows.decode_row(0, values.data());
    return values;
  }

  /// The elements of an F32 tensor.
  std::vector<float> floats(const std::string& name) const { return read_floats(*this, *find(name)); }

  const EncodedTensor* find(std::string_view name) const override {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second.tensor;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto& [name, entry] : entries_) all.push_back(name);
    return all;
  }
  std::shared_ptr<const WeightSource> matrix(const std::string& name) const override {
    return open_matrix(*this, name);
  }
  void release(std::span<const std::byte> bytes) const noexcept override { released += bytes.size(); }

  mutable std::size_t released = 0;

 private:
  struct Entry {
    std::vector<std::byte> bytes;
    EncodedTensor tensor;
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

/// The tensors of another source, read piece by piece: nothing is in memory but what is being packed.
class LentSource final : public TensorSource {
 public:
  explicit LentSource(const TensorSource& source) : source_(source) {
    for (const std::string& name : source.names()) {
      tensors_[name] = *source.find(name);
      tensors_[name].bytes = {};
    }
  }

  const EncodedTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override { return source_.names(); }
  std::shared_ptr<const WeightSource> matrix(const std::string& name) const override {
    return open_matrix(*this, name);
  }
  std::span<const std::byte> read(const EncodedTensor& tensor) const override {
    const std::span<const std::byte> bytes = source_.find(tensor.name)->bytes;
    held_.emplace_back(bytes.begin(), bytes.end());
    held_bytes_ += bytes.size();
    max_held = std::max(max_held, held_bytes_);
    return held_.back();
  }
  void release(std::span<const std::byte> bytes) const noexcept override {
    const auto is_same = [&](const auto& held) { return held.data() == bytes.data(); };
    const auto found = std::find_if(held_.begin(), held_.end(), is_same);
    if (found == held_.end()) return;
    held_bytes_ -= found->size();
    held_.erase(found);
  }

  std::size_t still_held() const { return held_bytes_; }
  mutable std::size_t max_held = 0;

 private:
  const TensorSource& source_;
  std::map<std::string, EncodedTensor, std::less<>> tensors_;
  mutable std::list<std::vector<std::byte>> held_;
  mutable std::size_t held_bytes_ = 0;
};

/// Two layers, four heads on two, 100 tokens.
inline Json llama_config() {
  return {{"model_type", "llama"},
          {"vocab_size", 100},
          {"hidden_size", 64},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"head_dim", 16},
          {"intermediate_size", 96},
          {"max_position_embeddings", 256},
          {"rms_norm_eps", 1e-5},
          {"tie_word_embeddings", false},
          {"bos_token_id", 1},
          {"eos_token_id", 2}};
}

/// Two layers, four heads in two blocks, half of every head rotates, 70 tokens.
inline Json codegen_config() {
  return {{"model_type", "codegen"}, {"vocab_size", 70}, {"n_embd", 64},       {"n_layer", 2}, {"n_head", 4},
          {"rotary_dim", 8},         {"n_inner", 96},    {"n_positions", 256}, {"mp_num", 2},  {"bos_token_id", 1},
          {"eos_token_id", 2}};
}

/// Two layers, the second without experts; three of five experts a row, and a shared one.
inline Json mixture_config() {
  Json config = llama_config();
  config["model_type"] = "qwen2_moe";
  config["num_experts"] = 5;
  config["num_experts_per_tok"] = 3;
  config["moe_intermediate_size"] = 48;
  config["shared_expert_intermediate_size"] = 32;
  config["mlp_only_layers"] = {1};
  return config;
}

/// Every tensor that `model` needs; matrices of the type that `dtype_of(name)` says.
inline MemorySource random_tensors(const Architecture& model, const std::function<DType(std::string_view)>& dtype_of) {
  MemorySource source;
  const WeightNames& names = model.names;
  std::uint32_t seed = 100;
  const auto matrix = [&](const std::string& name, std::size_t rows, std::size_t columns, bool bias) {
    source.put_random(name + ".weight", dtype_of(name), rows, columns, seed += 2);
    if (bias) source.put_floats(name + ".bias", {rows}, random_floats(rows, seed + 1, -0.3f, 0.3f));
  };
  const auto norm = [&](const std::string& name) {
    source.put_floats(name + ".weight", {model.hidden}, random_floats(model.hidden, seed += 2, 0.5f, 1.5f));
    if (model.norm == NormKind::layer && model.norm_bias) {
      source.put_floats(name + ".bias", {model.hidden}, random_floats(model.hidden, seed + 1, -0.2f, 0.2f));
    }
  };
  const auto vector = [&](const std::string& name, std::size_t size) {
    source.put_floats(name, {size}, random_floats(size, seed += 2, -0.5f, 0.5f));
  };
  matrix(names.embedding, model.vocabulary, model.embedding_columns(), false);
  if (!names.position.empty()) matrix(names.position, model.learned_positions, model.hidden, false);
  if (!names.embedding_norm.empty()) norm(names.embedding_norm);
  if (!names.project_embedding.empty()) {
    matrix(names.project_embedding, model.hidden, model.embedding_columns(), false);
    matrix(names.project_logits, model.embedding_columns(), model.hidden, false);
  }
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const LayerSpec& spec = model.layers[layer];
    std::string prefix = names.layer;
    prefix.replace(prefix.find("{}"), 2, std::to_string(layer));
    for (const std::string& inner :
         {names.attention_norm, names.mlp_norm, names.attention_post_norm, names.mlp_post_norm}) {
      if (!inner.empty()) norm(prefix + inner);
    }
    if (names.query_key_value.empty()) {
      matrix(prefix + names.query, model.query_rows(), model.hidden, spec.qkv_bias);
      matrix(prefix + names.key, model.kv_rows(), model.hidden, spec.qkv_bias);
      matrix(prefix + names.value, model.kv_rows(), model.hidden, spec.qkv_bias);
    } else {
      matrix(prefix + names.query_key_value, model.qkv_rows(), model.hidden, spec.qkv_bias);
    }
    if (spec.query_key_norm != QueryKeyNorm::none) {
      const std::size_t query = model.query_norm_size(spec), key = model.key_norm_size(spec);
      source.put_floats(prefix + names.query_norm + ".weight", {query}, random_floats(query, seed += 2, 0.5f, 1.5f));
      source.put_floats(prefix + names.key_norm + ".weight", {key}, random_floats(key, seed + 1, 0.5f, 1.5f));
    }
    matrix(prefix + names.output, model.hidden, model.query_rows(), spec.output_bias);
    if (!names.sinks.empty()) vector(prefix + names.sinks, model.heads);
    const auto mlp = [&](const std::string& inner, const std::string& gate, const std::string& up,
                         const std::string& down, std::size_t columns) {
      if (!gate.empty()) matrix(inner + gate, columns, model.hidden, spec.mlp_bias);
      matrix(inner + up, gate.empty() ? spec.up_rows(columns) : columns, model.hidden, spec.mlp_bias);
      matrix(inner + down, model.hidden, columns, spec.mlp_bias);
    };
    if (!spec.is_mixture()) {
      mlp(prefix, names.gate, names.up, names.down, spec.intermediate);
      continue;
    }
    const auto expert = [&](const std::string& inner, std::size_t columns) {
      mlp(prefix + inner, names.expert_gate, names.expert_up, names.expert_down, columns);
    };
    vector(prefix + names.router + ".weight", spec.experts.count * model.hidden);
    if (model.router_bias) vector(prefix + names.router + ".bias", spec.experts.count);
    for (std::size_t i = 0; i < spec.experts.count; ++i) expert(with_index(names.expert, i), spec.intermediate);
    if (spec.experts.shared_intermediate == 0) continue;
    expert(names.shared, spec.experts.shared_intermediate);
    if (!names.shared_gate.empty()) vector(prefix + names.shared_gate + ".weight", model.hidden);
  }
  if (!names.final_norm.empty()) norm(names.final_norm);
  if (!model.tied_head) {
    matrix(names.head, model.vocabulary, model.embedding_columns(), model.head_bias);
  } else if (model.head_bias) {
    source.put_floats(names.head + ".bias", {model.vocabulary},
                      random_floats(model.vocabulary, seed += 2, -0.3f, 0.3f));
  }
  return source;
}

inline MemorySource random_tensors(const Architecture& model, DType dtype = DType::f32) {
  return random_tensors(model, [dtype](std::string_view) { return dtype; });
}

/// `count` ids below `vocabulary`.
inline std::vector<Token> random_tokens(std::size_t count, std::size_t vocabulary, std::uint32_t seed) {
  Numbers numbers(seed);
  std::vector<Token> tokens(count);
  for (Token& token : tokens) token = static_cast<Token>(numbers.below(vocabulary));
  return tokens;
}

}  // namespace tulle::testing
