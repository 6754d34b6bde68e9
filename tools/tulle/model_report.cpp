// SPDX-License-Identifier: Apache-2.0
#include "model_report.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tulle/tensor/sparsity.hpp>
#include <utility>
#include <vector>

#include "formatted.hpp"
#include "model_storage.hpp"
#include "progress_bar.hpp"
#include "text_table.hpp"

namespace {

/// Numbers within names are compared by their value: layers.2 stands before layers.10.
bool natural_less(std::string_view left, std::string_view right) {
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  const auto take_number = [&](std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
    const std::size_t end = std::min(
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin()), text.size());
    const std::string_view digits = text.substr(0, end);
    text.remove_prefix(end);
    return std::pair(digits.size(), digits);  // without leading zeros the longer number is the larger one
  };
  const std::string_view whole_left = left, whole_right = right;
  while (!left.empty() && !right.empty()) {
    if (is_digit(left.front()) && is_digit(right.front())) {
      const auto a = take_number(left), b = take_number(right);
      if (a != b) return a < b;
      continue;
    }
    if (left.front() != right.front()) return left.front() < right.front();
    left.remove_prefix(1);
    right.remove_prefix(1);
  }
  return left.size() != right.size() ? left.size() < right.size() : whole_left < whole_right;
}

std::string mebibytes(std::size_t bytes) {
  return formatted("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string percent(double share) {
  return formatted("%.2f %%", 100 * share);
}

std::string shape_text(const OrderedJson& shape) {
  std::string text = "[";
  for (const auto& extent : shape) text += (text.size() == 1 ? "" : ", ") + extent.dump();
  return text + "]";
}

constexpr std::array mlp_names{"gated_silu", "gated_gelu", "gated_clamped",
                               "gelu",       "gelu_erf",   "relu"};  // in the order of tulle::MlpKind

/// The number of layers that attend to a window, by its positions.
OrderedJson windows(const tulle::Architecture& architecture) {
  OrderedJson layers = OrderedJson::object();
  for (const tulle::LayerSpec& layer : architecture.layers) {
    if (layer.window.positions == 0) continue;
    const std::string positions = std::to_string(layer.window.positions);
    layers[positions] = layers.value(positions, 0) + 1;
  }
  return layers;
}

}  // namespace

OrderedJson describe(const tulle::Architecture& architecture) {
  const tulle::LayerSpec& layer = architecture.layers.front();  // what differs between layers is told apart below
  OrderedJson report{{"family", architecture.family},
                     {"vocabulary", architecture.vocabulary},
                     {"hidden", architecture.hidden},
                     {"layers", architecture.layers.size()},
                     {"heads", architecture.heads},
                     {"kv_heads", architecture.kv_heads},
                     {"head_dim", architecture.head_dim},
                     {"intermediate", layer.intermediate},
                     {"context_length", architecture.context_length},
                     {"norm", architecture.norm == tulle::NormKind::rms ? "rms" : "layer"},
                     {"mlp", mlp_names.at(static_cast<std::size_t>(layer.mlp))},
                     {"parallel_residual", layer.residual == tulle::Residual::parallel},
                     {"tied_head", architecture.tied_head},
                     {"rotary_dimensions", architecture.rotary_tables[layer.rotary].dimensions()},
                     {"eos", architecture.eos}};
  if (architecture.max_experts() != 0) {
    report["experts"] = architecture.max_experts();
    report["experts_per_token"] = architecture.max_experts_per_row();
  }
  if (OrderedJson layers = windows(architecture); !layers.empty()) report["layers_with_window"] = std::move(layers);
  if (!architecture.impossible_eos.empty()) report["eos_outside_vocabulary"] = architecture.impossible_eos;
  return report;
}

void describe_tensors(const tulle::Checkpoint& checkpoint, const tulle::Model<tulle::AnyKernel>& model,
                      OrderedJson& report) {
  OrderedJson matrices = OrderedJson::array();
  std::map<std::string, std::pair<std::string, std::string_view>> linear_of;  // tensor -> matrix, kernel
  model.weights().for_each_linear([&](const tulle::Linear<tulle::AnyKernel>& linear) {
    for (const auto& part : linear.parts) {
      std::vector<std::string> names = packed_names(part.name);
      for (std::string& name : names) {
        std::string tensor = tensor_of_matrix(checkpoint, name);
        linear_of[tensor] = {name, part.weights.kernel_name()};
        name = std::move(tensor);
      }
      matrices.push_back({{"tensors", names},
                          {"rows", part.weights.rows()},
                          {"columns", part.weights.columns()},
                          {"kernel", part.weights.kernel_name()},
                          {"packed_bytes", part.weights.size_bytes()}});
    }
  });

  OrderedJson tensors = OrderedJson::array(), types = OrderedJson::object();
  std::size_t elements = 0, zeros = 0, done = 0;
  ProgressBar bar;
  const tulle::Progress progress = bar.progress();
  auto ordered = checkpoint.names();
  std::sort(ordered.begin(), ordered.end(), natural_less);
  for (const std::string& name : ordered) {
    const tulle::EncodedTensor& tensor = *checkpoint.find(name);
    const std::string type(tulle::dtype_name(tensor.dtype));
    std::vector<std::size_t> shape = tensor.shape;
    std::size_t count = tensor.elements(), bytes = tensor.bytes.size();
    if (!shape.empty() && !tensor.order.as_it_lies() && tensor.order.rows() < shape[0]) {  // a part of a fused tensor
      count = count / shape[0] * tensor.order.rows();
      bytes = bytes / shape[0] * tensor.order.rows();
      shape[0] = tensor.order.rows();
    }
    OrderedJson entry{{"name", name}, {"shape", shape}, {"type", type}, {"bytes", bytes}};
    if (const auto linear = linear_of.find(name); linear != linear_of.end()) {
      const auto& [matrix, kernel] = linear->second;
      const tulle::Sparsity sparsity = tulle::measure_sparsity(*checkpoint.matrix(matrix));
      entry["sparsity"] = sparsity.share();
      entry["structure"] = sparsity.structure;
      entry["kernel"] = kernel;
      elements += sparsity.elements;
      zeros += sparsity.zeros;
    }
    tensors.push_back(std::move(entry));
    if (!types.contains(type)) types[type] = {{"tensors", 0}, {"elements", 0}, {"bytes", 0}};
    for (const auto& [key, amount] :
         std::map<std::string, std::size_t>{{"tensors", 1}, {"elements", count}, {"bytes", bytes}}) {
      types[type][key] = types[type][key].get<std::size_t>() + amount;
    }
    done += bytes;
    if (progress) progress("measuring", static_cast<double>(done) / static_cast<double>(checkpoint.size_bytes()));
  }
  report["tensors"] = std::move(tensors);
  report["types"] = std::move(types);
  report["sparsity"] = elements == 0 ? 0.0 : static_cast<double>(zeros) / static_cast<double>(elements);
  report["matrices"] = std::move(matrices);
}

std::string as_text(const OrderedJson& report) {
  std::string text = report["model"].get<std::string>() + " (" + report["format"].get<std::string>() + ")\n";
  for (const auto& adapter : report["adapters"]) {
    text += "with " + adapter["path"].get<std::string>() + ", scale " + adapter["scale"].dump() + "\n";
  }
  text += "\narchitecture\n";
  for (const auto& [key, value] : report["architecture"].items()) {
    text += "  " + key + ": " + (value.is_string() ? value.get<std::string>() : value.dump()) + "\n";
  }

  TableRows rows{{"tensor", "shape", "type", "bytes", "zeros", "structure", "kernel"}};
  for (const auto& tensor : report["tensors"]) {
    rows.push_back({tensor["name"], shape_text(tensor["shape"]), tensor["type"], tensor["bytes"].dump()});
    if (!tensor.contains("kernel")) continue;
    rows.back().push_back(percent(tensor["sparsity"]));
    rows.back().push_back(tensor["structure"]);
    rows.back().push_back(tensor["kernel"]);
  }
  text.append("\n").append(text_table(rows));

  rows = {{"type", "tensors", "elements", "size"}};
  for (const auto& [type, sum] : report["types"].items()) {
    rows.push_back({type, sum["tensors"].dump(), sum["elements"].dump(), mebibytes(sum["bytes"])});
  }
  text.append("\n").append(text_table(rows));

  std::map<std::string, std::pair<std::size_t, std::size_t>> kernels;  // name -> matrices, packed bytes
  for (const auto& matrix : report["matrices"]) {
    auto& [count, bytes] = kernels[matrix["kernel"]];
    ++count;
    bytes += matrix["packed_bytes"].get<std::size_t>();
  }
  rows = {{"kernel", "packed matrices", "size"}};
  for (const auto& [name, sum] : kernels) rows.push_back({name, std::to_string(sum.first), mebibytes(sum.second)});
  text.append("\n").append(text_table(rows));
  std::string notes;
  for (const auto& storage : report["storage"]) {
    if (storage.contains("note")) notes += storage["note"].get<std::string>() + "\n";
  }
  if (!notes.empty()) text.append("\n").append(notes);

  const auto& memory = report["memory"];
  text += "\nzeros in linear matrices: " + percent(report["sparsity"]) +
          "\ninstruction set: " + report["instruction_set"].get<std::string>() +
          "\nmemory: " + mebibytes(memory["total_bytes"]) + " = weights " + mebibytes(memory["weights_bytes"]) +
          " + cache " + mebibytes(memory["cache_bytes"]) + " (" + memory["cache"].get<std::string>() + ", " +
          memory["sequence_length"].dump() + " tokens) + workspace " + mebibytes(memory["workspace_bytes"]) + "\n";
  return text;
}
