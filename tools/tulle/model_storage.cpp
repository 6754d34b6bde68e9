// SPDX-License-Identifier: Apache-2.0
#include "model_storage.hpp"

#include <algorithm>
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

/// More by so much is worth a note.
constexpr double much_more = 1.25;

/// The choices of kernels that take much less than `packed` bytes a weight: codes with an f16 scale per 32 columns.
std::string smaller_choices(double packed) {
  std::string text;
  std::size_t count = 0;
  for (const auto& [choice, bytes] : {std::pair("i8", 1.0 + 2.0 / 32), std::pair("i4", 0.5 + 2.0 / 32)}) {
    if (packed <= much_more * bytes) continue;
    text += (count++ == 0 ? "; --kernel " : ", --kernel ") + std::string(choice) + formatted(" takes %.2f", bytes);
  }
  return text + (count == 0 ? "" : count == 1 ? " and rounds them" : ": both round them");
}

/// A form that stores a matrix P in several tensors, one of which is P + `end`.
struct SplitForm {
  std::string_view end, name;
};
constexpr std::array split_forms{
    SplitForm{".weight_packed", "pack-quantized"}, SplitForm{".weight_mask", "bitmask"},
    SplitForm{".bitmask", "sparse-bitmask"},       SplitForm{".weight.bitmask", "sparse-bitmask"},
    SplitForm{".qweight", "GPTQ or AWQ"},          SplitForm{"_blocks", "MXFP4"}};

const SplitForm* find_split_form(const tulle::Checkpoint& checkpoint, const std::string& matrix) {
  const auto* found = std::find_if(split_forms.begin(), split_forms.end(), [&](const SplitForm& form) {
    return checkpoint.find(matrix + std::string(form.end)) != nullptr;
  });
  return found == split_forms.end() ? nullptr : found;
}

/// Of all tensors of a matrix. sizes: of the file's tensors.
double bytes_of_tensors(const std::map<std::string, double>& sizes, const std::string& matrix) {
  double sum = 0;
  for (auto each = sizes.lower_bound(matrix); each != sizes.end() && each->first.starts_with(matrix); ++each) {
    const std::string_view end = std::string_view(each->first).substr(matrix.size());
    if ((end.starts_with('.') || end.starts_with('_')) && !end.ends_with("bias")) sum += each->second;
  }
  return sum;
}

}  // namespace

std::string tensor_of_matrix(const tulle::Checkpoint& checkpoint, const std::string& matrix) {
  const std::string plain = matrix + ".weight";
  if (checkpoint.find(plain) != nullptr) return plain;
  const SplitForm* form = find_split_form(checkpoint, matrix);
  return form == nullptr ? plain : matrix + std::string(form->end);
}

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
  std::map<std::string, double> pruned, sizes;  // tensor -> sparsity, bytes
  for (const auto& tensor : tensors) {
    sizes[tensor["name"]] = tensor["bytes"];
    if (tensor.contains("structure") && tensor["structure"] != "dense") pruned[tensor["name"]] = tensor["sparsity"];
  }
  std::map<std::pair<std::string, std::string>, Storage> all;  // by type and kernel
  model.weights().for_each_linear([&](const tulle::Linear<tulle::AnyKernel>& linear) {
    for (const auto& part : linear.parts) {
      const std::vector<std::string> names = packed_names(part.name);  // matrices that are packed as one have one type
      const tulle::EncodedTensor* tensor = checkpoint.find(names.front() + ".weight");
      const SplitForm* form = tensor != nullptr ? nullptr : find_split_form(checkpoint, names.front());
      if (tensor == nullptr && form == nullptr) continue;
      const auto weights = static_cast<double>(part.weights.rows() * part.weights.columns());
      const std::string_view type = form != nullptr ? form->name : tulle::dtype_name(tensor->dtype);
      Storage& storage = all[{std::string(type), std::string(part.weights.kernel_name())}];
      storage.weights += weights;
      storage.packed_bytes += static_cast<double>(part.weights.size_bytes());
      if (form != nullptr) {
        for (const std::string& name : names) storage.file_bytes += bytes_of_tensors(sizes, name);
      } else {
        const tulle::DTypeInfo& info = tulle::dtype_info(tensor->dtype);
        storage.file_bytes +=
            weights * static_cast<double>(info.block_bytes) / static_cast<double>(info.block_elements);
      }
      if (!automatic || !part.weights.is_float()) continue;
      for (const std::string& name : names) {
        const auto found = pruned.find(tensor_of_matrix(checkpoint, name));
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
             ", the smallest kernel that keeps every value" + smaller_choices(packed);
    }
    if (storage.pruned.weights > 0) note += (note.empty() ? ": " : ". ") + storage.pruned.note();
    if (!note.empty()) entry["note"] = type + note;
    report.push_back(std::move(entry));
  }
  return report;
}
