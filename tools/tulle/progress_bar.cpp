// SPDX-License-Identifier: Apache-2.0
#include "progress_bar.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <tulle/core/error.hpp>

#include "streams.hpp"

namespace {

std::atomic<bool> is_stopped = false;

}  // namespace

void stop_work() noexcept {
  is_stopped = true;
}

ProgressBar::~ProgressBar() {
  if (percent_ >= 0) std::fputs("\r\033[K", stderr);
}

tulle::Progress ProgressBar::progress() {
  return [this, shows = is_terminal(standard_error)](std::string_view what, double fraction) {
    if (is_stopped) tulle::fail(tulle::ErrorCode::cancelled, "stopped while ", what);
    if (shows) show(what, fraction);
  };
}

void ProgressBar::show(std::string_view what, double fraction) {
  constexpr std::chrono::seconds patience(2);
  fraction = std::clamp(fraction, 0.0, 1.0);
  const int percent = static_cast<int>(100 * fraction);
  if (percent == percent_ || std::chrono::steady_clock::now() - begin_ < patience) return;
  percent_ = percent;
  constexpr int width = 30;
  const auto filled = static_cast<std::size_t>(width * fraction);
  std::fprintf(stderr, "\r%.*s [%s%s] %3d %%", static_cast<int>(what.size()), what.data(),
               std::string(filled, '#').c_str(), std::string(width - filled, ' ').c_str(), percent);
}
