// SPDX-License-Identifier: Apache-2.0
/// \file A bar on stderr for work that takes long.
#pragma once

#include <chrono>
#include <string_view>
#include <tulle/core/progress.hpp>

/// Work that reports to a `ProgressBar` ends with an Error (cancelled) from now on: for a program that is to end while
/// it loads.
void stop_work() noexcept;

/// Appears after two seconds, on a terminal only, and disappears with the object. Must outlive the result of
/// `progress`.
class ProgressBar {
 public:
  ~ProgressBar();
  tulle::Progress progress();

 private:
  void show(std::string_view what, double fraction);

  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int percent_ = -1;  // shown last; -1: nothing was
};
