// SPDX-License-Identifier: Apache-2.0
/// \file Rows of packed codes of 4 or 8 bits: compressed-tensors' pack-quantized (L3).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <tulle/format/encoding/coded_rows.hpp>

namespace tulle {

namespace detail {

/// Codes are stored as code + 2^(bits - 1), low bits first; a row ends at a whole 32-bit word (compressed-tensors,
/// `pack_to_int32`). Bytes: [rows, ceil(columns * bits / 32)] words.
inline void unpack_packed_8(const CodeStorage& storage, std::size_t row, std::size_t columns,
                            std::byte* codes) noexcept {
  const std::byte* bytes = storage.bytes->span().data() + row * ((columns + 3) / 4 * 4);
  for (std::size_t column = 0; column < columns; ++column) codes[column] = bytes[column] ^ std::byte{128};
}
inline void unpack_packed_4(const CodeStorage& storage, std::size_t row, std::size_t columns,
                            std::byte* codes) noexcept {
  const std::byte* bytes = storage.bytes->span().data() + row * ((columns + 7) / 8 * 4);
  const auto code = [](int nibble) { return static_cast<std::byte>(nibble - 8); };
  for (std::size_t i = 0; i < columns / 2; ++i) {
    codes[2 * i] = code(static_cast<int>(bytes[i]) & 15);
    codes[2 * i + 1] = code(static_cast<int>(bytes[i]) >> 4);
  }
  if (columns % 2 != 0) codes[columns - 1] = code(static_cast<int>(bytes[columns / 2]) & 15);
}

/// The bits of a code, which the width of a row tells. Errors: unsupported for other than 4 and 8 bits and for rows of
/// less than 5 columns; malformed.
inline std::size_t packed_bits(const EncodedTensor& packed, std::size_t rows, std::size_t columns) {
  const std::size_t of_4 = (columns + 7) / 8, of_8 = (columns + 3) / 4;
  if (packed.dtype != DType::i32 || packed.shape.size() != 2 || packed.shape[0] != rows || rows == 0) {
    fail_tensor(packed, "must be I32 with a row of words for each row of its \"weight_shape\"");
  }
  if (of_4 != of_8 && packed.shape[1] == of_4) return 4;
  if (of_4 != of_8 && packed.shape[1] == of_8) return 8;
  fail_tensor(packed, "must hold codes of 4 or 8 bits in rows of 5 columns or more", ErrorCode::unsupported);
}

}  // namespace detail

/// `packed`: "P.weight_packed" I32, beside "P.weight_shape" I64 [2] and what `read_code_scales` reads.
/// Errors: not_found, malformed and unsupported, with the tensor's name.
inline std::shared_ptr<const WeightSource> open_packed_rows(const TensorSource& source, const EncodedTensor& packed) {
  const std::string weight = packed.name.substr(0, packed.name.rfind('_'));
  const auto shape = detail::read_sizes(source, detail::find_beside(source, weight + "_shape", packed), 2);
  const std::size_t bits = detail::packed_bits(packed, shape[0], shape[1]);
  CodeScales scales = read_code_scales(source, packed, weight, shape[0], shape[1], bits);
  return std::make_shared<const CodedRows>(CodeStorage{std::make_unique<const MatrixBytes>(source, packed),
                                                       nullptr,
                                                       {},
                                                       bits == 8 ? detail::unpack_packed_8 : detail::unpack_packed_4},
                                           shape[0], shape[1], bits, std::move(scales));
}

}  // namespace tulle
