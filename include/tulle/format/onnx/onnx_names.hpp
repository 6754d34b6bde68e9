// SPDX-License-Identifier: Apache-2.0
/// \file The parameters that names in an ONNX file stand for (L3).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace tulle::detail {

/// `text` without `end` where it ends so.
inline std::string_view without_end(std::string_view text, std::string_view end) noexcept {
  if (text.ends_with(end)) text.remove_suffix(end.size());
  return text;
}

/// A module's name without the wrapper that PyTorch's quantization puts around one ("P.module").
inline std::string_view unwrapped_module(std::string_view module) noexcept {
  return without_end(module, ".module");
}

/// The parameter that an initializer is by its own name: "P.weight" or "P.bias" of "P.weight", "P.module.weight",
/// "P.weight_quantized" (ONNX Runtime, SparseML) or "P.weight_quant" (SparseML's embeddings). "" for names that exporters
/// invent ("onnx::MatMul_12") or make of a node's ("/P/MatMul.weight_quantized", "MatMul_12.weight_quantized").
inline std::string parameter_name(std::string_view initializer) {
  if (initializer.find_first_of("/:") != std::string_view::npos) return "";
  initializer = without_end(without_end(initializer, "_quantized"), "_quant");
  for (const std::string_view end : std::array<std::string_view, 2>{".weight", ".bias"}) {
    if (!initializer.ends_with(end)) continue;
    const std::string_view module = unwrapped_module(without_end(initializer, end));
    for (const std::string_view op : std::array<std::string_view, 3>{"MatMul_", "Gemm_", "Gather_"}) {
      if (module.starts_with(op)) return "";
    }
    return std::string(module).append(end);
  }
  return "";
}

/// The module whose code made a node, by the scope that torch.onnx puts into its name since torch 1.13: "P.Q" of
/// "/P/Q/MatMul" and "/P/Q/module/MatMul_quant". "" for names without one.
inline std::string module_of_name(std::string_view node) {
  const std::size_t end = node.rfind('/');
  if (!node.starts_with('/') || end == 0 || end == std::string_view::npos) return "";
  std::string module(node.substr(1, end - 1));
  for (char& letter : module) letter = letter == '/' ? '.' : letter;
  return std::string(unwrapped_module(module));
}

/// The same of the scopes that torch.onnx.export(dynamo=True) writes down: "P.Q" of "['', 'P', 'P.Q', 'linear']".
inline std::string_view module_of_scopes(std::string_view scopes) {
  constexpr std::string_view between = "', '";
  const std::size_t end = scopes.rfind(between);
  if (end == std::string_view::npos) return "";
  const std::size_t begin = scopes.substr(0, end).rfind(between);
  return begin == std::string_view::npos ? "" : scopes.substr(begin + between.size(), end - begin - between.size());
}

}  // namespace tulle::detail
