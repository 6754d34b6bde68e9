// SPDX-License-Identifier: Apache-2.0
/// \file Channels inside of attention and MLP in an order that suits N:M pruning of the layer that reads them (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compress/channel_permutation.hpp>
#include <tulle/compress/edited_tensors.hpp>
#include <tulle/compress/layer_names.hpp>
#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/layer_statistics.hpp>
#include <tulle/compress/permuted_matrix.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/model/architecture.hpp>

namespace tulle {

namespace detail {

/// The channels that a layer reads. Those of `width` neighbours may change places; `shared` ranges of that width, one
/// after the other, are made of the same rows and so have one order.
struct ChannelRanges {
  std::size_t width = 0, shared = 1;
};

/// Rows, and the bias, of a layer whose row lies[i] makes channel i: channel i is what channel order[i] was.
inline void permute_rows(EditedTensors& tensors, const std::string& name, const PermutedMatrix::Order& lies,
                         const PermutedMatrix::Order& order) {
  const std::shared_ptr<const WeightSource> matrix = tensors.matrix(name);
  PermutedMatrix::Order rows(matrix->rows());
  std::iota(rows.begin(), rows.end(), 0U);
  for (std::size_t i = 0; i < order.size(); ++i) rows[lies[i]] = lies[order[i]];
  if (const EncodedTensor* bias = tensors.find(name + ".bias"); bias != nullptr) {
    const std::vector<float> old = read_floats(tensors, *bias);
    std::vector<float> values(old.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = old[rows[i]];
    tensors.replace_values(name + ".bias", std::move(values));
  }
  tensors.replace(name, std::make_shared<const PermutedMatrix>(matrix, std::move(rows), PermutedMatrix::Order()));
}

/// Of each column, its squares summed up over the tokens, of which those of large norm count less.
inline std::vector<float> squares_of(MatrixView<const float> inputs) {
  const std::vector<float> weights = row_weights(inputs);
  std::vector<float> squares(inputs.columns);
  for (std::size_t row = 0; row < inputs.rows; ++row) {
    for (std::size_t j = 0; j < squares.size(); ++j) squares[j] += weights[row] * inputs[row][j] * inputs[row][j];
  }
  return squares;
}

/// An order of the channels [columns / ranges.shared] that `reader` reads, or nothing where that of the file is best.
inline PermutedMatrix::Order find_order(const WeightSource& reader, const ChannelRanges& ranges,
                                        const SparsityStructure& structure, std::span<const float> squares,
                                        ThreadPool& pool) {
  const std::size_t m = reader.rows(), n = reader.columns(), block = ranges.width * ranges.shared;
  std::vector<BasicMatrix<float>> losses(n / block, BasicMatrix<float>(ranges.width, m * ranges.shared));
  std::vector<float> weights(n);
  for (std::size_t row = 0; row < m; ++row) {
    reader.decode_row(row, weights.data());
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t range = j % block / ranges.width;
      losses[j / block][j % ranges.width][range * m + row] = weights[j] * weights[j] * squares[j];
    }
  }
  PermutedMatrix::Order order;
  bool moves = false;
  for (std::size_t first = 0; BasicMatrix<float> & each : losses) {
    ChannelPermutation permutation(std::move(each), structure.keep, structure.of);
    const double before = permutation.kept();
    const std::vector<std::uint32_t>& found = permutation.find(pool);
    const bool helps = permutation.kept() > before;
    moves = moves || helps;
    for (std::uint32_t i = 0; i < ranges.width; ++i) {
      order.push_back(static_cast<std::uint32_t>(first) + (helps ? found[i] : i));
    }
    first += ranges.width;
  }
  return moves ? order : PermutedMatrix::Order();
}

}  // namespace detail

/// Permutes the columns of the layer of `role`, and the rows that make what it reads: of `down` those of gate and up, of
/// `output` those of the values, inside of each head. The model computes the same. `inputs` [tokens, columns]: what the
/// layer reads of some text. Whether another order is better than that of the file. Errors: memory.
inline bool order_channels(const Architecture& model, std::size_t layer, LinearRole role,
                           const SparsityStructure& structure, MatrixView<const float> inputs, EditedTensors& tensors,
                           ThreadPool& pool) {
  const bool is_attention = role == LinearRole::output;
  const std::string name = layer_names(model, layer, role).front();
  const std::shared_ptr<const WeightSource> reader = tensors.matrix(name);
  detail::ChannelRanges ranges{reader->columns(), 1};
  if (is_attention) ranges = {model.head_dim, model.heads / model.kv_heads};
  if (ranges.width % structure.of != 0) return false;
  const PermutedMatrix::Order order = detail::find_order(*reader, ranges, structure, detail::squares_of(inputs), pool);
  if (order.empty()) return false;

  PermutedMatrix::Order columns;
  for (std::size_t j = 0; j < reader->columns(); ++j) {
    const std::size_t block = j / (ranges.width * ranges.shared), in_range = j % ranges.width;
    const std::size_t made_by = order[block * ranges.width + in_range];
    columns.push_back(static_cast<std::uint32_t>(j - in_range + made_by % ranges.width));
  }
  tensors.replace(name, std::make_shared<const PermutedMatrix>(reader, PermutedMatrix::Order(), std::move(columns)));
  const std::vector<std::string> makers =
      layer_names(model, layer, is_attention ? LinearRole::query_key_value : LinearRole::up);
  PermutedMatrix::Order lies(order.size());
  if (is_attention) {
    const RowOrder& values = model.value_order;
    for (std::uint32_t i = 0; i < lies.size(); ++i) {
      lies[i] = values.as_it_lies() ? i : static_cast<std::uint32_t>(values[i]);
    }
    detail::permute_rows(tensors, makers.back(), lies, order);
    return true;
  }
  for (const std::string& maker : makers) {
    const std::size_t rows = tensors.matrix(maker)->rows();
    for (std::size_t first = 0; first < rows; first += order.size()) {  // gate and up may be one matrix
      std::iota(lies.begin(), lies.end(), static_cast<std::uint32_t>(first));
      detail::permute_rows(tensors, maker, lies, order);
    }
  }
  return true;
}

}  // namespace tulle
