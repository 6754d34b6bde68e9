// SPDX-License-Identifier: Apache-2.0
/// \file What `tulle inspect` says of the bytes that a weight takes, in the file and in memory.
#pragma once

#include <string>
#include <string_view>
#include <tulle/core/json.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/generate/model.hpp>
#include <tulle/kernel/any_kernel.hpp>
#include <vector>

/// The names of the matrices, without ".weight", that a packed matrix was made from: the loader joins them with " + ".
std::vector<std::string> packed_names(std::string_view joined);

/// "P.weight" of the matrix P, or the tensor of its codes, values or mask where a form stores it in several tensors.
std::string tensor_of_matrix(const tulle::Checkpoint& checkpoint, const std::string& matrix);

/// An array of "type", "kernel", "file_bytes_per_weight" and "packed_bytes_per_weight", one entry for each type of
/// matrices and each kernel that they run on. `automatic`: the kernels were chosen to keep the file's values. Where
/// that takes much more memory than the file, or keeps the zeros of pruned matrices, a "note" says so, and what takes
/// less. `tensors` is what `describe_tensors` reported. Complexity: packs every pruned matrix of floats twice.
nlohmann::ordered_json describe_storage(const tulle::Checkpoint& checkpoint,
                                        const tulle::Model<tulle::AnyKernel>& model,
                                        const nlohmann::ordered_json& tensors, bool automatic);
