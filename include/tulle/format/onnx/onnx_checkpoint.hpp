// SPDX-License-Identifier: Apache-2.0
/// \file Directories with model.onnx, as DeepSparse's deployment directories: config.json says what the model is, the graph
/// only which matrix is which (L3).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <tulle/core/input_file.hpp>
#include <tulle/format/checkpoint_opener.hpp>
#include <tulle/format/hub_names.hpp>
#include <tulle/format/onnx/onnx_graph.hpp>
#include <tulle/format/onnx/onnx_storage.hpp>
#include <tulle/format/onnx/onnx_tensors.hpp>
#include <tulle/format/onnx/onnx_weights.hpp>
#include <tulle/format/safetensors_checkpoint.hpp>

namespace tulle {

namespace detail {

/// Errors: malformed, unsupported, not_found; those of reading.
inline void open_onnx(const ModelFiles& files, const std::string& name, CheckpointParts& parts) {
  const InputFile& file = parts.tensors.keep(files.open(name));
  const std::string where = files.path(name);
  const std::span<const std::byte> bytes = file.view();
  const OnnxGraph graph(bytes, where);
  const OnnxWeights weights(graph, where);
  OnnxStorage storage(files, name, file, bytes, parts.tensors);
  OnnxTensors tensors(storage, parts.tensors);
  bool has_codes = false;
  for (const auto& [parameter, weight] : weights.all()) {
    tensors.add(parameter, weight);
    has_codes = has_codes || (weight.is_matrix && weight.scale != nullptr);
  }
  tensors.finish();
  file.release(bytes);
  // The graph's head need not have the codes of the embedding that the config says it shares.
  if (has_codes && weights.all().contains("lm_head.weight")) parts.config["tie_word_embeddings"] = false;
  // Here matrices are [out, in] already, which `complete_hub_names` then makes of GPT-2's.
  parts.tensors.change(
      [&](EncodedTensor tensor, auto&& put) {
        if (tensor.shape.size() == 2 && is_float_dtype(tensor.dtype) &&
            is_transposed_in_hub(parts.config, tensor.name)) {
          std::swap(tensor.shape[0], tensor.shape[1]);
          tensor.transposed = !tensor.transposed;
        }
        put(std::move(tensor));
      },
      where);
}

inline constexpr char onnx_name[] = "model.onnx";

}  // namespace detail

inline constexpr CheckpointOpener onnx_opener{"onnx", detail::find_huggingface<detail::onnx_name>,
                                              detail::native_only(detail::open_one_file<detail::open_onnx>)};

}  // namespace tulle
