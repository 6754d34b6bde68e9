// SPDX-License-Identifier: Apache-2.0
/// \file Which initializers of an ONNX graph are which parameters, and what makes values of their codes (L3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/error.hpp>
#include <tulle/format/onnx/onnx_graph.hpp>
#include <tulle/format/onnx/onnx_names.hpp>
#include <tulle/format/onnx/onnx_operand.hpp>
#include <tulle/format/quoted_name.hpp>

namespace tulle::detail {

/// A parameter. With `scale` its elements are codes: value = scale / divisor * (code - zero).
struct OnnxWeight {
  const OnnxTensor* values = nullptr;
  bool is_matrix = false;
  bool transposed = false;                                                 ///< the elements are [in, out]
  const OnnxTensor *scale = nullptr, *divisor = nullptr, *zero = nullptr;  ///< of all, or one for each row
  std::int64_t axis = -1;  ///< of `values`, along which scales differ; -1: that of the rows
  bool rounds = false;     ///< the elements are floats, which the graph makes codes of
};

/// By the parameters' names. A matrix has the name of its initializer where that is a parameter's, and that of the module
/// in whose scope it is used. Walks the graph by its matrix products and look-ups:
///   MatMul, Gemm, Gather       of an initializer, perhaps behind QuantizeLinear, DequantizeLinear, Transpose, Cast, Identity
///   MatMulInteger              with the product of scales that follows it, of activations quantized before or on the run
///   QLinearMatMul              with its scales
///   Gather, DequantizeLinear   codes of an embedding
/// An initializer beside them is a parameter by its name alone.
class OnnxWeights {
 public:
  /// Errors: unsupported, with the names of node and tensor, for a matrix without a parameter's name, codes without
  /// scales, and matrices in nodes that ONNX does not define.
  OnnxWeights(const OnnxGraph& graph, std::string_view where) : graph_(graph), where_(where) {
    for (const OnnxNode& node : graph_.nodes()) add_node(node);
    for (const auto& [name, tensor] : graph_.tensors()) {
      const std::string parameter = parameter_name(name);
      if (parameter.empty() || name.ends_with("_quantized") || name.ends_with("_quant")) continue;
      if (!used_.contains(&tensor)) named_.try_emplace(parameter, OnnxWeight{.values = &tensor});
    }
    for (auto& [name, weight] : scoped_) {
      const auto prefix = prefixes_.find(name.substr(0, name.find('.')));
      named_.try_emplace(prefix == prefixes_.end() ? name : prefix->second + name, weight);
    }
  }

  const std::map<std::string, OnnxWeight>& all() const noexcept { return named_; }

 private:
  [[noreturn]] void refuse(const OnnxNode& node, const OnnxTensor& tensor, std::string_view why) const {
    fail(ErrorCode::unsupported, where_, ": the matrix ", quoted_name(tensor.name), " of the ", quoted_name(node.op),
         " node ", quoted_name(node.name), " ", why);
  }

  /// Scopes lack the modules whose own code never runs ("decoder.layers.0", where parameters are called
  /// "model.decoder.layers.0"): found where a node of a scope takes the parameter of that name.
  void learn_prefix(std::string_view parameter, const std::string& scope) {
    const std::string_view module = parameter.substr(0, parameter.rfind('.'));
    if (scope.empty() || module.size() <= scope.size() || !module.ends_with("." + scope)) return;
    prefixes_.emplace(scope.substr(0, scope.find('.')), module.substr(0, module.size() - scope.size()));
  }

  void add_node(const OnnxNode& node) {
    if (!node.is_standard()) {
      for (const std::string_view input : node.inputs) {
        const OnnxTensor* tensor = graph_.tensor(input);
        if (tensor == nullptr || tensor->extents.size() < 2) continue;
        refuse(node, *tensor, "is in a form that is not read; export the model without operators of other domains");
      }
    } else if (node.op == "MatMul") {
      add_matrix(node, 1, true);
    } else if (node.op == "Gemm") {
      add_gemm(node);
    } else if (node.op == "MatMulInteger" || node.op == "QLinearMatMul") {
      add_integer(node);
    } else if (node.op == "Gather" && node.integer("axis", 0) == 0) {
      add_matrix(node, 0, false);
    } else if (node.op == "Mul") {
      add_shared_vector(node, 0, ".weight");
      add_shared_vector(node, 1, ".weight");
    } else if (node.op == "LayerNormalization") {
      add_shared_vector(node, 1, ".weight");
      add_shared_vector(node, 2, ".bias");
    }
  }

  /// Fills in what a DequantizeLinear says.
  void read_scales(const OnnxNode& dequantize, OnnxWeight& weight) const {
    weight.scale = graph_.tensor(dequantize.input(1));
    weight.zero = graph_.tensor(dequantize.input(2));
    if (weight.scale == nullptr || (weight.zero == nullptr && !dequantize.input(2).empty())) {
      refuse(dequantize, *weight.values, "has scales that are no initializers");
    }
    if (dequantize.integer("block_size", 0) != 0) refuse(dequantize, *weight.values, "has scales of blocks");
    const std::int64_t axis = dequantize.integer("axis", 1);
    weight.axis = axis < 0 ? axis + 2 : axis;
  }

  /// The matrix in input `index`, if that is one. `transposed`: that of the node is [in, out].
  std::string add_matrix(const OnnxNode& node, std::size_t index, bool transposed) {
    const OnnxOperand operand = onnx_operand(graph_, node.input(index));
    if (operand.values == nullptr || operand.values->extents.size() != 2) return "";
    OnnxWeight weight{.values = operand.values,
                      .is_matrix = true,
                      .transposed = transposed != operand.turned,
                      .rounds = operand.rounds};
    if (operand.dequantize != nullptr) {
      read_scales(*operand.dequantize, weight);
    } else if (node.op == "Gather") {
      const OnnxNode* next = graph_.only_consumer(node.output());
      if (next != nullptr && next->op == "DequantizeLinear") {
        read_scales(*next, weight);
        weight.axis = -1;
      }
    }
    return add_named(node, weight);
  }

  /// The name that a matrix gets, without ".weight".
  std::string add_named(const OnnxNode& node, const OnnxWeight& weight) {
    constexpr std::string_view end = ".weight";
    used_.insert(weight.values);
    const std::string own = parameter_name(weight.values->name), scope = onnx_module(node);
    if (!own.empty()) named_.try_emplace(own, weight);
    learn_prefix(own, scope);
    if (!scope.empty()) {
      const auto [found, added] = scoped_.try_emplace(scope + std::string(end), weight);
      if (!added && found->second.values != weight.values && node.op != "Gather" && own.empty()) {
        refuse(node, *weight.values, "has the name of another one");
      }
    } else if (own.empty() && node.op != "Gather") {
      refuse(node, *weight.values,
             "has no parameter's name; looked for NAME.weight, NAME.weight_quantized, and the node /NAME/" +
                 std::string(node.op) + ": export the model with torch 1.13 or newer");
    }
    const std::string module = own.ends_with(end) ? std::string(without_end(own, end)) : scope;
    if (node.op == "MatMul") add_bias(graph_.only_consumer(node.output()), scope.empty() ? module : scope);
    return scope.empty() ? module : scope;
  }

  void add_gemm(const OnnxNode& node) {
    const std::string module = add_matrix(node, 1, node.integer("transB", 0) == 0);
    if (module.empty()) return;
    for (const std::string_view name : std::array<std::string_view, 2>{"alpha", "beta"}) {
      const OnnxAttribute* factor = node.attribute(name);
      if (factor != nullptr && factor->real != 1)
        refuse(node, *onnx_operand(graph_, node.input(1)).values, "has a factor");
    }
    if (node.integer("transA", 0) != 0)
      refuse(node, *onnx_operand(graph_, node.input(1)).values, "is multiplied by a transpose");
    add_vector(onnx_operand(graph_, node.input(2)), module + ".bias");
  }

  /// The vector that `add` adds to the product of a module's matrix; with `scale` codes.
  void add_bias(const OnnxNode* add, const std::string& module, const OnnxTensor* scale = nullptr) {
    if (add == nullptr || add->op != "Add") return;
    const OnnxOperand bias = onnx_operand(graph_, add->input(1));
    add_vector(bias.values != nullptr ? bias : onnx_operand(graph_, add->input(0)), module + ".bias", scale);
  }

  void add_vector(const OnnxOperand& operand, const std::string& name, const OnnxTensor* scale = nullptr) {
    if (operand.values == nullptr || operand.values->extents.size() != 1) return;
    learn_prefix(parameter_name(operand.values->name), name.substr(0, name.rfind('.')));
    OnnxWeight weight{.values = operand.values, .scale = scale, .rounds = operand.rounds};
    if (operand.dequantize != nullptr) read_scales(*operand.dequantize, weight);
    weight.axis = -1;
    scoped_.try_emplace(name, weight);
  }

  /// Exporters store equal vectors once: under the name of one parameter, in the scopes of all.
  void add_shared_vector(const OnnxNode& node, std::size_t index, std::string_view end) {
    const OnnxTensor* tensor = graph_.tensor(node.input(index));
    const std::string scope = onnx_module(node);
    if (tensor == nullptr || scope.empty() || !parameter_name(tensor->name).ends_with(end)) return;
    add_vector({.values = tensor}, scope + std::string(end));
  }

  void add_integer(const OnnxNode& node) {
    const bool has_scales = node.op == "QLinearMatMul";
    const OnnxOperand operand = onnx_operand(graph_, node.input(has_scales ? 3 : 1));
    if (operand.values == nullptr || operand.values->extents.size() != 2) return;
    OnnxWeight weight{.values = operand.values, .is_matrix = true, .transposed = !operand.turned};
    const std::string_view zero = node.input(has_scales ? 5 : 3);
    weight.zero = graph_.tensor(zero);
    if (weight.zero == nullptr && !zero.empty())
      refuse(node, *weight.values, "has zero points that are no initializers");
    const OnnxNode* next = graph_.only_consumer(node.output());
    const OnnxNode* integer_bias = nullptr;
    const OnnxTensor* product = nullptr;
    if (has_scales) {
      weight.scale = graph_.tensor(node.input(4));
      if (next != nullptr && next->op == "DequantizeLinear") next = graph_.only_consumer(next->output());
    } else {
      if (next != nullptr && next->op == "Add") {
        integer_bias = next;
        next = graph_.only_consumer(next->output());
      }
      if (next != nullptr && next->op == "Cast") next = graph_.only_consumer(next->output());
      if (next != nullptr && next->op == "Mul") {
        product = read_factor(node, *next, weight);
        next = graph_.only_consumer(next->output());
      }
    }
    if (weight.scale == nullptr) {  // beside it, as ONNX Runtime names it
      const std::string_view name = operand.values->name, base = without_end(name, "_quantized");
      if (base != name) weight.scale = graph_.tensor(std::string(base) + "_scale");
    }
    if (weight.scale == nullptr) {
      refuse(node, *weight.values, "has no scales; looked for them in the Mul that follows and in NAME_scale");
    }
    const std::string module = add_named(node, weight);
    add_bias(next, module);
    if (integer_bias == nullptr) return;
    if (product == nullptr) refuse(node, *weight.values, "has an integer bias without the scale of one");
    add_bias(integer_bias, module, product);
  }

  /// The scales in the Mul behind a MatMulInteger: those of the weights times that of the activations, an initializer,
  /// which is returned; or such a product that the graph computes.
  const OnnxTensor* read_factor(const OnnxNode& node, const OnnxNode& mul, OnnxWeight& weight) const {
    for (const std::string_view input : mul.inputs) {
      if (const OnnxTensor* product = graph_.tensor(input)) {
        weight.divisor = activation_scale(graph_, node.input(0));
        if (weight.divisor != nullptr) weight.scale = product;
        return product;
      }
      const OnnxNode* factor = graph_.producer(input);
      if (factor == nullptr || factor->op != "Mul") continue;
      for (const std::string_view scale : factor->inputs) {
        if (weight.scale == nullptr) weight.scale = graph_.tensor(scale);
      }
    }
    return nullptr;
  }

  const OnnxGraph& graph_;
  std::string_view where_;
  std::map<std::string, OnnxWeight> named_, scoped_;  // by their own name, by that of a scope
  std::map<std::string, std::string> prefixes_;       // of scopes, by their first part
  std::set<const OnnxTensor*> used_;                  // in matrix products and look-ups
};

}  // namespace tulle::detail
