// SPDX-License-Identifier: Apache-2.0
#include "model_storage.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tulle/tensor/dtype.hpp>
#include <utility>

#include "formatted.hpp"

namespace {

/// What pruned matrices take where a choice of kernels makes integers of them.
struct IntegerForm {
  std::string_view choice;
  double bytes = 0;
  std::set<std::string> kernels = {};
};

/// Matrices that stay floats although they are pruned.
struct PrunedFloats {
  double weights = 0, zeros = 0;
  std::array<IntegerForm, 2> forms{IntegerForm{"i8"}, IntegerForm{"i4"}};

  void add(const tulle::WeightSource& source, double sparsity) {
    const auto elements = static_cast<double>(source.rows() * source.columns());
    weights += elements;
    zeros += sparsity * elements;
    for (IntegerForm& form : forms) {
      tulle::PackOptions options;
      options.kernel = form.choice;
      const auto packed = tulle::AnyKernel::pack(source, options);
      form.bytes += static_cast<double>(packed.size_bytes());
      form.kernels.emplace(packed.kernel_name());
    }
  }

  std::string note() const {
    std::string text = formatted("%.1f %% of the pruned weights are zeros, kept as floats", 100 * zeros / weights);
    for (const IntegerForm& form : forms) {
      text +=
          "; --kernel " + std::string(form.choice) + formatted(" takes %.2f bytes a weight (", form.bytes / weights);
      for (const std::string& kernel : form.kernels) text += (kernel == *form.kernels.begin() ? "" : ", ") + kernel;
      text += ")";
    }
    return text + " and rounds the others";
  }
};

struct Storage {
  double weights = 0, file_bytes = 0, packed_bytes = 0;
  PrunedFloats pruned;
};

/// Of a weight that is quantized to 4 bits with an f16 scale per 32 columns.
constexpr double i4_bytes = 0.5 + 2.0 / 32;

/// More than the file by so much is worth a note.
constexpr double much_more = 1.25;

}  // namespace

std::vector<std::string> packed_names(std::string_view joined) {
  constexpr std::string_view joint = " + ";
  std::vector<std::string> names;
  for (;;) {
    const std::size_t end = joined.find(joint);
    names.emplace_back(joined.substr(0, end));
    if (end == std::string_view::npos) return names;
    joined.remove_prefix(end + joint.size());
  }
}

nlohmann::ordered_json describe_storage(const tulle::Checkpoint& checkpoint,
                                        const tulle::Model<tulle::AnyKernel>& model,
                                        const nlohmann::ordered_json& tensors, bool automatic) {
  std::map<std::string, double> pruned;  // tensor -> sparsity
  for (const auto& tensor : tensors) {
    if (tensor.contains("structure") && tensor["structure"] != "dense") pruned[tensor["name"]] = tensor["sparsity"];
  }
  std::map<std::pair<std::string, std::string>, Storage> all;  // by type and kernel
  model.weights().for_each_linear([&](const tulle::Linear<tulle::AnyKernel>& linear) {
    for (const auto& part : linear.parts) {
      // Matrices that are packed as one have one type.
      const tulle::EncodedTensor* tensor = checkpoint.find(packed_names(part.name).front() + ".weight");
      if (tensor == nullptr) continue;  // in a form of several tensors
      const tulle::DTypeInfo& type = tulle::dtype_info(tensor->dtype);
      const auto weights = static_cast<double>(part.weights.rows() * part.weights.columns());
      Storage& storage = all[{std::string(type.name), std::string(part.weights.kernel_name())}];
      storage.weights += weights;
      storage.file_bytes += weights * static_cast<double>(type.block_bytes) / static_cast<double>(type.block_elements);
      storage.packed_bytes += static_cast<double>(part.weights.size_bytes());
      if (!automatic || !part.weights.is_float()) continue;
      for (const std::string& name : packed_names(part.name)) {
        const auto found = pruned.find(name + ".weight");
        if (found != pruned.end()) storage.pruned.add(*checkpoint.matrix(name), found->second);
      }
    }
  });
  auto report = nlohmann::ordered_json::array();
  for (const auto& [key, storage] : all) {
    const auto& [type, kernel] = key;
    const double file = storage.file_bytes / storage.weights, packed = storage.packed_bytes / storage.weights;
    nlohmann::ordered_json entry{
        {"type", type}, {"kernel", kernel}, {"file_bytes_per_weight", file}, {"packed_bytes_per_weight", packed}};
    std::string note;
    if (automatic && packed > much_more * file) {
      note = formatted(": %.2f bytes a weight in the file, %.2f in memory", file, packed) + " on " + kernel +
             ", the smallest kernel that keeps every value" +
             (packed > much_more * i4_bytes ? formatted("; --kernel i4 takes %.2f and rounds them", i4_bytes) : "");
    }
    if (storage.pruned.weights > 0) note += (note.empty() ? ": " : ". ") + storage.pruned.note();
    if (!note.empty()) entry["note"] = type + note;
    report.push_back(std::move(entry));
  }
  return report;
}
