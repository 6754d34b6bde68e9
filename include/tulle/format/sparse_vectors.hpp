// SPDX-License-Identifier: Apache-2.0
/// \file Norms and biases that compressed-tensors up to 0.8 stored in its sparse form (L3).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/input_file.hpp>
#include <tulle/format/encoding/sparse_bitmask.hpp>
#include <tulle/format/tensor_files.hpp>

namespace tulle {

/// Adds each vector "Q.weight" or "Q.bias" that lies in the tensors "Q.weight.bitmask" and so on (from 0.9 on:
/// "Q.bitmask"). Matrices stay as they are. Errors: not_found, malformed and unsupported, with the tensor's name.
inline void expand_sparse_vectors(TensorFiles& tensors, std::string_view where) {
  struct Expanded {
    std::vector<std::byte> bytes;
    InputFile file;
    explicit Expanded(std::vector<std::byte> made) : bytes(std::move(made)), file(std::span<const std::byte>(bytes)) {}
  };
  constexpr std::string_view end = ".bitmask";
  for (const std::string& name : tensors.names()) {
    const EncodedTensor& mask = *tensors.find(name);
    if (!name.ends_with(end) || mask.shape.size() != 1) continue;
    const std::string stem = name.substr(0, name.size() - end.size());
    const bool is_whole = stem.ends_with(".weight") || stem.ends_with(".bias");
    const DType dtype = detail::find_beside(tensors, stem + ".compressed", mask).dtype;
    const auto expanded = std::make_shared<const Expanded>(expand_sparse_vector(tensors, mask));
    const InputFile& file = tensors.keep(std::shared_ptr<const InputFile>(expanded, &expanded->file));
    const std::size_t elements = expanded->bytes.size() / dtype_info(dtype).block_bytes;
    tensors.add({is_whole ? stem : stem + ".weight", dtype, {elements}, {}}, file, where);
  }
}

}  // namespace tulle
