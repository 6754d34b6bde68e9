// SPDX-License-Identifier: Apache-2.0
/// \file Any bytes as a safetensors file: parsed, or refused with `tulle::Error`.
#include <cstddef>
#include <cstdint>
#include <fuzz/standalone_main.hpp>
#include <span>
#include <tulle/core/error.hpp>
#include <tulle/format/safetensors.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  volatile unsigned sink = 0;  // every byte of every tensor is read
  try {
    for (const auto& tensor : tulle::parse_safetensors(std::as_bytes(std::span(data, size)), "input")) {
      for (const std::byte byte : tensor.bytes) sink = sink + static_cast<unsigned>(byte);
    }
  } catch (const tulle::Error&) {
  }
  return 0;
}
