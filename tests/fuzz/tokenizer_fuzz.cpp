// SPDX-License-Identifier: Apache-2.0
/// \file Any bytes as a tokenizer's file: tokenizer.json or tekken.json where they begin as JSON, tokenizer.model
/// otherwise. It encodes and decodes, or is refused with `tulle::Error`.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fuzz/standalone_main.hpp>
#include <span>
#include <tulle/core/error.hpp>
#include <tulle/format/model_files.hpp>
#include <tulle/format/tokenizer_files.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const bool is_json = size != 0 && data[0] == '{';
  const tulle::GivenFiles files(
      {{is_json ? "tokenizer.json" : "tokenizer.model", size, [data](std::uint64_t offset, std::span<std::byte> out) {
          std::memcpy(out.data(), data + offset, out.size());
        }}});
  try {
    const auto tokenizer = tulle::load_tokenizer(files);
    const auto tokens = tokenizer->encode("Hello  world 123 <s>[INST]\u00E9\xFF\n", {.add_special_tokens = true});
    tokenizer->decode(tokens);
    tokenizer->decode(tokens, true);
  } catch (const tulle::Error&) {
  }
  return 0;
}
