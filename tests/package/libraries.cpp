// SPDX-License-Identifier: Apache-2.0
// A little of what tulle::compress and tulle::dataset are linked for: OpenBLAS, yaml-cpp, zlib.
#include <array>
#include <iostream>

#include <tulle/compress/linear_algebra.hpp>
#include <tulle/format/dataset/dataset_input.hpp>
#include <tulle/format/yaml/parse_yaml.hpp>

int main(int, char** arguments) {
  std::array<double, 4> matrix{4, 2, 2, 2};
  if (!tulle::factor_cholesky(tulle::MatrixView<double>(matrix.data(), 2, 2)) || matrix[0] != 2) return 1;
  (void)tulle::parse_yaml("stage: {sparsity: 0.5}", "a recipe");
  std::cout << tulle::DatasetInput(arguments[1], 1u << 20).next().substr(0, 80) << '\n';
}
