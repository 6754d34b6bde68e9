// SPDX-License-Identifier: Apache-2.0
/// \file Ending a streamed text at a stop string (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>

namespace tulle {

/// Lets text through until a stop string appears, also one that spans several pieces: what could still become one is
/// held back. The stop string itself and what follows are left out.
class StopStrings {
 public:
  /// Errors: invalid_argument for an empty stop string.
  explicit StopStrings(std::vector<std::string> stops = {}) : stops_(std::move(stops)) {
    for (const std::string& stop : stops_) {
      if (stop.empty()) fail(ErrorCode::invalid_argument, "a stop string must not be empty");
    }
  }

  bool stopped() const noexcept { return stopped_; }
  const std::string& found() const noexcept { return found_; }  ///< what the text ended at; empty before

  /// Adds text; returns what may be shown now.
  std::string push(std::string_view piece) {
    if (stopped_) return {};
    held_ += piece;
    std::size_t first = std::string::npos;
    for (const std::string& stop : stops_) {
      const std::size_t at = held_.find(stop);
      if (at >= first) continue;
      first = at;
      found_ = stop;
    }
    if (first != std::string::npos) {
      stopped_ = true;
      held_.resize(first);
      return std::exchange(held_, {});
    }
    std::size_t keep = 0;  // the longest end of the text that begins a stop string
    for (const std::string& stop : stops_) {
      for (std::size_t length = std::min(stop.size() - 1, held_.size()); length > keep; --length) {
        if (held_.compare(held_.size() - length, length, stop, 0, length) == 0) keep = length;
      }
    }
    std::string shown = held_.substr(0, held_.size() - keep);
    held_.erase(0, held_.size() - keep);
    return shown;
  }

  /// The text ended without a stop string: returns what was held back.
  std::string finish() { return std::exchange(held_, {}); }

 private:
  std::vector<std::string> stops_;
  std::string held_, found_;
  bool stopped_ = false;
};

}  // namespace tulle
