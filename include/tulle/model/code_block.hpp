// SPDX-License-Identifier: Apache-2.0
/// \file Blocks of queries by pieces of int8 keys and values, multiplied as integers (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <tulle/core/checked.hpp>
#include <tulle/model/attention_codes.hpp>
#include <tulle/model/attention_rows.hpp>
#include <tulle/model/float_block.hpp>
#include <tulle/model/query_block.hpp>
#include <tulle/tensor/isa.hpp>

namespace tulle::detail {

#if defined(TULLE_X86)

/// Queries, and weights times the scales of values, are codes of 16 bits, with a scale for each query and for its
/// weights in each piece. Products of codes are exact, so every instruction set has the same.
class CodeBlock final : public QueryBlock {
 public:
  /// Requires at most `attention_block` queries; head_dim <= max_head_dim.
  CodeBlock(const AttentionRows& of, std::size_t head_dim) noexcept
      : QueryBlock(of, head_dim), stride_(round_up(head_dim, lane_multiple)) {
    std::fill_n(unseen_.data(), head_dim, 0.0f);
    std::array<float, max_head_dim> padded;
    std::fill_n(padded.data(), stride_, 0.0f);
    for (std::size_t i = 0; i < queries_; ++i) {
      const float* query = attentions_[i].query();
      if (stride_ != head_dim) query = (std::copy_n(query, head_dim, padded.data()), padded.data());
      attentions_[i].scale_products(with_instruction_set<isa::Active>(
          [&](auto tag) { return to_codes(tag, query, nullptr, stride_, codes_.data() + i * stride_); }));
    }
  }

  void visit(const AttentionPiece<std::int8_t>& piece) noexcept {
    see(piece);
    with_instruction_set<isa::Active>([&](auto tag) {
      pair_keys(tag, piece.keys, piece.count, head_dim_, keys_.data());
      bool first = true;  // which brings in what follows
      for_each_group([&](std::size_t i, std::size_t count) noexcept {
        const std::size_t rows = seen_by(i, count);
        if (rows == 0) return;
        score(tag, rows, i, count, ahead(first, piece.values, piece.count));
        fold(tag, piece, nullptr, i, count, weights_.data());
        encode_weights(tag, piece, rows, i, count);
        if (first) pair_values(tag, piece.values, piece.count, head_dim_, values_.data());
        add(tag, rows, i, count,
            ahead(first, piece.next.rows, std::min<std::size_t>(piece.next.count, attention_tile)));
        first = false;
      });
    });
  }

 private:
  /// These rows, or nothing.
  Ahead ahead(bool is, const std::int8_t* rows, std::size_t count) const noexcept {
    return is ? Ahead{rows, count * head_dim_} : Ahead{};
  }

  /// The first rows of a piece, as many as any of the queries attends to.
  std::size_t seen_by(std::size_t i, std::size_t count) const noexcept {
    std::size_t rows = 0;
    for (std::size_t q = i; q < i + count; ++q) rows = std::max(rows, seen_[q].end);
    return rows;
  }

  /// Products with these rows' keys, also with those that a query does not attend to.
  template <class Isa>
  void score(Isa tag, std::size_t rows, std::size_t i, std::size_t count, const Ahead& ahead) noexcept {
    float* out[queries_at_once];
    for (std::size_t q = 0; q < count; ++q) out[q] = weights_[q].data();
    const PairLanes keys{keys_.data(), (head_dim_ + 1) / 2, round_up(rows, lane_multiple), attention_tile};
    multiply_pairs(tag, {codes_.data() + i * stride_, stride_}, count, keys, out, ahead);
  }

  /// Codes of the weights times the scales of the values; 0 where a query does not attend.
  template <class Isa>
  void encode_weights(Isa tag, const AttentionPiece<std::int8_t>& piece, std::size_t rows, std::size_t i,
                      std::size_t count) noexcept {
    const std::size_t padded = round_up(rows, lane_multiple);
    for (std::size_t q = 0; q < count; ++q) {
      float* weights = weights_[q].data();
      const float* factors = piece.value_scales;
      if (!see_all(i + q, 1)) {
        const auto [begin, end] = seen_[i + q];
        std::fill_n(weights, begin, 0.0f);
        for (std::size_t k = begin; k < end; ++k) weights[k] *= factors[k];
        std::fill(weights + end, weights + padded, 0.0f);
        factors = nullptr;
      }
      scales_[q] = to_codes(tag, weights, factors, padded, weight_codes_[q].data());
    }
  }

  template <class Isa>
  void add(Isa tag, std::size_t rows, std::size_t i, std::size_t count, const Ahead& ahead) noexcept {
    float* out[queries_at_once];
    for (std::size_t q = 0; q < count; ++q) {
      out[q] = seen_[i + q].end != 0 ? attentions_[i + q].out() : unseen_.data();
    }
    const CodeRows weights{weight_codes_[0].data(), attention_tile, scales_.data()};
    const std::size_t pairs = (rows + 1) / 2, whole = head_dim_ / lane_multiple * lane_multiple;
    multiply_pairs(tag, weights, count, {values_.data(), pairs, whole, head_dim_}, out, ahead);
    for (std::size_t q = 0; q < count; ++q) out[q] += whole;
    multiply_pairs(isa::Scalar{}, weights, count, {values_.data() + 2 * whole, pairs, head_dim_ - whole, head_dim_},
                   out, {});
  }

  std::size_t stride_;                                                          // of the codes of a query
  std::array<float, max_head_dim> unseen_;                                      // what queries get that do not attend
  alignas(64) std::array<std::int16_t, attention_block * max_head_dim> codes_;  // [queries, stride_]
  alignas(64) std::array<std::int16_t, attention_tile * max_head_dim> keys_, values_;  // in pairs
  // Of one group of queries at a time.
  std::array<PieceWeights, queries_at_once> weights_;
  std::array<TileCodes, queries_at_once> weight_codes_;
  std::array<float, queries_at_once> scales_;
};

template <class Element>
using BlockOf = std::conditional_t<std::is_same_v<Element, std::int8_t>, CodeBlock, FloatBlock>;

#else  // a fused multiplication of floats does as much there as an instruction that multiplies pairs of codes and an addition

template <class>
using BlockOf = FloatBlock;

#endif

}  // namespace tulle::detail
