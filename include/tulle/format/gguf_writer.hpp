// SPDX-License-Identifier: Apache-2.0
/// \file Writes a GGUF file, version 3: metadata, the list of tensors, then their data (L3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/checked.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/format/gguf_types.hpp>
#include <tulle/format/output_file.hpp>
#include <tulle/format/output_tensor.hpp>
#include <tulle/format/safetensors_writer.hpp>

namespace tulle {

namespace detail {

/// Little-endian numbers, and strings with their length before them.
class GgufBytes {
 public:
  template <class T>
  void number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void string(std::string_view text) {
    number(std::uint64_t{text.size()});
    text_.append(text);
  }
  void type(GgufType type) { number(static_cast<std::uint32_t>(type)); }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace detail

/// The key-value pairs of a GGUF file, in the order in which they are added.
class GgufMetadata {
 public:
  void string(std::string_view key, std::string_view value) { begin(key, GgufType::string).string(value); }
  void u32(std::string_view key, std::uint32_t value) { begin(key, GgufType::u32).number(value); }
  void f32(std::string_view key, float value) { begin(key, GgufType::f32).number(value); }
  void boolean(std::string_view key, bool value) {
    begin(key, GgufType::boolean).number(static_cast<std::uint8_t>(value));
  }
  void strings(std::string_view key, const std::vector<std::string>& values) {
    begin_array(key, GgufType::string, values.size());
    for (const std::string& value : values) bytes_.string(value);
  }
  void floats(std::string_view key, const std::vector<float>& values) {
    begin_array(key, GgufType::f32, values.size());
    for (const float value : values) bytes_.number(value);
  }
  void integers(std::string_view key, const std::vector<int>& values) {
    begin_array(key, GgufType::i32, values.size());
    for (const int value : values) bytes_.number(static_cast<std::int32_t>(value));
  }

  std::uint64_t count() const noexcept { return count_; }
  const std::string& text() const noexcept { return bytes_.text(); }

 private:
  detail::GgufBytes& begin(std::string_view key, GgufType type) {
    ++count_;
    bytes_.string(key);
    bytes_.type(type);
    return bytes_;
  }
  void begin_array(std::string_view key, GgufType element, std::size_t size) {
    begin(key, GgufType::array).type(element);
    bytes_.number(std::uint64_t{size});
  }

  detail::GgufBytes bytes_;
  std::uint64_t count_ = 0;
};

/// Tensors [rows, columns] in the given order. Errors: io, which leaves no file; those of the tensors; unsupported for a
/// name of more than 63 bytes and for a type that ggml lacks.
inline void write_gguf(const std::string& path, const GgufMetadata& metadata, const std::vector<OutputTensor>& tensors,
                       const Progress& progress = {}) {
  constexpr std::size_t alignment = 32, longest_name = 63;
  detail::GgufBytes head;
  head.number(std::uint32_t{3});
  head.number(std::uint64_t{tensors.size()});
  head.number(metadata.count());
  detail::GgufBytes list;
  std::uint64_t end = 0;
  for (const OutputTensor& tensor : tensors) {
    const std::uint32_t type = dtype_info(tensor.dtype).ggml_type;
    if (tensor.name.size() > longest_name || type == no_ggml_type) {
      fail(ErrorCode::unsupported, "tensor \"", tensor.name, "\" (", dtype_name(tensor.dtype),
           ") does not fit into a GGUF file");
    }
    list.string(tensor.name);
    list.number(static_cast<std::uint32_t>(tensor.shape.size()));
    for (std::size_t axis = tensor.shape.size(); axis-- > 0;) list.number(std::uint64_t{tensor.shape[axis]});
    list.number(type);
    list.number(end);
    end = (end + tensor.size_bytes() + alignment - 1) / alignment * alignment;  // may pass 32 bits
  }
  OutputFile file(path);
  file.write("GGUF");
  for (const std::string* part : {&head.text(), &metadata.text(), &list.text()}) file.write(*part);
  file.pad(alignment);
  const std::uint64_t total = file.size() + end;
  for (const OutputTensor& tensor : tensors) {
    detail::write_tensor(tensor, file, total, progress);
    file.pad(alignment);
  }
  file.finish();
}

}  // namespace tulle
