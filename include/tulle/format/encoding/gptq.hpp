// SPDX-License-Identifier: Apache-2.0
/// \file Codes that lie column by column: checkpoints of GPTQ and AWQ (L3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tulle/format/encoding/coded_rows.hpp>

namespace tulle {

namespace detail {

inline std::byte code_of_word(std::uint32_t word, std::size_t bits, std::size_t at) noexcept {
  return static_cast<std::byte>((word >> (bits * at) & ((1u << bits) - 1)) - (1u << (bits - 1)));
}

/// GPTQ: words [columns * bits / 32, rows], each with neighbours of one row, the first in the lowest bits.
template <std::size_t Bits>
void unpack_gptq(const CodeStorage& storage, std::size_t row, std::size_t columns, std::byte* codes) noexcept {
  const std::size_t words = columns * Bits / 32, stride = storage.bytes->span().size() / words;
  const std::byte* word = storage.bytes->span().data() + 4 * row;
  for (std::size_t i = 0; i < words; ++i, word += stride) {
    const auto bits = load_unaligned<std::uint32_t>(word);
    for (std::size_t at = 0; at < 32 / Bits; ++at) *codes++ = code_of_word(bits, Bits, at);
  }
}

/// Where AWQ puts 8 neighbours in a word: the even ones in the low half, the odd ones in the high half.
inline constexpr std::array<std::uint8_t, 8> awq_places{0, 4, 1, 5, 2, 6, 3, 7};

/// AWQ: words [columns, rows / 8], each with 8 rows of one column.
inline void unpack_awq(const CodeStorage& storage, std::size_t row, std::size_t columns, std::byte* codes) noexcept {
  const std::size_t stride = storage.bytes->span().size() / columns;
  const std::byte* word = storage.bytes->span().data() + row / 8 * 4;
  for (std::size_t i = 0; i < columns; ++i, word += stride) {
    codes[i] = code_of_word(load_unaligned<std::uint32_t>(word), 4, awq_places[row % 8]);
  }
}

/// "P.qzeros" I32 [groups, rows * bits / 32], packed along the rows as AWQ's codes, or one after the other. A tensor of
/// GPTQ's first version holds one less than the zero points and has the `offset` 1, which is added to each of a word at
/// once: the inverse of how it was taken away, carry included (gptqmodel, convert_gptq_v1_to_v2_format). [rows, groups]
inline std::vector<std::int8_t> read_zero_words(const TensorSource& source, const EncodedTensor& tensor,
                                                std::size_t rows, std::size_t groups, std::size_t bits, bool is_awq) {
  const std::size_t in_word = 32 / bits, words = rows / in_word;
  if (tensor.dtype != DType::i32 || !has_shape(tensor, groups, words)) {
    fail_tensor(tensor, "must be I32 with a zero point for every scale");
  }
  const std::uint32_t one = is_awq ? 0 : static_cast<std::uint32_t>(tensor.offset);
  const std::uint32_t ones = (bits == 4 ? 0x11111111 : 0x01010101) * one;
  const TensorBytes bytes(source, tensor);
  std::vector<std::int8_t> zeros(rows * groups);
  for (std::size_t i = 0; i < zeros.size(); ++i) {
    const std::size_t row = i / groups, group = i % groups, place = row % in_word;
    const auto word = load_unaligned<std::uint32_t>(bytes.span().data() + 4 * (group * words + row / in_word));
    zeros[i] = static_cast<std::int8_t>(code_of_word(word + ones, bits, is_awq ? awq_places[place] : place));
  }
  return zeros;
}

}  // namespace detail

/// `words`: "P.qweight" I32, beside "P.scales" [groups, rows] and "P.qzeros": value = scale * (code - zero point), codes
/// from 0 on. GPTQ: 4 or 8 bits, perhaps with "P.g_idx" I32 [columns], the group of each column. AWQ: 4 bits.
/// Errors: not_found, malformed and unsupported, with the tensor's name.
inline std::shared_ptr<const WeightSource> open_gptq_rows(const TensorSource& source, const EncodedTensor& words) {
  const std::string layer = words.name.substr(0, words.name.rfind('.') + 1);
  const EncodedTensor& scale = detail::find_beside(source, layer + "scales", words);
  const EncodedTensor& zero = detail::find_beside(source, layer + "qzeros", words);
  if (!is_float_dtype(scale.dtype) || scale.shape.size() != 2 || scale.elements() == 0) {
    detail::fail_tensor(scale, "must hold floats [groups, rows]");
  }
  const std::size_t groups = scale.shape[0], rows = scale.shape[1];
  const bool is_matrix = words.dtype == DType::i32 && words.shape.size() == 2 && words.elements() != 0;
  const bool is_awq = is_matrix && rows % 8 == 0 && words.shape[1] == rows / 8;
  if (!is_matrix || (!is_awq && words.shape[1] != rows)) {
    detail::fail_tensor(words,
                        "must be I32 with as many rows as its \"scales\", packed as GPTQ or AWQ (\"gemm\") does");
  }
  const std::size_t bits = !is_awq && zero.shape.size() == 2 && zero.shape[1] == rows / 4 ? 8 : 4;
  if (rows % (32 / bits) != 0) detail::fail_tensor(scale, "has rows that are no whole number of words");
  const std::size_t columns = is_awq ? words.shape[0] : words.shape[0] * (32 / bits);

  CodeScales scales;
  const EncodedTensor* index = is_awq ? nullptr : source.find(layer + "g_idx");
  if (index != nullptr) {
    detail::GroupIndex found = detail::read_group_index(source, *index, columns, groups);
    scales.group = found.group;
    scales.group_of = std::move(found.group_of);
  } else {
    if (columns % groups != 0) detail::fail_tensor(scale, "has groups of which a row is no whole number");
    scales.group = groups == 1 ? 0 : columns / groups;
  }
  scales.zeros = detail::read_zero_words(source, zero, rows, groups, bits, is_awq);
  const std::vector<float> by_group = read_floats(source, scale);
  scales.scales.resize(by_group.size());
  for (std::size_t i = 0; i < by_group.size(); ++i) scales.scales[i % rows * groups + i / rows] = by_group[i];
  CodeStorage storage{std::make_unique<const MatrixBytes>(source, words),
                      nullptr,
                      {},
                      is_awq      ? detail::unpack_awq
                      : bits == 8 ? detail::unpack_gptq<8>
                                  : detail::unpack_gptq<4>};
  return std::make_shared<const CodedRows>(std::move(storage), rows, columns, bits, std::move(scales));
}

}  // namespace tulle
