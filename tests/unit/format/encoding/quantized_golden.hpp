// SPDX-License-Identifier: Apache-2.0
/// \file Matrices of tests/golden/quantized, and the floats that they stand for.
#pragma once

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tulle/format/checkpoint.hpp>
#include <tulle/tensor/weight_source.hpp>

#include "unit/format/export/made_model.hpp"

namespace tulle::testing {

/// What codes, scales and minimums give.
inline std::vector<float> values_of_codes(const WeightSource& source) {
  const CodeFormat format = source.code_format();
  const std::size_t columns = source.columns(), per_row = format.scales_per_row(columns);
  std::vector<float> values;
  for (std::size_t row = 0; row < source.rows(); ++row) {
    std::vector<std::int8_t> codes(columns);
    std::vector<float> scales(per_row), minimums(per_row);
    source.codes(PanelRows(row, row + 1), {codes.data(), 1, columns}, scales.data(),
                 format.has_minimums ? minimums.data() : nullptr);
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t at = format.group == 0 ? 0 : column / format.group;
      values.push_back(scales[at] * static_cast<float>(codes[column]) + minimums[at]);
    }
  }
  return values;
}

/// Every layer of a directory that has "L.expected", read to the bit as floats and, where it has them, as codes.
/// Calls check(layer, its matrix). Returns how many there are.
template <class Check>
int check_quantized(const std::string& name, Check&& check) {
  const auto checkpoint = Checkpoint::open(TULLE_GOLDEN "/quantized/" + name);
  int layers = 0;
  for (const std::string& tensor : checkpoint->names()) {
    if (!tensor.ends_with(".expected")) continue;
    const std::string layer = tensor.substr(0, tensor.rfind('.'));
    CAPTURE(name, layer);
    const std::vector<float> expected = read_floats(*checkpoint, *checkpoint->find(tensor));
    const auto matrix = checkpoint->matrix(layer);
    REQUIRE(matrix != nullptr);
    CHECK(values_of(*matrix) == expected);
    CHECK(same_matrix(*matrix, *matrix->copied()));
    if (matrix->code_format().bits != 0) CHECK(values_of_codes(*matrix) == expected);
    check(layer, *matrix);
    ++layers;
  }
  return layers;
}

}  // namespace tulle::testing
