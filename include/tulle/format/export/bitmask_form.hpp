// SPDX-License-Identifier: Apache-2.0
/// \file A model in the small form of Tulle: a bit for every weight, and the nonzeros (L3). The form: format/README.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/format/compressed_tensors.hpp>
#include <tulle/format/export/compressed_tensors_form.hpp>
#include <tulle/format/export/matrix_tensors.hpp>
#include <tulle/format/export/model_parts.hpp>
#include <tulle/format/output_tensor.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

namespace detail {

/// How the nonzeros of a matrix are stored: U8 (codes of 4 bits), I8 or floats.
inline DType nonzero_type(const MatrixPart& part) {
  if (part.format.bits == 0) return part.format.floats;
  return part.format.bits <= 4 ? DType::u8 : DType::i8;
}

inline std::size_t nonzero_bits(DType type) {
  return type == DType::u8 ? 4 : 8 * dtype_info(type).block_bytes;
}

/// Calls work(is_nonzero, elements, rows, bytes of an element) with up to 16 rows: the codes as bytes, or the encoded
/// floats. A zero has no bit set, so -0.0 is none.
template <class Work>
void for_each_element_panel(const TensorSource& source, const MatrixPart& part, Work work) {
  if (part.format.bits != 0) {
    return for_each_code_panel(source, part, [&](const CodePanel& panel) {
      work(std::as_bytes(std::span(panel.codes)).first(panel.rows * part.columns), panel.rows, std::size_t{1});
    });
  }
  std::vector<std::byte> bytes;
  for_each_float_panel(source, part, [&](std::span<const float> values) {
    encode_floats(values, part.format.floats, part.name, bytes);
    work(std::span<const std::byte>(bytes), values.size() / part.columns, dtype_info(part.format.floats).block_bytes);
  });
}

inline bool is_nonzero(std::span<const std::byte> element) {
  return std::any_of(element.begin(), element.end(), [](std::byte byte) { return byte != std::byte{0}; });
}

/// Appends the nonzeros of a row; of `bits` = 4 two to a byte, the first in the low half.
inline void append_nonzeros(std::span<const std::byte> row, std::size_t element_bytes, std::size_t bits,
                            std::vector<std::byte>& out) {
  bool half = false;
  for (std::size_t at = 0; at < row.size(); at += element_bytes) {
    const auto element = row.subspan(at, element_bytes);
    if (!is_nonzero(element)) continue;
    if (bits != 4) {
      out.insert(out.end(), element.begin(), element.end());
      continue;
    }
    const std::byte nibble = element[0] & std::byte{15};
    if (half) {
      out.back() |= nibble << 4;
    } else {
      out.push_back(nibble);
    }
    half = !half;
  }
}

/// Calls work(rows, element bytes, nonzeros) with the nonzeros of up to 16 rows.
template <class Work>
void for_each_nonzeros(const TensorSource& source, const MatrixPart& part, Work work) {
  std::vector<std::byte> values;
  const std::size_t bits = nonzero_bits(nonzero_type(part));
  for_each_element_panel(source, part, [&](std::span<const std::byte> panel, std::size_t rows, std::size_t bytes) {
    values.clear();
    for (std::size_t row = 0; row < rows; ++row) {
      append_nonzeros(panel.subspan(row * part.columns * bytes, part.columns * bytes), bytes, bits, values);
    }
    work(std::span<const std::byte>(values));
  });
}

inline std::size_t nonzero_bytes(const TensorSource& source, const MatrixPart& part) {
  std::size_t sum = 0;
  for_each_nonzeros(source, part, [&](std::span<const std::byte> values) { sum += values.size(); });
  return sum;
}

inline OutputTensor mask_tensor(const TensorSource& source, const MatrixPart& part) {
  const std::size_t mask_bytes = (part.columns + 7) / 8;
  return {part.name + ".weight_mask",
          DType::u8,
          {part.rows, mask_bytes},
          [&source, part, mask_bytes](const TensorSink& sink) {
            for_each_element_panel(
                source, part, [&](std::span<const std::byte> panel, std::size_t rows, std::size_t bytes) {
                  std::vector<std::byte> mask(rows * mask_bytes);
                  for (std::size_t at = 0; at < rows * part.columns; ++at) {
                    if (!is_nonzero(panel.subspan(at * bytes, bytes))) continue;
                    const std::size_t column = at % part.columns;
                    mask[at / part.columns * mask_bytes + column / 8] |= std::byte{1} << (column % 8);
                  }
                  sink(mask);
                });
          }};
}

inline OutputTensor nonzero_tensor(const TensorSource& source, const MatrixPart& part, std::size_t bytes) {
  const DType dtype = nonzero_type(part);
  return {part.name + ".weight_values",
          dtype,
          {bytes / dtype_info(dtype).block_bytes},
          [&source, part](const TensorSink& sink) { for_each_nonzeros(source, part, sink); }};
}

/// Bytes of a matrix that is not sparse: floats, I8 or packed codes of 4 bits.
inline std::size_t dense_bytes(const MatrixPart& part) {
  const std::size_t bits = nonzero_bits(nonzero_type(part));
  return part.rows * (bits == 4 ? (part.columns + 7) / 8 * 4 : part.columns * bits / 8);
}

inline std::int64_t signed_size(std::size_t size) {
  return static_cast<std::int64_t>(size);
}

/// Floats, I8 or packed codes without a mask.
inline void add_dense(const TensorSource& source, const MatrixPart& part, std::vector<OutputTensor>& tensors) {
  if (part.format.bits == 0) {
    tensors.push_back(float_tensor(source, part, part.format.floats));
  } else if (part.format.bits <= 4) {
    tensors.push_back(packed_tensor(source, part, 4));
    if (part.format.has_minimums) tensors.push_back(zero_point_tensor(source, part, 4));
    tensors.push_back(shape_tensor(part, {signed_size(part.rows), signed_size(part.columns)}));
  } else {
    tensors.push_back(code_tensor(source, part));
  }
}

}  // namespace detail

/// Every matrix in the smaller of two forms: a mask and the nonzeros, or dense. Codes are kept, with scales in F16
/// where that is exact, also those of embeddings. Codes of 4 bits may have zero points, then without a mask; other
/// minimums become 16-bit floats. Of a model whose activations
/// are quantized per token the config says so.
/// `config`: the model's. Lifetime: that of the source. Errors: those of the source.
inline ExportedForm bitmask_form(const TensorSource& source, const Json& config) {
  ExportedForm form;
  form.config = config;
  form.config.erase("compression_config");
  Json settings{{"quant_method", bitmask_method}, {"version", 1}};
  if (quantizes_activations_per_token(config)) {
    settings["config_groups"]["group_0"]["input_activations"] = {{"num_bits", 8}, {"strategy", "token"}};
  }
  form.config["quantization_config"] = std::move(settings);
  const ModelParts parts = model_parts(source, config);
  for (const MatrixPart& part : parts.matrices) {
    const CodeFormat& format = part.format;
    const bool whole_groups = format.group == 0 || part.columns % format.group == 0;
    const bool zero_points =
        format.has_minimums && format.bits <= 4 && whole_groups && has_zero_points(source, part, 4);
    if (format.bits > 8 || (format.has_minimums && !zero_points)) {
      const DType dtype = detail::float_type_of(part, config);
      form.tensors.push_back(float_tensor(source, part, dtype));
      form.notes.about(part.name, "codes of " + std::to_string(format.bits) + " bits became " +
                                      std::string(dtype_name(dtype)) +
                                      ": this form has zero points of 4 bits, not minimums");
      continue;
    }
    const std::size_t mask_bytes = part.rows * ((part.columns + 7) / 8);
    const std::size_t values = detail::nonzero_bytes(source, part);
    if (zero_points || (whole_groups && detail::dense_bytes(part) <= mask_bytes + values)) {
      detail::add_dense(source, part, form.tensors);
    } else {
      form.tensors.push_back(detail::mask_tensor(source, part));
      form.tensors.push_back(detail::nonzero_tensor(source, part, values));
      form.tensors.push_back(shape_tensor(part, {detail::signed_size(part.rows), detail::signed_size(part.columns),
                                                 detail::signed_size(format.group)}));
    }
    if (format.bits != 0) {
      form.tensors.push_back(scale_tensor(source, part, format.half_scales ? DType::f16 : DType::f32));
    }
  }
  for (const std::string& tensor : parts.tensors) form.tensors.push_back(plain_tensor(source, tensor));
  return form;
}

}  // namespace tulle
