// SPDX-License-Identifier: Apache-2.0
/// \file From the tensors of a checkpoint to packed weights (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/processor_cores.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/kernel/kept_weights.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/parallel_pack.hpp>
#include <tulle/model/half_rows.hpp>
#include <tulle/model/matrix_loader.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/row_order.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

struct LoadOptions {
  PackOptions pack;
  Progress progress{};
  /// That pack, unless `pack` brings a pool. 0: one per core that the process may use. WebAssembly packs on one.
  std::size_t threads = 0;
  /// Matrices that were packed before by the same kernel, as `kept_weights` lists them. Their memory must outlive the
  /// weights. What is missing or not sound is packed.
  std::shared_ptr<const KeptMatrices> kept{};
};

/// Finds, checks and packs tensors one matrix at a time; the file's pages are released as it goes.
template <LinearKernel Kernel>
class WeightLoader {
 public:
  /// Errors: those of `ThreadPool`, where a number of threads is given.
  WeightLoader(const TensorSource& source, const Architecture& model, const LoadOptions& options)
      : model_(model), options_(options), matrices_(source, model.family, options_.pack, options.kept.get()) {
    const std::size_t threads = packing_threads(options.threads);
    if (options_.pack.pool != nullptr || threads == 1) return;
    try {
      options_.pack.pool = &pool_.emplace(threads);
    } catch (const Error&) {
      if (options.threads != 0) throw;  // the caller's thread can do without others
    }
  }
  WeightLoader(const WeightLoader&) = delete;
  WeightLoader& operator=(const WeightLoader&) = delete;

  /// Errors: not_found for a missing tensor, malformed for a wrong shape, unsupported for a type no kernel reads.
  ModelWeights<Kernel> load() {
    ModelWeights<Kernel> weights = load_ends();
    weights.layers.reserve(model_.layers.size());
    for (std::size_t index = 0; index < model_.layers.size(); ++index) {
      weights.layers.push_back(load_layer(index));
      if (options_.progress) {
        options_.progress("loading", static_cast<double>(index + 1) / static_cast<double>(model_.layers.size()));
      }
    }
    return weights;
  }

  /// What stands before the decoder layers. Errors: as `load`.
  ModelWeights<Kernel> load_entry() const {
    ModelWeights<Kernel> weights;
    weights.embedding = table(kept_embedding, *embedding());
    load_entry(weights);
    return weights;
  }

  /// What stands before and after the decoder layers, and none of them. Errors: as `load`.
  ModelWeights<Kernel> load_ends() const {
    ModelWeights<Kernel> weights;
    load_head(weights);
    load_entry(weights);
    weights.final_norm = hidden_norm(model_.names.final_norm);
    if (const std::string& name = model_.names.project_logits; !name.empty()) {
      weights.project_logits = matrices_.linear({{name, model_.embedding_columns(), {}}}, model_.hidden, false);
    }
    return weights;
  }

  /// One decoder layer. Errors: as `load`.
  LayerWeights<Kernel> load_layer(std::size_t index) const {
    const WeightNames& names = model_.names;
    const std::string prefix = model_.layer_prefix(index);
    const LayerSpec& spec = model_.layers[index];
    LayerWeights<Kernel> layer;
    const auto inner_norm = [&](const std::string& name) {
      return name.empty() ? NormWeights() : hidden_norm(prefix + name);
    };
    layer.attention_norm = inner_norm(names.attention_norm);
    layer.mlp_norm = inner_norm(names.mlp_norm);
    layer.attention_post_norm = inner_norm(names.attention_post_norm);
    layer.mlp_post_norm = inner_norm(names.mlp_post_norm);
    if (spec.query_key_norm != QueryKeyNorm::none) {
      layer.query_norm = norm(prefix + names.query_norm, model_.query_norm_size(spec), NormKind::rms);
      layer.key_norm = norm(prefix + names.key_norm, model_.key_norm_size(spec), NormKind::rms);
    }
    layer.query_key_value = query_key_value(prefix, spec.qkv_bias);
    layer.output =
        matrices_.linear({{prefix + names.output, model_.hidden, {}}}, model_.query_rows(), spec.output_bias);
    if (!names.sinks.empty()) layer.sinks = matrices_.vector(prefix + names.sinks, model_.heads);
    if (spec.is_mixture()) {
      load_mixture(index, layer);
    } else {
      load_mlp(prefix, names.gate, names.up, names.down, spec, spec.intermediate, layer);
    }
    return layer;
  }

  /// An expert of a mixture; after the others that which all rows share. Errors: as `load`.
  ExpertWeights<Kernel> load_expert(std::size_t index, std::size_t expert) const {
    const WeightNames& names = model_.names;
    const LayerSpec& spec = model_.layers[index];
    ExpertWeights<Kernel> weights;
    load_mlp(model_.expert_prefix(index, expert), names.expert_gate, names.expert_up, names.expert_down, spec,
             spec.expert_columns(expert), weights);
    return weights;
  }

 private:
  using Source = typename MatrixLoader<Kernel>::Source;

  /// `to.up` and `to.down`, of matrices with `columns` columns of `down`.
  template <class Weights>
  void load_mlp(const std::string& prefix, const std::string& gate, const std::string& up, const std::string& down,
                const LayerSpec& spec, std::size_t columns, Weights& to) const {
    std::vector<LayerRows> rows{{prefix + up, gate.empty() ? spec.up_rows(columns) : columns, {}}};
    if (!gate.empty()) rows.insert(rows.begin(), {prefix + gate, columns, {}});
    to.up = matrices_.linear(rows, model_.hidden, spec.mlp_bias);
    to.down = matrices_.linear({{prefix + down, model_.hidden, {}}}, columns, spec.mlp_bias);
  }

  void load_mixture(std::size_t index, LayerWeights<Kernel>& layer) const {
    const WeightNames& names = model_.names;
    const std::string prefix = model_.layer_prefix(index);
    const ExpertSpec& experts = model_.layers[index].experts;
    layer.router.weight = matrices_.vector(prefix + names.router + ".weight", experts.count * model_.hidden);
    if (model_.router_bias) layer.router.bias = matrices_.vector(prefix + names.router + ".bias", experts.count);
    for (std::size_t expert = 0; expert < experts.count; ++expert) {
      layer.experts.push_back(load_expert(index, expert));
    }
    if (experts.shared_intermediate == 0) return;
    ExpertWeights<Kernel> shared = load_expert(index, experts.count);
    layer.up = std::move(shared.up);
    layer.down = std::move(shared.down);
    if (!names.shared_gate.empty())
      layer.shared_gate = matrices_.vector(prefix + names.shared_gate + ".weight", model_.hidden);
  }

  /// WebAssembly's few workers are left to the engine: one that ends comes back only when JavaScript is idle.
  static std::size_t packing_threads(std::size_t wanted) {
    if (!detail::packs_on_threads) return 1;
    return wanted == 0 ? usable_core_count() : wanted;
  }

  NormWeights norm(const std::string& name, std::size_t size, NormKind kind) const {
    NormWeights weights;
    weights.weight = matrices_.vector(name + ".weight", size);
    for (float& weight : weights.weight) weight += model_.norm_offset;
    if (kind == NormKind::layer) {
      weights.bias = model_.norm_bias ? matrices_.vector(name + ".bias", size) : std::vector<float>(size);
    }
    return weights;
  }
  NormWeights hidden_norm(const std::string& name) const {
    return name.empty() ? NormWeights() : norm(name, model_.hidden, model_.norm);
  }

  Linear<Kernel> query_key_value(const std::string& prefix, bool with_bias) const {
    const WeightNames& names = model_.names;
    const bool fused = !names.query_key_value.empty();
    const auto rows = [&](const std::string& own_name, std::size_t own_rows, const RowOrder& order) {
      return LayerRows{prefix + (fused ? names.query_key_value : own_name), fused ? model_.qkv_rows() : own_rows,
                       order};
    };
    return matrices_.linear(
        {rows(names.query, model_.query_rows(), model_.query_order),
         rows(names.key, model_.kv_rows(), model_.key_order), rows(names.value, model_.kv_rows(), model_.value_order)},
        model_.hidden, with_bias);
  }

  Source embedding() const {
    return matrices_.matrix(model_.names.embedding, model_.vocabulary, model_.embedding_columns());
  }

  /// Rows that are looked up. F32 follows the matrices: where their kernel quantizes, it is rounded to F16 (but in
  /// WebAssembly, whose modules have no room for it).
  Embedding table([[maybe_unused]] std::string_view name, const WeightSource& rows) const {
    if constexpr (!is_web) {
      const bool quantizes = !Kernel::keeps_values({.floats = DType::f16}, options_.pack);
      const KeptMatrix* kept = options_.kept == nullptr ? nullptr : options_.kept->find(name);
      if (kept != nullptr && kept->arrays.size() == 1) {
        const std::span<const std::byte> bytes = kept->arrays.front();
        if (auto same = rows.over(bytes)) return Embedding(std::move(same));
        if (auto halves = quantizes ? HalfRows::over(rows, bytes) : nullptr) return Embedding(std::move(halves));
      }
      if (auto halves = quantizes ? HalfRows::of(rows, options_.pack.pool) : nullptr)
        return Embedding(std::move(halves));
    }
    return Embedding(rows);
  }

  /// But the embedding.
  void load_entry(ModelWeights<Kernel>& weights) const {
    const WeightNames& names = model_.names;
    if (!names.position.empty()) {
      weights.positions =
          table(kept_positions, *matrices_.matrix(names.position, model_.learned_positions, model_.hidden));
    }
    weights.embedding_norm = hidden_norm(names.embedding_norm);
    if (!names.project_embedding.empty()) {
      weights.project_embedding =
          matrices_.linear({{names.project_embedding, model_.hidden, {}}}, model_.embedding_columns(), false);
    }
  }

  void load_head(ModelWeights<Kernel>& weights) const {
    const WeightNames& names = model_.names;
    const bool tied = model_.tied_head;
    Source rows = embedding();
    if (!tied || !Kernel::keeps_values(rows->code_format(), options_.pack))
      weights.embedding = table(kept_embedding, *rows);
    if (!tied) {
      rows.reset();  // before more is read
      rows = matrices_.matrix(names.head, model_.vocabulary, model_.embedding_columns());
    }
    weights.head.parts.push_back(matrices_.pack(tied ? names.embedding : names.head, 0, *rows));
    if (model_.head_bias) weights.head.bias = matrices_.vector(names.head + ".bias", model_.vocabulary);
  }

  const Architecture& model_;
  LoadOptions options_;
  std::optional<ThreadPool> pool_;
  MatrixLoader<Kernel> matrices_;
};

/// Views of every matrix that can be kept and whose name is its own, and of the tables of rows. Lifetime: that of the
/// weights.
template <LinearKernel Kernel>
KeptMatrices kept_weights(const ModelWeights<Kernel>& weights) {
  KeptMatrices kept;
  std::vector<std::string> ambiguous;
  weights.for_each_linear([&](const Linear<Kernel>& linear) {
    for (const auto& part : linear.parts) {
      auto matrix = kept_form<Kernel>(part.weights);
      if (matrix && !kept.matrices.try_emplace(part.name, *std::move(matrix)).second) ambiguous.push_back(part.name);
    }
  });
  for (const std::string& name : ambiguous) kept.matrices.erase(name);
  const auto add = [&](std::string_view name, const std::optional<Embedding>& table) {
    if (table && !table->bytes().empty()) kept.matrices[std::string(name)] = {{}, {}, {table->bytes()}};
  };
  add(kept_embedding, weights.embedding);
  add(kept_positions, weights.positions);
  return kept;
}

/// Packs the weights that `model` describes out of `source`.
template <LinearKernel Kernel>
ModelWeights<Kernel> load_weights(const TensorSource& source, const Architecture& model,
                                  const LoadOptions& options = {}) {
  return WeightLoader<Kernel>(source, model, options).load();
}

}  // namespace tulle
