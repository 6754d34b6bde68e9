// SPDX-License-Identifier: Apache-2.0
/// \file What each form costs on this CPU: bytes and decode time of a weight, measured with our kernels (L5).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/compress/compiled.hpp>
#include <tulle/compress/plan/matrix_form.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/core/thread_pool.hpp>

namespace tulle {

/// Of a weight in a matrix of so many columns, as `AnyKernel` packs the form.
struct FormCost {
  std::string form;
  std::size_t columns = 0;
  std::string kernel;  ///< that was chosen
  double bytes = 0;    ///< codes, scales and what tells where the zeros are
  double seconds = 0;  ///< of decoding: one row of activations
};

/// Errors: not_found, with what to do.
inline const FormCost& cost_of(std::span<const FormCost> costs, std::string_view form, std::size_t columns) {
  for (const FormCost& cost : costs) {
    if (cost.form == form && cost.columns == columns) return cost;
  }
  fail(ErrorCode::not_found, "the measured speeds have no ", form, " with ", columns,
       " columns: they are another model's or version's; remove speeds.json, and they are measured again");
}

inline Json costs_json(std::span<const FormCost> costs) {
  Json json = Json::array();
  for (const FormCost& cost : costs) {
    json.push_back({{"form", cost.form},
                    {"columns", cost.columns},
                    {"kernel", cost.kernel},
                    {"bytes", cost.bytes},
                    {"seconds", cost.seconds}});
  }
  return json;
}

/// Errors: malformed. `place` begins the message.
inline std::vector<FormCost> read_costs(const Json& json, std::string_view place) {
  std::vector<FormCost> costs;
  bool is_known = json.is_array();
  try {
    for (const Json& each : is_known ? json : Json::array()) {
      costs.push_back({each.at("form"), each.at("columns"), each.at("kernel"), each.at("bytes"), each.at("seconds")});
    }
  } catch (const Json::exception&) {
    is_known = false;
  }
  if (!is_known) {
    fail(ErrorCode::malformed, place, ": not what this version wrote; remove it, and speeds are measured again");
  }
  return costs;
}

/// Measures forms on matrices of `columns` columns and about `weights` weights, which should be as many as a model's:
/// decoding reads them all from memory. All forms are run one after the other, seven rounds; the median counts.
/// Errors: memory.
TULLE_COMPRESS_INLINE std::vector<FormCost> measure_costs(std::span<const MatrixForm> forms, std::size_t columns,
                                                          std::size_t weights, ThreadPool& pool,
                                                          const Progress& progress = {});

}  // namespace tulle

#ifndef TULLE_COMPRESS_COMPILED
#include <tulle/compress/plan/form_costs_inline.hpp>
#endif
