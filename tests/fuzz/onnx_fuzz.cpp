// SPDX-License-Identifier: Apache-2.0
/// \file Any bytes as model.onnx beside a file of data: opened, or refused with `tulle::Error`.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fuzz/standalone_main.hpp>
#include <span>
#include <string>
#include <tulle/core/error.hpp>
#include <tulle/format/onnx/onnx_checkpoint.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tulle::GivenFiles files(
      {{"model.onnx", size,
        [data](std::uint64_t offset, std::span<std::byte> out) { std::memcpy(out.data(), data + offset, out.size()); }},
       {"model.data", 100000,
        [](std::uint64_t, std::span<std::byte> out) { std::memset(out.data(), 1, out.size()); }}});
  volatile float sink = 0;  // every byte of every tensor is read, every matrix decoded
  try {
    tulle::CheckpointParts parts;
    tulle::detail::open_onnx(files, "model.onnx", parts);
    for (const std::string& name : parts.tensors.names()) {
      const tulle::EncodedTensor& tensor = *parts.tensors.find(name);
      const tulle::TensorBytes bytes(parts.tensors, tensor);
      for (const std::byte byte : bytes.span()) sink = sink + static_cast<float>(byte);
      if (tensor.shape.size() != 2 || !name.ends_with(".weight")) continue;
      const auto matrix = parts.tensors.matrix(name.substr(0, name.rfind('.')));
      std::vector<float> row(matrix->columns());
      for (std::size_t i = 0; i < matrix->rows(); ++i) {
        matrix->decode_row(i, row.data());
        for (const float value : row) sink = sink + value;
      }
    }
  } catch (const tulle::Error&) {
  }
  return 0;
}
