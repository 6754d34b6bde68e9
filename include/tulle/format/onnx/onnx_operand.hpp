// SPDX-License-Identifier: Apache-2.0
/// \file What the inputs of an ONNX graph's nodes come from (L3).
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <tulle/format/onnx/onnx_graph.hpp>
#include <tulle/format/onnx/onnx_names.hpp>

namespace tulle::detail {

/// The module whose code made a node, or "".
inline std::string onnx_module(const OnnxNode& node) {
  std::string module = module_of_name(node.name);
  return module.empty() ? std::string(module_of_scopes(node.scopes)) : module;
}

/// What an input of a node is made of: a tensor, perhaps behind nodes that turn it or quantize it.
struct OnnxOperand {
  const OnnxTensor* values = nullptr;  ///< nullptr: an activation
  bool turned = false;
  const OnnxNode* dequantize = nullptr;
  bool rounds = false;
};

/// Passes Transpose (of matrices), DequantizeLinear, the QuantizeLinear before it, Cast and Identity.
inline OnnxOperand onnx_operand(const OnnxGraph& graph, std::string_view value) {
  OnnxOperand operand;
  for (int step = 0; step < 8; ++step) {
    operand.values = graph.tensor(value);
    if (operand.values != nullptr) return operand;
    const OnnxNode* node = graph.producer(value);
    if (node == nullptr || !node->is_standard()) break;
    if (node->op == "Transpose") {
      const OnnxAttribute* order = node->attribute("perm");
      const bool swaps = order == nullptr || (order->numbers.size() == 2 && order->numbers[0] == 1);
      if (!swaps || operand.dequantize != nullptr) break;
      operand.turned = !operand.turned;
    } else if (node->op == "DequantizeLinear" && operand.dequantize == nullptr) {
      operand.dequantize = node;
    } else if (node->op == "QuantizeLinear" && operand.dequantize != nullptr && !operand.rounds &&
               node->input(1) == operand.dequantize->input(1) && node->input(2) == operand.dequantize->input(2)) {
      operand.rounds = true;
    } else if (node->op != "Cast" && node->op != "Identity") {
      break;
    }
    value = node->input(0);
  }
  return {};
}

/// That of the QuantizeLinear that made an activation, or nullptr.
inline const OnnxTensor* activation_scale(const OnnxGraph& graph, std::string_view value) {
  constexpr std::array<std::string_view, 5> moves{"Reshape", "Transpose", "Identity", "Squeeze", "Unsqueeze"};
  for (int step = 0; step < 8; ++step) {
    const OnnxNode* node = graph.producer(value);
    if (node == nullptr) return nullptr;
    if (node->op == "QuantizeLinear") return graph.tensor(node->input(1));
    if (node->op == "QLinearMatMul") return graph.tensor(node->input(6));
    bool found = false;
    for (const std::string_view move : moves) found = found || node->op == move;
    if (!found) return nullptr;
    value = node->input(0);
  }
  return nullptr;
}

}  // namespace tulle::detail
