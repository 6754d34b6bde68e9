// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for encodings.hpp: the table of the encodings (L3).
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <tulle/core/compiled.hpp>
#include <tulle/core/error.hpp>
#include <tulle/format/encoding/bitmask.hpp>
#include <tulle/format/encoding/blocks_of_256.hpp>
#include <tulle/format/encoding/blocks_of_32.hpp>
#include <tulle/format/encoding/encodings.hpp>
#include <tulle/format/encoding/f8.hpp>
#include <tulle/format/encoding/gptq.hpp>
#include <tulle/format/encoding/i8.hpp>
#include <tulle/format/encoding/mxfp4.hpp>
#include <tulle/format/encoding/pack_quantized.hpp>
#include <tulle/format/encoding/plain.hpp>
#include <tulle/format/encoding/sparse_bitmask.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/transposed_rows.hpp>

namespace tulle {

TULLE_INLINE std::shared_ptr<const WeightSource> Encoding::open(const TensorSource& source,
                                                                const EncodedTensor& tensor) const {
  if (rows == nullptr) return open_i8_rows(source, tensor);
  auto opened = open_rows(*rows, source, tensor);
  return is_f8_dtype(dtype) ? scaled_rows(std::move(opened), source, tensor, tensor.name) : opened;
}

TULLE_INLINE std::span<const Encoding> encodings() {
  // Adding an encoding is adding a line here and the header it needs.
  static constexpr std::array all{Encoding{DType::f32, &f32_rows},         Encoding{DType::f16, &f16_rows},
                                  Encoding{DType::bf16, &bf16_rows},       Encoding{DType::i8, nullptr},
                                  Encoding{DType::q8_0, &q8_0_rows},       Encoding{DType::q4_0, &q4_0_rows},
                                  Encoding{DType::q4_1, &q4_1_rows},       Encoding{DType::q5_0, &q5_0_rows},
                                  Encoding{DType::q5_1, &q5_1_rows},       Encoding{DType::q2_k, &q2_k_rows},
                                  Encoding{DType::q3_k, &q3_k_rows},       Encoding{DType::q4_k, &q4_k_rows},
                                  Encoding{DType::q5_k, &q5_k_rows},       Encoding{DType::q6_k, &q6_k_rows},
                                  Encoding{DType::q8_k, &q8_k_rows},       Encoding{DType::iq4_nl, &iq4_nl_rows},
                                  Encoding{DType::iq4_xs, &iq4_xs_rows},   Encoding{DType::mxfp4, &mxfp4_rows},
                                  Encoding{DType::tq1_0, &tq1_0_rows},     Encoding{DType::tq2_0, &tq2_0_rows},
                                  Encoding{DType::f64, &f64_rows},         Encoding{DType::i64, &i64_rows},
                                  Encoding{DType::i32, &i32_rows},         Encoding{DType::i16, &i16_rows},
                                  Encoding{DType::f8_e4m3, &f8_e4m3_rows}, Encoding{DType::f8_e5m2, &f8_e5m2_rows}};
  return all;
}

TULLE_INLINE const Encoding* find_encoding(DType dtype) noexcept {
  for (const Encoding& encoding : encodings()) {
    if (encoding.dtype == dtype) return &encoding;
  }
  return nullptr;
}

TULLE_INLINE std::string encoding_names() {
  std::string names;
  for (const Encoding& encoding : encodings()) {
    names += (names.empty() ? "" : ", ") + std::string(dtype_name(encoding.dtype));
  }
  return names;
}

TULLE_INLINE std::shared_ptr<const WeightSource> open_matrix(const TensorSource& source, const std::string& name) {
  const EncodedTensor* tensor = source.find(name + ".weight");
  if (tensor == nullptr) {
    if (const EncodedTensor* packed = source.find(name + ".weight_packed")) return open_packed_rows(source, *packed);
    if (const EncodedTensor* mask = source.find(name + ".weight_mask")) return open_bitmask_rows(source, *mask);
    for (const char* mask_name : {".bitmask", ".weight.bitmask"}) {
      const EncodedTensor* mask = source.find(name + mask_name);
      if (mask != nullptr) return open_sparse_rows(source, *mask, name + ".weight");
    }
    if (const EncodedTensor* words = source.find(name + ".qweight")) return open_gptq_rows(source, *words);
    if (const EncodedTensor* blocks = source.find(name + "_blocks")) {
      return in_order(open_mxfp4_rows(source, *blocks), blocks->order);
    }
    return nullptr;
  }
  if (tensor->shape.size() != 2) {
    fail(ErrorCode::malformed, "tensor \"", tensor->name, "\" has ", tensor->shape.size(),
         " dimensions where a matrix ", "[rows, columns] is needed");
  }
  const bool is_shifted = tensor->dtype == DType::u8 && tensor->offset == shifted_codes;
  const Encoding* encoding = find_encoding(is_shifted ? DType::i8 : tensor->dtype);
  if (encoding == nullptr) {
    fail(ErrorCode::unsupported, "tensor \"", tensor->name, "\" is ", dtype_name(tensor->dtype),
         "; weights are read from ", encoding_names());
  }
  if (tensor->transposed && encoding->rows != nullptr) {
    EncodedTensor as_it_lies = *tensor;
    std::swap(as_it_lies.shape[0], as_it_lies.shape[1]);
    return in_order(std::make_shared<const TransposedRows>(*encoding->open(source, as_it_lies)), tensor->order);
  }
  return in_order(encoding->open(source, *tensor), tensor->order);
}

}  // namespace tulle
