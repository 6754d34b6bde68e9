// SPDX-License-Identifier: Apache-2.0
/// \file The parameters of an ONNX file as tensors of a checkpoint, some of them computed (L3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>
#include <tulle/format/encoding/i8.hpp>
#include <tulle/format/onnx/onnx_storage.hpp>
#include <tulle/format/onnx/onnx_weights.hpp>
#include <tulle/format/tensor_files.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle::detail {

/// A matrix of codes becomes "P.weight" I8 or U8, "P.weight_scale" F32 and, where they are not 0, "P.weight_zero_point"
/// I8: what `i8_rows` reads. Codes, scales and biases that the graph would compute are computed here, in float32.
class OnnxTensors {
 public:
  /// Both must outlive the object.
  OnnxTensors(OnnxStorage& storage, TensorFiles& tensors) : storage_(storage), tensors_(tensors) {}

  /// Errors: malformed, unsupported and not_found, naming the tensor; those of reading.
  void add(const std::string& name, const OnnxWeight& weight) {
    if (!weight.is_matrix && weight.scale == nullptr && !onnx_dtype(weight.values->type)) return;
    const Place place = storage_.locate(*weight.values);
    if (weight.is_matrix && place.elements == 0) {
      storage_.fail_at(*weight.values, "has no elements", ErrorCode::malformed);
    }
    const bool is_codes = place.dtype == DType::i8 || place.dtype == DType::u8;
    EncodedTensor tensor{name, place.dtype, place.shape, {}};
    tensor.transposed = weight.transposed;
    if (weight.transposed) std::swap(tensor.shape[0], tensor.shape[1]);
    if (weight.scale == nullptr) {
      if (weight.is_matrix && is_codes) storage_.fail_at(*weight.values, "holds codes whose scales are not found");
      return put(std::move(tensor), place);
    }
    const std::vector<float> scales = read_scales(weight, tensor.shape[0]);
    const std::vector<int> zeros = read_zeros(weight, place.dtype, scales.size());
    if (!weight.is_matrix) return put_vector(name, weight, place, scales, zeros);
    if (weight.rounds) {
      put_rounded(std::move(tensor), weight, place, scales, zeros);
    } else {
      if (!is_codes)
        storage_.fail_at(*weight.values, "is quantized in a type that is not read; known are INT8 and UINT8");
      put(std::move(tensor), place);
    }
    std::vector<std::int8_t> bytes;
    for (const int zero : zeros) bytes.push_back(static_cast<std::int8_t>(zero));
    put_made({name + "_scale", DType::f32, {scales.size()}, {}}, std::as_bytes(std::span(scales)));
    if (std::any_of(zeros.begin(), zeros.end(), [](int zero) { return zero != 0; })) {
      put_made({name + "_zero_point", DType::i8, {bytes.size()}, {}}, std::as_bytes(std::span(bytes)));
    }
  }

  /// Adds what was computed.
  void finish() {
    const InputFile& memory = storage_.memory();
    for (EncodedTensor& tensor : computed_) tensors_.add(std::move(tensor), memory, storage_.where());
  }

 private:
  using Place = OnnxStorage::Place;

  /// One, or one for each row. Errors: unsupported where they are those of columns.
  std::vector<float> read_scales(const OnnxWeight& weight, std::size_t rows) {
    std::vector<float> scales = storage_.read_numbers(*weight.scale, rows);
    const std::int64_t axis = weight.is_matrix && weight.transposed ? 1 : 0;
    if (scales.size() != 1 && weight.axis >= 0 && weight.axis != axis) {
      storage_.fail_at(*weight.values, "has a scale for each column, which is not read");
    }
    const float divisor = weight.divisor == nullptr ? 1 : storage_.read_numbers(*weight.divisor, 1)[0];
    for (float& scale : scales) {
      scale /= divisor;
      if (!std::isfinite(scale))
        storage_.fail_at(*weight.scale, "makes a scale that is not finite", ErrorCode::malformed);
    }
    return scales;
  }

  /// Those of codes from -128 to 127; as many as there are scales, or one.
  std::vector<int> read_zeros(const OnnxWeight& weight, DType codes, std::size_t count) {
    DType type = weight.rounds ? DType::u8 : codes;
    std::vector<float> numbers{0};
    if (weight.zero != nullptr) {
      numbers = storage_.read_numbers(*weight.zero, count);
      type = onnx_dtype(weight.zero->type).value_or(type);
      const bool fits = weight.rounds ? type == DType::u8 || type == DType::i8 : type == codes;
      if (!fits) storage_.fail_at(*weight.zero, "is of another type than the codes", ErrorCode::malformed);
    }
    std::vector<int> zeros;
    for (const float number : numbers) {
      zeros.push_back(static_cast<int>(std::clamp(number, -256.0f, 256.0f)) - (type == DType::u8 ? 128 : 0));
    }
    return zeros;
  }

  /// Of a bias: floats.
  void put_vector(const std::string& name, const OnnxWeight& weight, const Place& place,
                  const std::vector<float>& scales, const std::vector<int>& zeros) {
    if (place.dtype != DType::i32 || weight.rounds ||
        std::any_of(zeros.begin(), zeros.end(), [](int zero) { return zero != 0; })) {
      storage_.fail_at(*weight.values, "is a quantized vector that is not INT32 with zero points of 0");
    }
    std::vector<float> values(place.elements);
    storage_.with_bytes(place,
                        [&](auto bytes) { decode_floats(place.dtype, bytes.data(), values.size(), values.data()); });
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= scales[scales.size() == 1 ? 0 : i];
    put_made({name, DType::f32, {values.size()}, {}}, std::as_bytes(std::span(values)));
  }

  /// The codes that QuantizeLinear makes of floats: rounded to the nearest, halves to even.
  void put_rounded(EncodedTensor tensor, const OnnxWeight& weight, const Place& place, const std::vector<float>& scales,
                   const std::vector<int>& zeros) {
    if (!is_float_dtype(place.dtype)) storage_.fail_at(*weight.values, "is quantized from a type that is not floats");
    std::vector<float> values(place.elements);
    storage_.with_bytes(place,
                        [&](auto bytes) { decode_floats(place.dtype, bytes.data(), values.size(), values.data()); });
    std::vector<std::int8_t> codes(values.size());
    const std::size_t columns = place.shape[1];
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t row = weight.transposed ? i % columns : i / columns;
      const float code = std::nearbyint(values[i] / scales[scales.size() == 1 ? 0 : row]) +
                         static_cast<float>(zeros[zeros.size() == 1 ? 0 : row]);
      codes[i] = static_cast<std::int8_t>(std::isnan(code) ? 0 : std::clamp(code, -128.0f, 127.0f));
    }
    tensor.dtype = DType::i8;
    put_made(std::move(tensor), std::as_bytes(std::span(codes)));
  }

  void put(EncodedTensor tensor, const Place& place) {
    if (place.dtype == DType::u8) tensor.offset = shifted_codes;
    tensor.file_offset = place.offset;
    if (place.file == nullptr) {
      computed_.push_back(std::move(tensor));
    } else {
      tensors_.add(std::move(tensor), *place.file, storage_.where());
    }
  }

  void put_made(EncodedTensor tensor, std::span<const std::byte> bytes) {
    tensor.file_offset = storage_.append(bytes);
    computed_.push_back(std::move(tensor));
  }

  OnnxStorage& storage_;
  TensorFiles& tensors_;
  std::vector<EncodedTensor> computed_;
};

}  // namespace tulle::detail
