// SPDX-License-Identifier: Apache-2.0
/// \file One layer of a decoder as data: sizes, window, rotation, MLP, residual form and biases (L3).
#pragma once

#include <cstddef>

#include <tulle/cache/cache_layout.hpp>

namespace tulle {

enum class MlpKind { gated_silu, gelu };  ///< down(silu(gate(x)) * up(x)), or down(gelu_new(up(x)))

/// How a layer's two branches join the residual stream x, and so where its norms stand.
enum class Residual {
  sequential,  ///< x += attention(norm_1(x)), then x += mlp(norm_2(x))
  parallel,    ///< x += attention(norm(x)) + mlp(norm(x)), with one norm
};

/// A family that has one kind of layer fills `Architecture::layers` with one value.
struct LayerSpec {
  std::size_t intermediate = 0;  ///< columns of `down`
  Window window{};               ///< positions that a query attends to
  std::size_t rotary = 0;        ///< index in `Architecture::rotary_tables`
  MlpKind mlp = MlpKind::gated_silu;
  Residual residual = Residual::sequential;
  bool qkv_bias = false, output_bias = false, mlp_bias = false;

  /// Rows of `up`: gate then up, or up alone.
  std::size_t up_rows() const noexcept { return mlp == MlpKind::gated_silu ? 2 * intermediate : intermediate; }
};

}  // namespace tulle
