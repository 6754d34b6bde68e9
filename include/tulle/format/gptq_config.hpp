// SPDX-License-Identifier: Apache-2.0
/// \file Which checkpoints of GPTQ and AWQ can be read, and what their config says of the tensors (L3).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/format/tensor_files.hpp>

namespace tulle {

/// `settings`: "quantization_config", `method`: its "quant_method", "gptq" or "awq".
/// Errors: unsupported for other bits than 4 and 8 (AWQ: 4) and for layouts of one kernel; malformed for wrong JSON types.
inline void check_gptq_config(const Json& settings, std::string_view method, std::string_view where) {
  const bool is_awq = method == "awq";
  const int bits = json_value(settings, is_awq && settings.contains("w_bit") ? "w_bit" : "bits", 4, where);
  if (bits != 4 && (is_awq || bits != 8)) {
    fail(ErrorCode::unsupported, where, ": ", method, " weights of ", bits,
         " bits are not supported; use a model of 4 bits", is_awq ? "" : " or 8");
  }
  const char* key = is_awq ? "version" : "checkpoint_format";
  std::string layout = json_value(settings, key, std::string(is_awq ? "gemm" : "gptq"), where);
  std::transform(layout.begin(), layout.end(), layout.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (is_awq ? layout != "gemm" : layout != "gptq" && layout != "gptq_v2") {
    fail(ErrorCode::unsupported, where, ": the ", method, " layout ", detail::quoted_name(layout),
         " is not supported; use a model of the layout \"", is_awq ? "gemm" : "gptq", "\"");
  }
}

/// Whether there are codes of GPTQ or AWQ.
inline bool has_gptq_tensors(const TensorFiles& tensors) {
  const std::vector<std::string> names = tensors.names();
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.ends_with(".qzeros"); });
}

/// Marks the zero points of GPTQ's first version, which files hold less 1: see `encoding/gptq.hpp`.
inline void complete_gptq_zero_points(const Json& config, TensorFiles& tensors, std::string_view where) {
  const auto found = config.find("quantization_config");
  const Json settings = found != config.end() && found->is_object() ? *found : Json::object();
  const auto method = json_value(settings, "quant_method", std::string("gptq"), where);
  if (method != "gptq" || json_value(settings, "checkpoint_format", std::string(), where) == "gptq_v2") return;
  if (!has_gptq_tensors(tensors)) return;
  tensors.change(
      [](EncodedTensor tensor, auto&& put) {
        if (tensor.name.ends_with(".qzeros")) tensor.offset = 1;
        put(std::move(tensor));
      },
      where);
}

}  // namespace tulle
