// SPDX-License-Identifier: Apache-2.0
/// \file Any bytes as pytorch_model.bin: opened, or refused with `tulle::Error`.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fuzz/standalone_main.hpp>
#include <span>
#include <tulle/core/error.hpp>
#include <tulle/format/pytorch/pytorch_checkpoint.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tulle::GivenFiles files({{"pytorch_model.bin", size, [data](std::uint64_t offset, std::span<std::byte> out) {
                                    std::memcpy(out.data(), data + offset, out.size());
                                  }}});
  volatile unsigned sink = 0;  // every byte of every tensor is read
  try {
    tulle::CheckpointParts parts;
    tulle::detail::open_pytorch(files, "pytorch_model.bin", parts);
    for (const std::string& name : parts.tensors.names()) {
      const tulle::TensorBytes bytes(parts.tensors, *parts.tensors.find(name));
      for (const std::byte byte : bytes.span()) sink = sink + static_cast<unsigned>(byte);
    }
  } catch (const tulle::Error&) {
  }
  return 0;
}
