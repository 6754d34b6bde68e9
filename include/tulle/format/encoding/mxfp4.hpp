// SPDX-License-Identifier: Apache-2.0
/// \file Rows of MXFP4 in GPT-OSS's files, on the hub and in GGUF: floats of 4 bits, a power of two for 32 of them (L3).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <tulle/format/encoding/coded_rows.hpp>
#include <tulle/format/encoding/file_rows.hpp>

namespace tulle {

namespace detail {

/// Twice the values 0, 0.5, 1, 1.5, 2, 3, 4, 6, and their negatives: E2M1 of the OCP Microscaling Formats, 2023.
inline constexpr std::array<std::int8_t, 16> doubled_fp4{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// Byte b of a row: column 2 b in its low half, 2 b + 1 in its high half.
inline void unpack_mxfp4(const CodeStorage& storage, std::size_t row, std::size_t columns, std::byte* codes) noexcept {
  const std::byte* bytes = storage.bytes->span().data() + row * (columns / 2);
  for (std::size_t i = 0; i < columns / 2; ++i) {
    const auto pair = std::to_integer<std::size_t>(bytes[i]);
    codes[2 * i] = static_cast<std::byte>(doubled_fp4[pair & 15]);
    codes[2 * i + 1] = static_cast<std::byte>(doubled_fp4[pair >> 4]);
  }
}

/// Of twice the values.
inline float mxfp4_scale(std::byte power) noexcept {
  return std::ldexp(1.0f, std::to_integer<int>(power) - 128);
}

/// GGUF's block: the power, nibbles.
inline constexpr BlockLayout mxfp4_block{
    .low = {1, 4, 16}, .table = doubled_fp4.data(), .load_scale = [](const std::byte* power) noexcept {
      return mxfp4_scale(*power);
    }};

}  // namespace detail

inline constexpr RowEncoding mxfp4_rows{DType::mxfp4, {.bits = 5, .group = 32}, detail::mxfp4_block};

/// `blocks`: "P_blocks" U8 [rows, groups, 16], beside "P_scales" U8 [rows, groups]; value = FP4 * 2^(scale - 127). Becomes
/// int8 codes with a scale for 32 columns, which keep every value.
/// Errors: not_found and malformed, with the tensor's name.
inline std::shared_ptr<const WeightSource> open_mxfp4_rows(const TensorSource& source, const EncodedTensor& blocks) {
  const auto& shape = blocks.shape;
  if (blocks.dtype != DType::u8 || shape.size() != 3 || shape[2] != 16 || shape[1] == 0) {
    detail::fail_tensor(blocks, "must be U8 with a row of blocks of 16 bytes for each row");
  }
  const std::size_t rows = shape[0], groups = shape[1];
  const std::string stem = blocks.name.substr(0, blocks.name.rfind('_'));
  const EncodedTensor& powers = detail::find_beside(source, stem + "_scales", blocks);
  if (powers.dtype != DType::u8 || !detail::has_shape(powers, rows, groups)) {
    detail::fail_tensor(powers, "must be U8 with a scale for each block");
  }
  CodeScales scales{.group = 32};
  const TensorBytes bytes(source, powers);
  for (const std::byte power : bytes.span()) {
    scales.scales.push_back(detail::mxfp4_scale(power));
  }
  return std::make_shared<const CodedRows>(
      CodeStorage{std::make_unique<const MatrixBytes>(source, blocks), nullptr, {}, detail::unpack_mxfp4}, rows,
      32 * groups, 8, std::move(scales));
}

}  // namespace tulle
