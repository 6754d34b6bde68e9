// SPDX-License-Identifier: Apache-2.0
/// \file Tensors that hold all experts of a layer, as a tensor for each of them (L3).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/row_order.hpp>

namespace tulle::detail {

/// Part `index` of `count` equal ones along a tensor's first extent, without that extent. Nothing is copied.
/// Errors: malformed where the bytes cannot be divided.
inline EncodedTensor part_of_tensor(const EncodedTensor& whole, std::size_t index, std::string name) {
  EncodedTensor part = whole;
  part.name = std::move(name);
  part.shape.erase(part.shape.begin());
  const std::size_t bytes = part.size_bytes();
  part.file_offset += index * bytes;
  if (!whole.bytes.empty()) part.bytes = whole.bytes.subspan(index * bytes, bytes);
  return part;
}

/// GPT-OSS's experts, "P.mlp.experts.NAME" [experts, ...], as "P.mlp.experts.E.gate_proj", "up_proj" and "down_proj", each
/// with ".weight" and ".bias", or "_blocks", "_scales" and ".bias". Rows of gate and up lie alternately in one tensor;
/// weights without blocks are transposed. Source: transformers 5.17, modeling_gpt_oss.py. Errors: malformed.
template <class Put>
void split_gpt_oss_experts(EncodedTensor tensor, Put&& put) {
  constexpr std::string_view inside = ".mlp.experts.";
  const std::size_t at = tensor.name.find(inside);
  if (at == std::string::npos) return put(std::move(tensor));
  const std::string prefix = tensor.name.substr(0, at + inside.size());
  std::string kind = tensor.name.substr(prefix.size());  // gate_up_proj_bias
  const bool is_down = kind.starts_with("down_proj"), is_fused = kind.starts_with("gate_up_proj");
  if (!is_down && !is_fused) return put(std::move(tensor));
  kind.erase(0, is_down ? 9 : 12);
  const bool is_weight = kind.empty(), is_bias = kind == "_bias";
  const std::size_t extents = is_bias ? 2 : kind == "_blocks" ? 4 : 3;
  if (tensor.shape.size() != extents || tensor.shape[0] > 65536 || tensor.elements() == 0) {
    fail(ErrorCode::malformed, "tensor \"", tensor.name, "\" must have ", extents,
         " extents, none of them 0 and the first that of at most 65536 experts");
  }
  for (std::size_t expert = 0; expert < tensor.shape[0]; ++expert) {
    const auto put_part = [&](const char* name, std::size_t first, std::size_t stride) {
      EncodedTensor part = part_of_tensor(tensor, expert,
                                          prefix + std::to_string(expert) + "." + name +
                                              (is_weight ? ".weight"
                                               : is_bias ? ".bias"
                                                         : kind));
      if (is_weight) {
        std::swap(part.shape[0], part.shape[1]);
        part.transposed = true;
      }
      if (stride != 1) part.order = RowOrder::of_blocks(part.shape[0] / stride, stride, first, 1);
      put(std::move(part));
    };
    if (is_down) {
      put_part("down_proj", 0, 1);
    } else {
      put_part("gate_proj", 0, 2);
      put_part("up_proj", 1, 2);
    }
  }
}

}  // namespace tulle::detail
