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

namespace {

/// Reads the first rows of a matrix in both forms. Returns a number that depends on all of them.
unsigned decoded(const tulle::WeightSource& matrix) {
  const tulle::CodeFormat format = matrix.code_format();
  const std::size_t columns = matrix.columns(), per_row = format.scales_per_row(columns);
  std::vector<float> values(columns), scales(per_row), minimums(per_row);
  std::vector<std::int8_t> codes(columns);
  unsigned sum = 0;
  for (std::uint32_t row = 0; row < matrix.rows() && row < 4; ++row) {
    matrix.decode_row(row, values.data());
    if (format.bits != 0) matrix.codes({&row, 1}, {codes.data(), 1, columns}, scales.data(), minimums.data());
    for (const float value : values) sum += value > 0;
    for (const std::int8_t code : codes) sum += code > 0;
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  volatile unsigned sink = 0;  // every byte of every tensor is read
  try {
    const auto checkpoint = tulle::Checkpoint::from_gguf_bytes({bytes.begin(), bytes.end()}, "input");
    for (const std::string& name : checkpoint->names()) {
      const tulle::EncodedTensor& tensor = *checkpoint->find(name);
      for (const std::byte byte : tensor.bytes) sink = sink + static_cast<unsigned>(byte);
      if (tensor.shape.size() == 2 && name.ends_with(".weight")) {
        sink = sink + decoded(*checkpoint->matrix(name.substr(0, name.rfind('.'))));
      }
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
