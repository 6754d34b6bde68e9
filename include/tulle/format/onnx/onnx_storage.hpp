// SPDX-License-Identifier: Apache-2.0
/// \file Where the elements of an ONNX file's tensors lie: in it, in a file beside it, or decoded from numbers (L3).
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tulle/core/checked.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>
#include <tulle/format/model_files.hpp>
#include <tulle/format/model_path.hpp>
#include <tulle/format/onnx/onnx_graph.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/format/tensor_files.hpp>
#include <tulle/tensor/dtype.hpp>
#include <tulle/tensor/float_elements.hpp>

namespace tulle::detail {

/// Of a TensorProto.DataType; nothing for types that are no plain numbers.
inline std::optional<DType> onnx_dtype(std::uint64_t type) noexcept {
  constexpr std::array<std::pair<std::uint64_t, DType>, 12> types{{{1, DType::f32},
                                                                   {2, DType::u8},
                                                                   {3, DType::i8},
                                                                   {5, DType::i16},
                                                                   {6, DType::i32},
                                                                   {7, DType::i64},
                                                                   {9, DType::boolean},
                                                                   {10, DType::f16},
                                                                   {11, DType::f64},
                                                                   {16, DType::bf16},
                                                                   {17, DType::f8_e4m3},
                                                                   {19, DType::f8_e5m2}}};
  for (const auto& [number, dtype] : types) {
    if (number == type) return dtype;
  }
  return std::nullopt;
}

/// Checks every size against the file that it is about before anything is read or allocated.
class OnnxStorage {
 public:
  struct Place {
    const InputFile* file = nullptr;  // nullptr: in memory
    std::uint64_t offset = 0;
    DType dtype = DType::f32;
    std::vector<std::size_t> shape;
    std::size_t elements = 1, bytes = 0;
  };

  /// `bytes`: all of `file`, which is called `name`. Files beside it are kept in `tensors`. All must outlive the object.
  OnnxStorage(const ModelFiles& files, const std::string& name, const InputFile& file, std::span<const std::byte> bytes,
              TensorFiles& tensors)
      : files_(files), name_(name), where_(files.path(name)), file_(file), bytes_(bytes), tensors_(tensors) {}

  const std::string& where() const noexcept { return where_; }

  [[noreturn]] void fail_at(const OnnxTensor& tensor, std::string_view what,
                            ErrorCode code = ErrorCode::unsupported) const {
    fail(code, where_, ": the tensor ", quoted_name(tensor.name), " ", what);
  }

  /// Errors: malformed where shape, type and bytes do not fit; those of external data.
  Place locate(const OnnxTensor& tensor) {
    Place place;
    const std::optional<DType> dtype = onnx_dtype(tensor.type);
    if (!dtype) fail_at(tensor, "is of the ONNX type " + std::to_string(tensor.type) + ", which is not read");
    if (tensor.extents.size() > 8) fail_at(tensor, "has more than 8 dimensions", ErrorCode::malformed);
    const std::string what = where_ + ": tensor " + quoted_name(tensor.name);
    place.dtype = *dtype;
    for (const std::uint64_t extent : tensor.extents) {
      if (extent > SIZE_MAX / 2) fail_at(tensor, "has an extent that is too large", ErrorCode::malformed);
      place.shape.push_back(static_cast<std::size_t>(extent));
      place.elements = checked_multiply(place.elements, place.shape.back(), what);
    }
    place.bytes = dtype_bytes(place.dtype, place.elements, what);
    if (tensor.is_external) {
      locate_external(tensor, place);
    } else if (tensor.raw) {
      require_size(tensor, place.bytes, tensor.raw->size());
      place.file = &file_;
      place.offset = static_cast<std::uint64_t>(tensor.raw->data() - bytes_.data());
    } else {
      place.offset = decode_typed(tensor, place);
    }
    return place;
  }

  /// Calls work(bytes) with the elements of a tensor.
  template <class Work>
  void with_bytes(const Place& place, Work&& work) const {
    if (place.file == nullptr) {
      return work(std::span<const std::byte>(made_).subspan(static_cast<std::size_t>(place.offset), place.bytes));
    }
    if (place.file == &file_) return work(bytes_.subspan(static_cast<std::size_t>(place.offset), place.bytes));
    const std::span<const std::byte> bytes = place.file->view(place.offset, place.bytes);
    work(bytes);
    place.file->release(bytes);
  }

  /// Of a small tensor: one, or `rows`. Errors: malformed, unsupported.
  std::vector<float> read_numbers(const OnnxTensor& tensor, std::size_t rows) {
    const Place place = locate(tensor);
    if (place.elements != 1 && place.elements != rows) {
      fail_at(tensor, "must hold one number, or one for each of " + std::to_string(rows) + " rows",
              ErrorCode::malformed);
    }
    if (!is_number_dtype(place.dtype)) fail_at(tensor, "holds no numbers");
    std::vector<float> numbers(place.elements);
    with_bytes(place, [&](auto bytes) { decode_floats(place.dtype, bytes.data(), numbers.size(), numbers.data()); });
    return numbers;
  }

  /// Where bytes that were computed lie in memory.
  std::uint64_t append(std::span<const std::byte> bytes) {
    made_.insert(made_.end(), bytes.begin(), bytes.end());
    return made_.size() - bytes.size();
  }

  /// All that lies in memory, as a file that `tensors` keep. Nothing is appended afterwards.
  const InputFile& memory() {
    struct Made {
      explicit Made(std::vector<std::byte> content) : bytes(std::move(content)), file(bytes) {}
      std::vector<std::byte> bytes;
      InputFile file;
    };
    const auto made = std::make_shared<const Made>(std::move(made_));
    return tensors_.keep(std::shared_ptr<const InputFile>(made, &made->file));
  }

 private:
  void require_size(const OnnxTensor& tensor, std::uint64_t needed, std::uint64_t found) const {
    if (needed == found) return;
    fail(ErrorCode::malformed, where_, ": the tensor ", quoted_name(tensor.name), " needs ", needed,
         " bytes for its shape and has ", found);
  }

  void locate_external(const OnnxTensor& tensor, Place& place) {
    const auto number = [&](std::string_view text, std::uint64_t fallback) {
      if (text.empty()) return fallback;
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size()) {
        fail_at(tensor, "has an offset or a length that is no number", ErrorCode::malformed);
      }
      return value;
    };
    const InputFile& file = external_file(tensor);
    place.file = &file;
    place.offset = number(tensor.offset, 0);
    if (place.offset > file.size()) fail_at(tensor, "begins behind the end of its file", ErrorCode::malformed);
    const std::uint64_t left = file.size() - place.offset, length = number(tensor.length, left);
    if (length > left) fail_at(tensor, "ends behind the end of its file", ErrorCode::malformed);
    require_size(tensor, place.bytes, length);
  }

  const InputFile& external_file(const OnnxTensor& tensor) {
    const std::string name(tensor.location);
    if (const auto found = externals_.find(name); found != externals_.end()) return *found->second;
    const std::string data = "has its data in " + quoted_name(name);
    if (!is_plain_file_name(name)) {
      fail_at(tensor, data + ", which is no plain name of a file beside it", ErrorCode::malformed);
    }
    if (!files_.has(name)) fail_at(tensor, data + ", which is not there", ErrorCode::not_found);
    if (!files_.lies_beside(name, name_)) {
      fail_at(tensor, data + ", a link to another directory", ErrorCode::malformed);
    }
    return *externals_.emplace(name, &tensors_.keep(files_.open(name))).first->second;
  }

  /// Elements in float_data, double_data, int64_data or int32_data, of which smaller types use the low bits. Returns where
  /// they begin in `made_`.
  std::uint64_t decode_typed(const OnnxTensor& tensor, const Place& place) {
    if (const auto found = typed_.find(&tensor); found != typed_.end()) return found->second;
    const std::size_t begin = made_.size(), width = dtype_info(place.dtype).block_bytes;
    for (ProtobufReader message(tensor.message, where_); message.next();) {
      const bool is_float = message.field() == 4 && place.dtype == DType::f32;
      if (is_float || (message.field() == 10 && place.dtype == DType::f64)) {
        append(message.fixed(width));
      } else if (message.field() == (place.dtype == DType::i64 ? 7u : 5u) && place.dtype != DType::f32 &&
                 place.dtype != DType::f64) {
        message.for_each_number(
            [&](std::uint64_t number) { append(std::as_bytes(std::span(&number, 1)).first(width)); });
      }
    }
    require_size(tensor, place.bytes, made_.size() - begin);
    typed_.emplace(&tensor, begin);
    return begin;
  }

  const ModelFiles& files_;
  const std::string& name_;
  std::string where_;
  const InputFile& file_;
  std::span<const std::byte> bytes_;
  TensorFiles& tensors_;
  std::map<std::string, const InputFile*> externals_;
  std::map<const OnnxTensor*, std::uint64_t> typed_;
  std::vector<std::byte> made_;
};

}  // namespace tulle::detail
