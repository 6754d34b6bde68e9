// SPDX-License-Identifier: Apache-2.0
/// \file The report of `tulle inspect`, as JSON and as text.
#pragma once

#include <string>
#include <tulle/core/json.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/generate/model.hpp>
#include <tulle/kernel/any_kernel.hpp>

using OrderedJson = nlohmann::ordered_json;

OrderedJson describe(const tulle::Architecture& architecture);

/// Adds to `report`: "tensors", "types", "sparsity" and "matrices" (the linear layers as they are packed).
/// Reads every weight once; shows a bar on stderr when that takes long.
void describe_tensors(const tulle::Checkpoint& checkpoint, const tulle::Model<tulle::AnyKernel>& model,
                      OrderedJson& report);

std::string as_text(const OrderedJson& report);
