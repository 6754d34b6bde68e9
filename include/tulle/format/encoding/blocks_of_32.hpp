// SPDX-License-Identifier: Apache-2.0
/// \file GGUF's blocks of 32 columns with a scale, and perhaps a minimum: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, IQ4_NL (L3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <tulle/format/encoding/file_rows.hpp>

namespace tulle {

namespace detail {

/// f16 scale; nibbles that are 8 too large.
inline constexpr BlockLayout q4_0_block{.low = {2, 4, 16}, .zero = 8};

/// f16 scale; f16 minimum; nibbles.
inline constexpr BlockLayout q4_1_block{.low = {4, 4, 16}, .minimum_at = 2};

/// f16 scale; 32 fifth bits; nibbles. Codes are 16 too large.
inline constexpr BlockLayout q5_0_block{.low = {6, 4, 16}, .high = {2, 1, 1}, .zero = 16};

/// f16 scale; f16 minimum; 32 fifth bits; nibbles.
inline constexpr BlockLayout q5_1_block{.low = {8, 4, 16}, .high = {4, 1, 1}, .minimum_at = 2};

/// f16 scale; codes.
inline constexpr BlockLayout q8_0_block{.low = {2, 8, 32}};

/// The 16 values that a code of IQ4_NL or IQ4_XS stands for (ggml-common.h, kvalues_iq4nl).
inline constexpr std::array<std::int8_t, 16> iq4_values{-127, -104, -83, -65, -49, -35, -22, -10,
                                                        1,    13,   25,  38,  53,  69,  89,  113};

/// f16 scale; nibbles.
inline constexpr BlockLayout iq4_nl_block{.low = {2, 4, 16}, .table = iq4_values.data()};

}  // namespace detail

inline constexpr RowEncoding q4_0_rows{DType::q4_0, {.bits = 4, .group = 32, .half_scales = true}, detail::q4_0_block};
inline constexpr RowEncoding q4_1_rows{
    DType::q4_1, {.bits = 4, .group = 32, .has_minimums = true, .half_scales = true}, detail::q4_1_block};
inline constexpr RowEncoding q5_0_rows{DType::q5_0, {.bits = 5, .group = 32, .half_scales = true}, detail::q5_0_block};
inline constexpr RowEncoding q5_1_rows{
    DType::q5_1, {.bits = 5, .group = 32, .has_minimums = true, .half_scales = true}, detail::q5_1_block};
inline constexpr RowEncoding q8_0_rows{DType::q8_0, {.bits = 8, .group = 32, .half_scales = true}, detail::q8_0_block};
inline constexpr RowEncoding iq4_nl_rows{
    DType::iq4_nl, {.bits = 8, .group = 32, .half_scales = true}, detail::iq4_nl_block};

}  // namespace tulle
