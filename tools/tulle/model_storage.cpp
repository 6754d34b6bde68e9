// SPDX-License-Identifier: Apache-2.0
#include "model_storage.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <tulle/tensor/dtype.hpp>
#include <utility>

#include "formatted.hpp"

namespace {

struct Storage {
  double weights = 0, file_bytes = 0, packed_bytes = 0;
};

/// Of a weight that is quantized to 4 bits with an f16 scale per 32 columns.
constexpr double i4_bytes = 0.5 + 2.0 / 32;

/// More than the file by so much is worth a note.
constexpr double much_more = 1.25;

}  // namespace

nlohmann::ordered_json describe_storage(const tulle::Checkpoint& checkpoint,
                                        const tulle::Model<tulle::AnyKernel>& model, bool automatic) {
  std::map<std::pair<std::string, std::string>, Storage> all;  // by type and kernel
  model.weights().for_each_linear([&](const tulle::Linear<tulle::AnyKernel>& linear) {
    for (const auto& part : linear.parts) {
      // Matrices that are packed as one have one type; the loader joins their names with " + ".
      const tulle::EncodedTensor* tensor = checkpoint.find(part.name.substr(0, part.name.find(" + ")) + ".weight");
      if (tensor == nullptr) continue;  // in a form of several tensors
      const tulle::DTypeInfo& type = tulle::dtype_info(tensor->dtype);
      const auto weights = static_cast<double>(part.weights.rows() * part.weights.columns());
      Storage& storage = all[{std::string(type.name), std::string(part.weights.kernel_name())}];
      storage.weights += weights;
      storage.file_bytes += weights * static_cast<double>(type.block_bytes) / static_cast<double>(type.block_elements);
      storage.packed_bytes += static_cast<double>(part.weights.size_bytes());
    }
  });
  auto report = nlohmann::ordered_json::array();
  for (const auto& [key, storage] : all) {
    const auto& [type, kernel] = key;
    const double file = storage.file_bytes / storage.weights, packed = storage.packed_bytes / storage.weights;
    nlohmann::ordered_json entry{
        {"type", type}, {"kernel", kernel}, {"file_bytes_per_weight", file}, {"packed_bytes_per_weight", packed}};
    if (automatic && packed > much_more * file) {
      entry["note"] =
          type + formatted(": %.2f bytes a weight in the file, %.2f in memory", file, packed) + " on " + kernel +
          ", the smallest kernel that keeps every value" +
          (packed > much_more * i4_bytes ? formatted("; --kernel i4 takes %.2f and rounds them", i4_bytes) : "");
    }
    report.push_back(std::move(entry));
  }
  return report;
}
