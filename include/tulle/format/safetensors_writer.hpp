// SPDX-License-Identifier: Apache-2.0
/// \file Writes a safetensors file: the header, then one tensor after the other (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/format/output_file.hpp>
#include <tulle/format/output_tensor.hpp>

namespace tulle {

namespace detail {

/// Gives the bytes of a tensor to a file. Errors: state when they are not as many as its shape needs; io.
inline void write_tensor(const OutputTensor& tensor, OutputFile& file, std::uint64_t total, const Progress& progress) {
  const std::uint64_t end = file.size() + tensor.size_bytes();
  tensor.write([&](std::span<const std::byte> bytes) {
    file.write(bytes);
    if (progress) progress("writing", static_cast<double>(file.size()) / static_cast<double>(total));
  });
  if (file.size() != end) {
    fail(ErrorCode::state, "tensor \"", tensor.name, "\" was written with ", file.size(), " bytes up to where ", end,
         " were expected");
  }
}

}  // namespace detail

/// Elements of large types come first and names are in order, as the reference implementation writes them, so every
/// tensor is aligned. Memory: what a tensor's `write` holds.
/// Errors: io, which leaves no file; those of the tensors; malformed for a name that appears twice.
inline void write_safetensors(const std::string& path, std::vector<OutputTensor> tensors,
                              const Progress& progress = {}) {
  std::sort(tensors.begin(), tensors.end(), [](const OutputTensor& a, const OutputTensor& b) {
    const auto key = [](const OutputTensor& tensor) {
      return std::tuple(-static_cast<int>(dtype_info(tensor.dtype).block_bytes), std::string_view(tensor.name));
    };
    return key(a) < key(b);
  });
  Json header;
  header["__metadata__"] = {{"format", "pt"}};
  std::uint64_t end = 0;
  for (const OutputTensor& tensor : tensors) {
    if (header.contains(tensor.name)) fail(ErrorCode::malformed, path, ": tensor \"", tensor.name, "\" appears twice");
    const std::uint64_t begin = end;
    end += tensor.size_bytes();
    header[tensor.name] = {
        {"dtype", dtype_name(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  OutputFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(text);
  const std::uint64_t total = file.size() + end;
  for (const OutputTensor& tensor : tensors) detail::write_tensor(tensor, file, total, progress);
  file.finish();
}

}  // namespace tulle
