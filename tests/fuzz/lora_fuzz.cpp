// SPDX-License-Identifier: Apache-2.0
/// \file Any bytes as the safetensors file of a LoRA adapter: every change is decoded, or refused with `tulle::Error`.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fuzz/standalone_main.hpp>
#include <span>
#include <string_view>
#include <tulle/core/error.hpp>
#include <tulle/format/lora/lora_adapter.hpp>

namespace {

tulle::GivenFiles::File file(const char* name, const void* data, std::size_t size) {
  return {name, size, [data](std::uint64_t offset, std::span<std::byte> out) {
            std::memcpy(out.data(), static_cast<const std::byte*>(data) + offset, out.size());
          }};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  volatile float sink = 0;  // every value of every matrix is read
  for (const std::string_view config : {R"({"peft_type": "LORA", "r": 2})", R"({"peft_type": "LORA", "r": 4})"}) {
    const tulle::GivenFiles files(
        {file("adapter_config.json", config.data(), config.size()), file("adapter_model.safetensors", data, size)});
    try {
      const tulle::LoraAdapter adapter(files);
      for (const auto& [module, change] : adapter.changes()) {
        const auto product = adapter.product(change, 1);
        for (const float value : product->left.values) sink = sink + value;
        for (const float value : product->right.values) sink = sink + value;
      }
    } catch (const tulle::Error&) {
    }
  }
  return 0;
}
