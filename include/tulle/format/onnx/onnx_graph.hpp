// SPDX-License-Identifier: Apache-2.0
/// \file The nodes and the initializers of an ONNX file, by name (L3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/format/onnx/protobuf_reader.hpp>
#include <tulle/format/quoted_name.hpp>

namespace tulle::detail {

/// A TensorProto: what it says of its elements, and where they are. Views into the file.
struct OnnxTensor {
  std::string_view name;
  std::uint64_t type = 0;  ///< TensorProto.DataType
  std::vector<std::uint64_t> extents;
  std::optional<std::span<const std::byte>> raw;  ///< little-endian elements
  bool is_external = false;
  std::string_view location, offset, length;  ///< of external data; decimal numbers, or "" where they are left out
  std::span<const std::byte> message;         ///< the whole, for elements in typed fields
};

struct OnnxAttribute {
  std::string_view name;
  std::uint64_t number = 0;  ///< of an int, in two's complement
  float real = 0;
  std::vector<std::uint64_t> numbers;
};

struct OnnxNode {
  std::string_view name, op, domain;
  std::string_view scopes;  ///< the metadata "pkg.torch.onnx.name_scopes": "['', 'P', 'P.Q', 'linear']"
  std::vector<std::string_view> inputs, outputs;
  std::vector<OnnxAttribute> attributes;

  /// Input `index`, or "" where it is left out.
  std::string_view input(std::size_t index) const { return index < inputs.size() ? inputs[index] : ""; }
  std::string_view output() const { return outputs.empty() ? "" : outputs[0]; }
  const OnnxAttribute* attribute(std::string_view wanted) const {
    for (const OnnxAttribute& each : attributes) {
      if (each.name == wanted) return &each;
    }
    return nullptr;
  }
  std::int64_t integer(std::string_view wanted, std::int64_t fallback) const {
    const OnnxAttribute* found = attribute(wanted);
    return found == nullptr ? fallback : static_cast<std::int64_t>(found->number);
  }
  /// Whether ONNX itself defines the operator.
  bool is_standard() const { return domain.empty() || domain == "ai.onnx"; }
};

/// The graph of a ModelProto (onnx.proto, version 1 and later). Graphs inside of nodes are not looked into; nothing is
/// allocated but what the file has bytes for. Lifetime: that of the file's bytes.
class OnnxGraph {
 public:
  /// `where` names the file in messages. Errors: malformed, unsupported for sparse initializers.
  OnnxGraph(std::span<const std::byte> file, std::string_view where) : where_(where) {
    bool found = false;
    for (ProtobufReader model(file, where); model.next();) {
      if (model.field() != 7) continue;
      read_graph(model.message());
      found = true;
    }
    if (!found) fail(ErrorCode::malformed, where_, " holds no graph; is it an ONNX file?");
  }

  const std::deque<OnnxNode>& nodes() const noexcept { return nodes_; }
  /// Initializers, and the tensors of constants.
  const std::map<std::string_view, OnnxTensor>& tensors() const noexcept { return tensors_; }

  const OnnxTensor* tensor(std::string_view value) const {
    const auto found = tensors_.find(value);
    return found == tensors_.end() ? nullptr : &found->second;
  }

  /// The node that makes a value, or nullptr.
  const OnnxNode* producer(std::string_view value) const {
    const auto found = producers_.find(value);
    return found == producers_.end() ? nullptr : found->second;
  }

  /// The only node that takes a value; nullptr where none or several do.
  const OnnxNode* only_consumer(std::string_view value) const {
    return consumers_.count(value) == 1 ? consumers_.find(value)->second : nullptr;
  }

 private:
  void read_graph(ProtobufReader graph) {
    while (graph.next()) {
      if (graph.field() == 1) add_node(graph.message());
      if (graph.field() == 5) add_tensor(read_tensor(graph.bytes()));
      if (graph.field() == 15) fail(ErrorCode::unsupported, where_, " has sparse initializers, which are not read");
    }
  }

  void add_node(ProtobufReader message) {
    OnnxNode& node = nodes_.emplace_back();
    std::optional<OnnxTensor> constant;
    while (message.next()) {
      switch (message.field()) {
        case 1: node.inputs.push_back(message.text()); break;
        case 2: node.outputs.push_back(message.text()); break;
        case 3: node.name = message.text(); break;
        case 4: node.op = message.text(); break;
        case 5: node.attributes.push_back(read_attribute(message.message(), constant)); break;
        case 7: node.domain = message.text(); break;
        case 9: {
          const auto [key, value] = read_entry(message.message());
          if (key == "pkg.torch.onnx.name_scopes") node.scopes = value;
          break;
        }
        default: break;
      }
    }
    for (const std::string_view input : node.inputs) consumers_.emplace(input, &node);
    for (const std::string_view output : node.outputs) producers_.emplace(output, &node);
    if (node.op != "Constant" || !constant) return;
    constant->name = node.output();
    add_tensor(*std::move(constant));
  }

  void add_tensor(OnnxTensor tensor) {
    const std::string_view name = tensor.name;
    if (!tensors_.emplace(name, std::move(tensor)).second) {
      fail(ErrorCode::malformed, where_, ": the tensor ", quoted_name(name), " appears twice");
    }
  }

  OnnxAttribute read_attribute(ProtobufReader message, std::optional<OnnxTensor>& tensor) const {
    OnnxAttribute attribute;
    while (message.next()) {
      switch (message.field()) {
        case 1: attribute.name = message.text(); break;
        case 2: attribute.real = message.real(); break;
        case 3: attribute.number = message.number(); break;
        case 5: tensor = read_tensor(message.bytes()); break;
        case 8: message.for_each_number([&](std::uint64_t each) { attribute.numbers.push_back(each); }); break;
        default: break;
      }
    }
    return attribute;
  }

  OnnxTensor read_tensor(std::span<const std::byte> bytes) const {
    OnnxTensor tensor;
    tensor.message = bytes;
    for (ProtobufReader message(bytes, where_); message.next();) {
      switch (message.field()) {
        case 1: message.for_each_number([&](std::uint64_t each) { tensor.extents.push_back(each); }); break;
        case 2: tensor.type = message.number(); break;
        case 8: tensor.name = message.text(); break;
        case 9: tensor.raw = message.bytes(); break;
        case 13: read_external(message.message(), tensor); break;
        case 14: tensor.is_external = message.number() == 1; break;
        default: break;
      }
    }
    return tensor;
  }

  /// Key and value.
  static std::pair<std::string_view, std::string_view> read_entry(ProtobufReader entry) {
    std::pair<std::string_view, std::string_view> pair;
    while (entry.next()) {
      if (entry.field() == 1) pair.first = entry.text();
      if (entry.field() == 2) pair.second = entry.text();
    }
    return pair;
  }

  static void read_external(ProtobufReader entry, OnnxTensor& tensor) {
    const auto [key, value] = read_entry(entry);
    if (key == "location") tensor.location = value;
    if (key == "offset") tensor.offset = value;
    if (key == "length") tensor.length = value;
  }

  std::string_view where_;
  std::deque<OnnxNode> nodes_;
  std::map<std::string_view, OnnxTensor> tensors_;
  std::map<std::string_view, const OnnxNode*> producers_;
  std::multimap<std::string_view, const OnnxNode*> consumers_;
};

}  // namespace tulle::detail
