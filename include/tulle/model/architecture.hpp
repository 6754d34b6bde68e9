// SPDX-License-Identifier: Apache-2.0
/// \file The description of a decoder and of its layers: what one model family and size is made of (L3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/tensor/ops.hpp>
#include <tulle/tensor/row_order.hpp>

namespace tulle {

/// down(silu(gate(x)) * up(x)), down(gelu_new(gate(x)) * up(x)), or down(f(up(x))) with f the gelu by tanh, the gelu by
/// erf, or max(x, 0). `gated_clamped` is GPT-OSS's gate: see `clamped_silu_times`.
enum class MlpKind { gated_silu, gated_gelu, gated_clamped, gelu, gelu_erf, relu };

constexpr bool is_gated(MlpKind kind) noexcept {
  return kind == MlpKind::gated_silu || kind == MlpKind::gated_gelu || kind == MlpKind::gated_clamped;
}

/// How a layer's two branches join the residual stream x, and so where its norms stand. A family may have norms of what
/// the branches give, too, or those alone (`WeightNames`).
enum class Residual {
  sequential,  ///< x += attention(norm_1(x)), then x += mlp(norm_2(x))
  parallel,    ///< x += attention(norm_1(x)) + mlp(norm_2(x)), or with one norm for both
  post_norm,   ///< x = norm_1(x + attention(x)), then x = norm_2(x + mlp(x))
};

/// RMS norms of queries and keys, before they rotate.
enum class QueryKeyNorm {
  none,
  head,  ///< of every head by itself
  row,   ///< of all heads of a row together
};

/// A mixture of experts in place of one MLP: the router's best experts of a row, and perhaps one that all rows share.
/// Shazeer et al., "Outrageously Large Neural Networks", 2017.
struct ExpertSpec {
  std::size_t count = 0, per_row = 0;
  std::size_t shared_intermediate = 0;  ///< of the expert that all rows share; 0: there is none
  bool normalized = true;               ///< the weights of the chosen experts have the sum 1
};

/// A family that has one kind of layer fills `Architecture::layers` with one value.
struct LayerSpec {
  std::size_t intermediate = 0;  ///< columns of `down`, or of an expert's
  Window window{};               ///< positions that a query attends to
  std::size_t rotary = 0;        ///< index in `Architecture::rotary_tables`
  MlpKind mlp = MlpKind::gated_silu;
  Residual residual = Residual::sequential;
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  ExpertSpec experts{};

  bool is_mixture() const noexcept { return experts.count != 0; }
  /// Columns of `down` of an expert, or after the others of that which all rows share.
  std::size_t expert_columns(std::size_t expert) const noexcept {
    return expert < experts.count ? intermediate : experts.shared_intermediate;
  }
  /// Rows of `up`: gate then up, or up alone.
  std::size_t up_rows() const noexcept { return up_rows(intermediate); }
  std::size_t up_rows(std::size_t columns) const noexcept { return is_gated(mlp) ? 2 * columns : columns; }
};

enum class NormKind { rms, layer };

/// Angle of pair j at position p: p * inverse_frequencies[j]. Without frequencies nothing is rotated.
struct Rotary {
  RotaryPairing pairing = RotaryPairing::halves;
  std::vector<float> inverse_frequencies;
  float factor = 1;  ///< of cosines and sines
  /// The frequencies for sequences of a length, where they depend on it: see `Architecture::set_sequence_length`.
  std::function<std::vector<float>(std::size_t length)> of_length{};
  std::size_t dimensions() const noexcept { return 2 * inverse_frequencies.size(); }
};

/// `pattern` with {} replaced by `index`.
inline std::string with_index(std::string pattern, std::size_t index) {
  return pattern.replace(pattern.find("{}"), 2, std::to_string(index));
}

/// Where the weights of a family are in its checkpoints. `layer` is put before the names of a layer's tensors, with {}
/// replaced by its index; ".weight" and ".bias" are appended. An empty name: the family has no such tensor.
struct WeightNames {
  std::string embedding, final_norm, head, layer;
  std::string position{}, embedding_norm{};           ///< a row per position, added to embeddings; the norm of these
  std::string project_embedding{}, project_logits{};  ///< matrices between embeddings and the residual stream
  std::string attention_norm, mlp_norm;
  std::string query, key, value;  ///< or
  std::string query_key_value;    ///< one tensor of all their rows, in the orders that `Architecture` gives
  std::string query_norm{}, key_norm{};
  std::string output;
  std::string gate, up, down;                          ///< without a gate's own tensor its rows are the first of `up`
  std::string attention_post_norm{}, mlp_post_norm{};  ///< of what the branches give
  /// Of a mixture of experts: {} in `expert` is replaced by an expert's index, and the names of gate, up and down follow
  /// it, and follow `shared`. `shared_gate`: a row that weighs the expert that all rows share.
  std::string router{}, expert{}, expert_gate{}, expert_up{}, expert_down{}, shared{}, shared_gate{};
  std::string sinks{};  ///< scores of attention to nothing, one a head; without an ending
};

/// Everything that describes a model to the decoder, as run-time values. A new family is a new function that fills one
/// of these.
struct Architecture {
  static constexpr std::size_t max_heads = 65536, max_head_dim = 4096;

  std::string family;
  std::size_t vocabulary = 0;
  std::size_t hidden = 0;
  std::size_t heads = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t context_length = 0;  ///< positions it was trained for
  NormKind norm = NormKind::rms;
  float norm_epsilon = 1e-5f;
  bool norm_bias = true;  ///< of layer norms
  float norm_offset = 0;  ///< added to the weights of all norms: 1 where a checkpoint holds their differences from 1
  float embedding_scale = 1, residual_scale = 1, logit_scale = 1;  ///< factors of embeddings, branches and logits
  float query_scale = 1;                                           ///< factor of queries, beside 1 / sqrt(head_dim)
  float score_cap = 0, logit_cap = 0;  ///< scores and logits become cap * tanh(x / cap); 0: they stay
  float qkv_clip = 0;                  ///< queries, keys and values stay within -clip and clip; 0: as they are
  std::vector<float> alibi_slopes;     ///< [heads], or none: see `AttentionRows::slopes`
  std::size_t embedding_size = 0;      ///< columns of embedding and head; 0: `hidden`
  std::size_t learned_positions = 0;   ///< rows of `names.position`: no sequence is longer
  std::size_t first_position = 0;      ///< row of position 0
  std::vector<Rotary> rotary_tables;
  std::vector<LayerSpec> layers;
  bool tied_head = false;  ///< the output matrix is the embedding
  bool head_bias = false;
  bool router_bias = false;
  RowOrder query_order, key_order, value_order;  ///< in which the rows of q, k and v lie in their tensors
  WeightNames names;
  std::optional<Token> bos;
  std::vector<Token> eos;
  std::vector<Token> impossible_eos;  ///< ids outside the vocabulary that a config names: they are never drawn

  std::size_t query_rows() const noexcept { return heads * head_dim; }
  std::size_t kv_rows() const noexcept { return kv_heads * head_dim; }
  std::size_t qkv_rows() const noexcept { return query_rows() + 2 * kv_rows(); }
  std::size_t embedding_columns() const noexcept { return embedding_size == 0 ? hidden : embedding_size; }
  /// Elements of a layer's norms of queries and of keys, where it has them.
  std::size_t query_norm_size(const LayerSpec& layer) const noexcept {
    return layer.query_key_norm == QueryKeyNorm::head ? head_dim : query_rows();
  }
  std::size_t key_norm_size(const LayerSpec& layer) const noexcept {
    return layer.query_key_norm == QueryKeyNorm::head ? head_dim : kv_rows();
  }
  /// Rows of a layer's tensor `names.up`.
  std::size_t up_tensor_rows(const LayerSpec& layer) const noexcept {
    return names.gate.empty() ? layer.up_rows() : layer.intermediate;
  }
  std::size_t max_intermediate() const noexcept {
    std::size_t widest = 0;
    for (const LayerSpec& layer : layers) {
      widest = std::max({widest, layer.intermediate, layer.experts.shared_intermediate});
    }
    return widest;
  }
  std::size_t max_up_rows() const noexcept {
    std::size_t widest = 0;
    for (const LayerSpec& layer : layers) {
      widest = std::max({widest, layer.up_rows(), layer.up_rows(layer.experts.shared_intermediate)});
    }
    return widest;
  }
  std::size_t max_experts() const noexcept {
    std::size_t most = 0;
    for (const LayerSpec& layer : layers) most = std::max(most, layer.experts.count);
    return most;
  }
  std::size_t max_experts_per_row() const noexcept {
    std::size_t most = 0;
    for (const LayerSpec& layer : layers) most = std::max(most, layer.experts.per_row);
    return most;
  }

  /// What the names of a layer's tensors begin with.
  std::string layer_prefix(std::size_t index) const { return with_index(names.layer, index); }

  /// The same of an expert of a layer; after the others that which all rows share.
  std::string expert_prefix(std::size_t layer, std::size_t expert) const {
    return layer_prefix(layer) +
           (expert < layers[layer].experts.count ? with_index(names.expert, expert) : names.shared);
  }

  /// Makes `count` layers that are all like `each`. Errors: malformed for a number that makes no decoder.
  void set_layers(std::size_t count, const LayerSpec& each, std::string_view where) {
    require_layers(count, where);
    layers.assign(count, each);
  }

  /// Queries, keys and values lie in one tensor of `blocks` equal parts, each with queries, then keys, then values.
  /// Needs: the numbers of heads, of which `blocks` is a divisor.
  void fuse_query_key_value(std::size_t blocks) noexcept {
    const std::size_t query = query_rows() / blocks, key = kv_rows() / blocks, stride = query + 2 * key;
    query_order = RowOrder::of_blocks(blocks, stride, 0, query);
    key_order = RowOrder::of_blocks(blocks, stride, query, key);
    value_order = RowOrder::of_blocks(blocks, stride, query + key, key);
  }

  /// Fixes what depends on how long sequences can become.
  void set_sequence_length(std::size_t length) {
    for (Rotary& rotary : rotary_tables) {
      if (rotary.of_length) rotary.inverse_frequencies = rotary.of_length(length);
    }
  }

  /// Sorts ids into `eos` and `impossible_eos`. Needs: the vocabulary's size.
  void set_eos(const std::vector<Token>& ids) {
    eos.clear();
    impossible_eos.clear();
    for (const Token id : ids) {
      const bool possible = id >= 0 && static_cast<std::size_t>(id) < vocabulary;
      (possible ? eos : impossible_eos).push_back(id);
    }
  }

  /// Checks that the numbers make a decoder. `where` names the config in messages.
  /// Errors: malformed.
  void validate(std::string_view where) const {
    const auto require = [&](bool holds, std::string_view what) {
      if (!holds) fail(ErrorCode::malformed, where, ": ", what);
    };
    // Far above every model, and small enough that no product of three overflows.
    constexpr std::size_t most = std::size_t{1} << 20;
    require(vocabulary > 0 && vocabulary <= (std::size_t{1} << 24), "the vocabulary size must be 1 to 16777216");
    require(hidden > 0 && hidden <= most, "the hidden size must be 1 to 1048576");
    require_layers(layers.size(), where);
    require(heads > 0 && heads <= max_heads, "the number of attention heads must be 1 to 65536");
    require(kv_heads > 0 && kv_heads <= heads && heads % kv_heads == 0,
            "the number of attention heads must be a multiple of the number of key-value heads");
    require(head_dim > 0 && head_dim <= max_head_dim, "the head dimension must be 1 to 4096");
    require(query_rows() <= most, "heads times head dimension must be at most 1048576");
    for (const LayerSpec& layer : layers) {
      require(layer.intermediate > 0 && layer.intermediate <= most, "the intermediate size must be 1 to 1048576");
      require(layer.rotary < rotary_tables.size(), "every layer needs a rotary table");
      const ExpertSpec& experts = layer.experts;
      require(experts.count <= 65536 && experts.per_row <= experts.count && (experts.count == 0 || experts.per_row > 0),
              "a row goes to 1 or more of at most 65536 experts");
      require(experts.shared_intermediate <= most, "the intermediate size must be 1 to 1048576");
    }
    require(context_length > 0 && context_length <= (std::size_t{1} << 30),
            "the context length must be 1 to 1073741824");
    require(std::isfinite(norm_epsilon) && norm_epsilon > 0, "the norm's epsilon must be positive");
    for (const float factor : {embedding_scale, residual_scale, logit_scale, query_scale}) {
      require(std::isfinite(factor) && factor != 0,
              "the factors of embeddings, branches, queries and logits are numbers");
    }
    for (const float bound : {score_cap, logit_cap, qkv_clip}) {
      require(std::isfinite(bound) && bound >= 0, "caps of scores and logits, and the clip of queries, are positive");
    }
    require(alibi_slopes.empty() || alibi_slopes.size() == heads, "every head has a slope, or none");
    require(embedding_size <= most, "the embedding size must be at most 1048576");
    require(learned_positions <= (std::size_t{1} << 30), "there must be at most 1073741824 learned positions");
    require(names.position.empty() || learned_positions > first_position, "there must be a learned position");
    for (const Rotary& rotary : rotary_tables) {
      require(rotary.dimensions() <= head_dim, "the rotary dimension must be at most the head dimension");
      for (const float frequency : rotary.inverse_frequencies) {
        require(std::isfinite(frequency), "the rotary embedding's parameters give frequencies that are not finite");
      }
    }
    const bool fused = !names.query_key_value.empty();
    const auto takes = [&](const RowOrder& order, std::size_t rows) {
      if (order.as_it_lies()) return !fused;
      return order.rows() == rows && order.end() <= (fused ? qkv_rows() : rows);
    };
    require(takes(query_order, query_rows()) && takes(key_order, kv_rows()) && takes(value_order, kv_rows()),
            "the order of the rows of queries, keys and values does not fit their tensors");
  }

 private:
  static void require_layers(std::size_t count, std::string_view where) {
    if (count == 0 || count > 4096) fail(ErrorCode::malformed, where, ": the number of layers must be 1 to 4096");
  }
};

/// The keys and values of one layer, and of all of them.
inline LayerShape cache_shape(const Architecture& model, std::size_t layer) {
  return {model.kv_heads, model.head_dim, model.layers[layer].window};
}
inline CacheShape cache_shape(const Architecture& model) {
  CacheShape shape;
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) shape.layers.push_back(cache_shape(model, layer));
  return shape;
}

}  // namespace tulle
