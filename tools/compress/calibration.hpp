// SPDX-License-Identifier: Apache-2.0
/// \file The tokens that a compression is calibrated on.
#pragma once

#include <cstddef>
#include <string>
#include <tulle/core/progress.hpp>
#include <tulle/core/types.hpp>
#include <tulle/format/checkpoint.hpp>
#include <vector>

struct CalibrationFlags {
  std::string dataset, text_column;
  std::size_t samples = 512, max_length = 384, self_generated = 0, held_out = automatic;
  bool chat = false;

  static constexpr std::size_t automatic = static_cast<std::size_t>(-1);
};

struct Calibration {
  std::vector<std::vector<tulle::Token>> sequences;
  std::size_t held_out = 0;  ///< the last ones, which are only for measuring
};

/// `threads`: with which texts are generated; 0: all. `path`: of the model, for its tokenizer. The held-out sequences
/// come from the dataset, never from what is generated. Errors: those of the dataset and of the tokenizer.
Calibration read_calibration(const CalibrationFlags& flags, std::size_t threads, const std::string& path,
                             const tulle::Checkpoint& checkpoint, const tulle::Progress& progress);
