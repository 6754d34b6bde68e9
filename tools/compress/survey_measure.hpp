// SPDX-License-Identifier: Apache-2.0
/// \file Perplexity, bytes and speed of a model as it runs, for the survey of forms.
#pragma once

#include <cstddef>
#include <string>
#include <tulle/core/json.hpp>
#include <tulle/core/types.hpp>
#include <vector>

/// Sequences of a text, all of whose tokens but the first are scored.
struct SurveyText {
  std::string name;
  std::vector<std::vector<tulle::Token>> sequences;
};

/// {"bytes_per_weight": of the decoder's matrices as packed, "file_bytes", "decode_tokens_per_second",
///  "decode_ratio": to the dense model's in the same rounds, "prefill_tokens_per_second",
///  "texts": [{"name", "perplexity", "tokens": [of each sequence], "nll": [sums]}]}
tulle::Json measure_model(const std::string& path, const std::string& dense, const std::vector<SurveyText>& texts,
                          std::size_t threads);
