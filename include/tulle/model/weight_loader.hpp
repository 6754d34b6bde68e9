// SPDX-License-Identifier: Apache-2.0
/// \file From the tensors of a checkpoint to packed weights (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/processor_cores.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/parallel_pack.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

struct LoadOptions {
  PackOptions pack;
  bool rotary_interleaved_rows = false;  ///< query and key rows are stored for adjacent rotary pairs (GGUF's llama)
  Progress progress;
  /// That pack, unless `pack` brings a pool. 0: one per core that the process may use. WebAssembly packs on one.
  std::size_t threads = 0;
};

/// Finds, checks and packs tensors one matrix at a time; releases the file's pages as it goes.
template <LinearKernel Kernel>
class WeightLoader {
 public:
  /// Errors: those of `ThreadPool`, where a number of threads was asked for.
  WeightLoader(const TensorSource& source, const Architecture& model, const LoadOptions& options)
      : source_(source), model_(model), options_(options) {
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
    ModelWeights<Kernel> weights;
    const WeightNames& names = model_.names;
    load_head(weights);
    weights.final_norm = norm(names.final_norm);
    weights.layers.resize(model_.layers.size());
    for (std::size_t index = 0; index < model_.layers.size(); ++index) {
      const std::string prefix = layer_prefix(index);
      const LayerSpec& spec = model_.layers[index];
      LayerWeights<Kernel>& layer = weights.layers[index];
      layer.attention_norm = norm(prefix + names.attention_norm);
      if (!names.mlp_norm.empty()) layer.mlp_norm = norm(prefix + names.mlp_norm);
      layer.query_key_value = query_key_value(prefix, spec.qkv_bias);
      layer.output = linear({{prefix + names.output, model_.hidden}}, model_.query_rows(), spec.output_bias);
      if (spec.mlp == MlpKind::gated_silu) {
        layer.up = linear({{prefix + names.gate, spec.intermediate}, {prefix + names.up, spec.intermediate}},
                          model_.hidden, spec.mlp_bias);
      } else {
        layer.up = linear({{prefix + names.up, spec.intermediate}}, model_.hidden, spec.mlp_bias);
      }
      layer.down = linear({{prefix + names.down, model_.hidden}}, spec.intermediate, spec.mlp_bias);
      if (options_.progress) {
        options_.progress("loading", static_cast<double>(index + 1) / static_cast<double>(model_.layers.size()));
      }
    }
    return weights;
  }

 private:
  struct Tensor {
    std::string name;
    std::size_t rows;
  };

  /// WebAssembly's few workers are left to the engine: one that ends comes back only when JavaScript is idle.
  static std::size_t packing_threads(std::size_t wanted) {
    if (!detail::packs_on_threads) return 1;
    return wanted == 0 ? usable_core_count() : wanted;
  }

  std::string layer_prefix(std::size_t index) const {
    std::string prefix = model_.names.layer;
    return prefix.replace(prefix.find("{}"), 2, std::to_string(index));
  }

  const EncodedTensor& require(const std::string& name) const {
    const EncodedTensor* tensor = source_.find(name);
    if (tensor == nullptr) {
      fail(ErrorCode::not_found, "the checkpoint has no tensor \"", name, "\", which a ", model_.family,
           " model needs; is the checkpoint complete?");
    }
    return *tensor;
  }

  static std::string shape_text(const std::vector<std::size_t>& shape) {
    std::string text = "[";
    for (const std::size_t extent : shape) text += (text.size() == 1 ? "" : ", ") + std::to_string(extent);
    return text + "]";
  }

  /// A small tensor (norm, bias, scale) of `size` elements as floats; extents of 1 are ignored.
  std::vector<float> vector(const std::string& name, std::size_t size) const {
    const EncodedTensor& tensor = require(name);
    if (tensor.elements() != size) {
      fail(ErrorCode::malformed, "tensor \"", name, "\" has shape ", shape_text(tensor.shape), " where ", size,
           " elements are needed");
    }
    if (tensor.dtype != DType::f32 && tensor.dtype != DType::f16 && tensor.dtype != DType::bf16) {
      fail(ErrorCode::unsupported, "tensor \"", name, "\" is ", dtype_name(tensor.dtype),
           "; needed is F32, F16 or BF16");
    }
    std::vector<float> values(size);
    const std::span<const std::byte> bytes = source_.read(tensor);
    decode_elements(tensor.dtype, bytes.data(), size, values.data());
    source_.release(bytes);
    return values;
  }

  NormWeights norm(const std::string& name) const {
    NormWeights weights;
    weights.weight = vector(name + ".weight", model_.hidden);
    if (model_.norm == NormKind::layer) weights.bias = vector(name + ".bias", model_.hidden);
    return weights;
  }

  /// The rows of one matrix, checked; I8 rows come with their scale. `release` them when they are packed.
  WeightRows rows_of(const Tensor& wanted, std::size_t columns) {
    const std::string name = wanted.name + ".weight";
    const EncodedTensor& tensor = require(name);
    if (tensor.shape != std::vector<std::size_t>{wanted.rows, columns}) {
      fail(ErrorCode::malformed, "tensor \"", name, "\" has shape ", shape_text(tensor.shape), " where [", wanted.rows,
           ", ", columns, "] is needed");
    }
    if (!is_weight_dtype(tensor.dtype)) {
      fail(ErrorCode::unsupported, "tensor \"", name, "\" is ", dtype_name(tensor.dtype), ", which no kernel reads");
    }
    std::vector<float> scales(1, 1.0f);
    if (tensor.dtype == DType::i8) {
      const EncodedTensor& scale = require(wanted.name + ".weight_scale");
      scales = vector(wanted.name + ".weight_scale", scale.elements() == 1 ? 1 : wanted.rows);
    }
    const std::size_t row_bytes = dtype_bytes(tensor.dtype, columns, name);
    WeightRows rows(columns);
    const std::span<const std::byte> bytes = source_.read(tensor);
    held_.push_back(bytes);
    for (std::size_t row = 0; row < wanted.rows; ++row) {
      rows.append(bytes.data() + row * row_bytes, tensor.dtype, scales[scales.size() == 1 ? 0 : row]);
    }
    return rows;
  }

  /// Rows of heads stored for adjacent rotary pairs, in the order for halves: row j + i * d/2 ... of a head was 2j + i.
  WeightRows halves_from_interleaved(const WeightRows& rows) const {
    WeightRows ordered(rows.columns());
    const std::size_t half = model_.head_dim / 2;
    for (std::size_t head = 0; head < rows.rows(); head += model_.head_dim) {
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < half; ++j) {
          const auto& row = rows[head + 2 * j + i];
          ordered.append(row.data, row.dtype, row.scale);
        }
      }
    }
    return ordered;
  }

  typename Linear<Kernel>::Part pack(const std::string& name, std::size_t first_row, const WeightRows& rows) const {
    return {name, first_row, Kernel::pack(rows, options_.pack)};
  }

  /// Stacks the rows of several tensors: one packed matrix where all have one encoding, else one part per tensor.
  void stack(const std::vector<std::pair<std::string, WeightRows>>& sources, Linear<Kernel>& linear) const {
    WeightRows all(sources.front().second.columns());
    std::string name;
    for (const auto& [source_name, rows] : sources) {
      for (std::size_t row = 0; row < rows.rows(); ++row) all.append(rows[row].data, rows[row].dtype, rows[row].scale);
      name += (name.empty() ? "" : " + ") + source_name;
    }
    DType dtype{};
    // A panel belongs to one part, so parts must end at whole panels.
    if (all.uniform(dtype) || !ends_at_panels(sources)) {
      linear.parts.push_back(pack(name, 0, all));
    } else {
      std::size_t first_row = 0;
      for (const auto& [source_name, rows] : sources) {
        linear.parts.push_back(pack(source_name, first_row, rows));
        first_row += rows.rows();
      }
    }
  }

  static bool ends_at_panels(const std::vector<std::pair<std::string, WeightRows>>& sources) {
    for (std::size_t i = 0; i + 1 < sources.size(); ++i) {
      if (sources[i].second.rows() % panel_rows != 0) return false;
    }
    return true;
  }

  /// Gives back what was read for rows since the last call.
  void release() noexcept {
    for (const std::span<const std::byte> bytes : held_) source_.release(bytes);
    held_.clear();
  }

  Linear<Kernel> linear(const std::vector<Tensor>& tensors, std::size_t columns, bool with_bias) {
    Linear<Kernel> result;
    std::vector<std::pair<std::string, WeightRows>> sources;
    for (const Tensor& tensor : tensors) sources.emplace_back(tensor.name, rows_of(tensor, columns));
    stack(sources, result);
    release();
    for (const Tensor& tensor : tensors) {
      if (!with_bias) break;
      const auto bias = vector(tensor.name + ".bias", tensor.rows);
      result.bias.insert(result.bias.end(), bias.begin(), bias.end());
    }
    return result;
  }

  Linear<Kernel> query_key_value(const std::string& prefix, bool with_bias) {
    const WeightNames& names = model_.names;
    if (!names.query_key_value.empty()) return fused_query_key_value(prefix + names.query_key_value);
    const Tensor query{prefix + names.query, model_.query_rows()}, key{prefix + names.key, model_.kv_rows()};
    const Tensor value{prefix + names.value, model_.kv_rows()};
    if (!options_.rotary_interleaved_rows) return linear({query, key, value}, model_.hidden, with_bias);
    if (with_bias) fail(ErrorCode::unsupported, "interleaved rotary rows with a bias are not supported");
    Linear<Kernel> result;
    stack({{query.name, halves_from_interleaved(rows_of(query, model_.hidden))},
           {key.name, halves_from_interleaved(rows_of(key, model_.hidden))},
           {value.name, rows_of(value, model_.hidden)}},
          result);
    release();
    return result;
  }

  /// CodeGen's tensor: mp_num blocks, each of query, value and key rows of heads / mp_num heads, in that order.
  Linear<Kernel> fused_query_key_value(const std::string& name) {
    const WeightRows fused = rows_of({name, model_.qkv_rows()}, model_.hidden);
    const std::size_t block = model_.query_rows() / model_.mp_num;
    WeightRows ordered(model_.hidden);
    for (const std::size_t third : {0, 2, 1}) {  // where query, key and value lie inside a block
      for (std::size_t core = 0; core < model_.mp_num; ++core) {
        for (std::size_t row = 0; row < block; ++row) {
          const auto& encoded = fused[(core * 3 + third) * block + row];
          ordered.append(encoded.data, encoded.dtype, encoded.scale);
        }
      }
    }
    Linear<Kernel> result;
    result.parts.push_back(pack(name, 0, ordered));
    release();
    return result;
  }

  void load_head(ModelWeights<Kernel>& weights) {
    const WeightNames& names = model_.names;
    const bool tied = model_.tied_head;
    const EncodedTensor& encoded = require(names.embedding + ".weight");
    if (encoded.dtype == DType::i8) {
      fail(ErrorCode::unsupported, "an I8 embedding is not supported; leave it out of the quantization");
    }
    if (!tied || !Kernel::keeps_values(encoded.dtype, options_.pack)) {
      weights.embedding.emplace(rows_of({names.embedding, model_.vocabulary}, model_.hidden));
      release();
    }
    weights.head = linear({{tied ? names.embedding : names.head, model_.vocabulary}}, model_.hidden, false);
    if (model_.head_bias) weights.head.bias = vector(names.head + ".bias", model_.vocabulary);
  }

  const TensorSource& source_;
  const Architecture& model_;
  LoadOptions options_;
  std::optional<ThreadPool> pool_;
  std::vector<std::span<const std::byte>> held_;  // of rows that are not packed yet
};

/// Packs the weights that `model` describes out of `source`.
template <LinearKernel Kernel>
ModelWeights<Kernel> load_weights(const TensorSource& source, const Architecture& model,
                                  const LoadOptions& options = {}) {
  return WeightLoader<Kernel>(source, model, options).load();
}

}  // namespace tulle
