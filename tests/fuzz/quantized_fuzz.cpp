// SPDX-License-Identifier: Apache-2.0
/// \file Any bytes as the safetensors file of a quantized model: every matrix is read, or refused with `tulle::Error`.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fuzz/standalone_main.hpp>
#include <span>
#include <string>
#include <string_view>
#include <tulle/core/error.hpp>
#include <tulle/format/checkpoint.hpp>
#include <utility>
#include <vector>

namespace {

constexpr std::string_view config = R"({"quantization_config": {"config_groups": {
  "a": {"weights": {"num_bits": 4, "group_size": 32}}, "b": {"weights": {"num_bits": 4, "group_size": 64}}}}})";

tulle::GivenFiles::File file(std::string name, const void* data, std::size_t size) {
  return {std::move(name), size, [data](std::uint64_t offset, std::span<std::byte> out) {
            std::memcpy(out.data(), static_cast<const std::byte*>(data) + offset, out.size());
          }};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tulle::GivenFiles files(
      {file("config.json", config.data(), config.size()), file("model.safetensors", data, size)});
  volatile float sink = 0;  // every value of every matrix is read
  std::shared_ptr<const tulle::Checkpoint> checkpoint;
  try {
    checkpoint = tulle::Checkpoint::open(files);
  } catch (const tulle::Error&) {
    return 0;
  }
  for (const std::string& name : checkpoint->names()) {
    for (const std::string_view end :
         {".weight", ".weight_packed", ".weight_mask", ".qweight", ".bitmask", ".weight.bitmask", "_blocks"}) {
      if (!name.ends_with(end)) continue;
      try {
        const auto matrix = checkpoint->matrix(name.substr(0, name.size() - end.size()));
        if (matrix == nullptr) continue;
        const std::size_t columns = matrix->columns(), per_row = matrix->code_format().scales_per_row(columns);
        std::vector<float> row(columns), scales(per_row), minimums(per_row);
        std::vector<std::int8_t> codes(columns);
        for (std::uint32_t i = 0; i < matrix->rows() && columns != 0; ++i) {
          matrix->decode_row(i, row.data());
          if (matrix->code_format().bits != 0) {
            matrix->codes({&i, 1}, {codes.data(), 1, columns}, scales.data(), minimums.data());
          }
          sink = sink + row.front() + row.back() + static_cast<float>(codes.back());
        }
      } catch (const tulle::Error&) {
      }
    }
  }
  return 0;
}
