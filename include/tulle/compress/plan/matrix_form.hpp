// SPDX-License-Identifier: Apache-2.0
/// \file The forms among which a plan chooses for each matrix (L5).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/compress/layer_plan.hpp>
#include <tulle/core/error.hpp>
#include <tulle/format/quoted_name.hpp>

namespace tulle {

/// A combination of zeros and codes that a kernel multiplies and that both forms of a directory keep.
struct MatrixForm {
  std::string_view name;
  std::size_t bits = 8, group = 0;  ///< of a code; columns that share a scale, 0: a row
  SparsityStructure structure{};    ///< with a sparsity above 0
  double sparsity = 0;
  bool has_minimum = false;  ///< codes of 4 bits with a minimum beside the scale

  bool operator==(const MatrixForm&) const = default;

  /// A group that is the whole row would be written as a scale per row, for which 4-bit codes have no dense kernel.
  bool fits(std::size_t columns) const noexcept {
    return (group == 0 || (columns % group == 0 && columns > group)) &&
           (structure.of == 0 || columns % structure.of == 0);
  }

  /// Matrices of the same codes that are multiplied together are packed together, so they have to have one form.
  bool is_packed_with(const MatrixForm& other) const noexcept {
    return bits == other.bits && group == other.group && has_minimum == other.has_minimum;
  }

  /// With Tulle's own methods, as `--structure`, `--sparsity` and `--bits` have them.
  LayerPlan plan() const {
    LayerPlan plan;
    if (sparsity > 0) {
      plan.pruning.emplace().structure = structure;
      plan.pruning->sparsity = sparsity;
    }
    plan.quantization.emplace().bits = bits;
    plan.quantization->group = group;
    plan.quantization->symmetric = !has_minimum;
    return with_own_target(plan);
  }
};

/// Unstructured 4-bit codes run on `ell_i4`. With half of the weights it would take as many bytes as dense 4-bit codes.
inline constexpr std::array matrix_forms{
    MatrixForm{"int8"},
    MatrixForm{"int4-32", 4, 32},
    MatrixForm{"int4-64", 4, 64},
    MatrixForm{"int4-128", 4, 128},
    MatrixForm{"int4-32-min", 4, 32, {}, 0, true},
    MatrixForm{"int4-64-min", 4, 64, {}, 0, true},
    MatrixForm{"int4-128-min", 4, 128, {}, 0, true},
    MatrixForm{"8:16-gap4-int8", 8, 0, {SparsityStructure::Kind::balanced, 8, 16, 4}, 0.5},
    MatrixForm{"2:4-int8", 8, 0, {SparsityStructure::Kind::balanced, 2, 4}, 0.5},
    MatrixForm{"4:16-int8", 8, 0, {SparsityStructure::Kind::balanced, 4, 16}, 0.75},
    MatrixForm{"8:16-gap4-int4", 4, 32, {SparsityStructure::Kind::balanced, 8, 16, 4}, 0.5},
    MatrixForm{"2:4-int4", 4, 32, {SparsityStructure::Kind::balanced, 2, 4}, 0.5},
    MatrixForm{"4:16-int4", 4, 32, {SparsityStructure::Kind::balanced, 4, 16}, 0.75},
    MatrixForm{"50%-int8", 8, 0, {}, 0.5},
    MatrixForm{"60%-int8", 8, 0, {}, 0.6},
    MatrixForm{"70%-int8", 8, 0, {}, 0.7},
    MatrixForm{"80%-int8", 8, 0, {}, 0.8},
    MatrixForm{"90%-int8", 8, 0, {}, 0.9},
    MatrixForm{"60%-int4", 4, 0, {}, 0.6},
    MatrixForm{"70%-int4", 4, 0, {}, 0.7},
    MatrixForm{"80%-int4", 4, 0, {}, 0.8},
    MatrixForm{"90%-int4", 4, 0, {}, 0.9},
};

/// A form by its name. Errors: not_found, with the names that exist. `place` begins the message.
inline const MatrixForm& matrix_form(std::string_view name, std::string_view place) {
  std::string known;
  for (const MatrixForm& form : matrix_forms) {
    if (form.name == name) return form;
    known += (known.empty() ? "" : ", ") + std::string(form.name);
  }
  fail(ErrorCode::not_found, place, ": there is no form ", detail::quoted_name(name), "; known are ", known);
}

/// What a plan must keep to, for the linear layers of the decoder: bytes, speed or both.
struct FormBudget {
  std::optional<double> bytes_per_weight;  ///< at most, as packed for this CPU
  std::optional<double> speedup;           ///< at least: decode speed over that of dense int8
  std::string form{};                      ///< instead: at most the bytes and the time of this form in every matrix

  bool limits_bytes() const noexcept { return bytes_per_weight || !form.empty(); }
  bool limits_time() const noexcept { return speedup || !form.empty(); }
  bool operator==(const FormBudget&) const = default;
};

/// What is still to be chosen: forms for these layers.
struct FormRequest {
  FormBudget budget;
  std::vector<MatrixForm> forms{matrix_forms.begin(), matrix_forms.end()};
  std::vector<std::string> layers;  ///< names

  bool operator==(const FormRequest&) const = default;
};

}  // namespace tulle
