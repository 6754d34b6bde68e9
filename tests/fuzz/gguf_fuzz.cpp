// SPDX-License-Identifier: Apache-2.0
/// \file Any bytes as a GGUF file: opened as a model and as a tokenizer, or refused with `tulle::Error`.
#include <cstddef>
#include <cstdint>
#include <fuzz/standalone_main.hpp>
#include <span>
#include <string>
#include <tulle/core/error.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/gguf.hpp>
#include <tulle/format/gguf_tokenizer.hpp>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  volatile unsigned sink = 0;  // every byte of every tensor is read
  try {
    const auto checkpoint = tulle::Checkpoint::from_gguf_bytes({bytes.begin(), bytes.end()}, "input");
    for (const std::string& name : checkpoint->names()) {
      for (const std::byte byte : checkpoint->find(name)->bytes) sink = sink + static_cast<unsigned>(byte);
    }
  } catch (const tulle::Error&) {
  }
  try {
    const auto tokenizer = tulle::tokenizer_from_gguf(tulle::parse_gguf_metadata(bytes, "input"));
    tokenizer->decode(tokenizer->encode("Hello  world 123\n"));
  } catch (const tulle::Error&) {
  }
  return 0;
}
