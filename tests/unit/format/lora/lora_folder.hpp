// SPDX-License-Identifier: Apache-2.0
/// \file Hand-made adapters for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "unit/format/file_builder.hpp"

namespace tulle::test {

/// A file of F32 tensors, each with the values 0.5, 1.5, 2.5, ...
struct LoraTensor {
  std::string name;
  std::vector<std::size_t> shape;
  std::string dtype = "F32";
};
inline Bytes lora_file(const std::vector<LoraTensor>& tensors) {
  std::string header;
  Bytes data;
  for (const LoraTensor& tensor : tensors) {
    std::size_t elements = 1;
    std::string shape;
    for (const std::size_t extent : tensor.shape) {
      elements *= extent;
      shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    }
    const std::size_t begin = data.size();
    const Bytes values = float_bytes(elements);
    data.insert(data.end(), values.begin(), values.end());
    header += (header.empty() ? "{\"" : ",\"") + tensor.name + R"(":{"dtype":")" + tensor.dtype + R"(","shape":[)" +
              shape + R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
  }
  Bytes file = safetensors_file(header.empty() ? "{}" : header + "}", 0);
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

/// The name of a matrix in an adapter's file: "lora_A" or "lora_B" of a module.
inline std::string lora_name(const std::string& module, const std::string& matrix) {
  return "base_model.model." + module + "." + matrix + ".weight";
}

/// A directory with an adapter.
class LoraFolder {
 public:
  explicit LoraFolder(const std::vector<LoraTensor>& tensors,
                      const std::string& config = R"({"peft_type":"LORA","r":2})") {
    folder_.write("adapter_config.json", config);
    folder_.write("adapter_model.safetensors", lora_file(tensors));
  }
  std::string path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace tulle::test
