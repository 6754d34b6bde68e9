// SPDX-License-Identifier: Apache-2.0
/// \file Finds the tensors of a model that are matrices of linear layers.
#pragma once

#include <cstddef>
#include <string>
#include <tulle/model/architecture.hpp>
#include <vector>

struct LinearTensor {
  std::string name;  ///< without ".weight"
  std::size_t rows, columns;
  bool has_bias;
};

/// The head comes last; it is the embedding's matrix where `tied_head` says so.
std::vector<LinearTensor> linear_tensors(const tulle::Architecture& model);
