// SPDX-License-Identifier: Apache-2.0
/// \file Ctrl-C: ends the program, or only what it is doing.
#pragma once

#include <atomic>

/// From now on Ctrl-C ends the program with status 130, except while an `Interrupt` lives.
void end_on_interrupt();

inline constexpr int interrupted_status = 130;

/// While it lives, Ctrl-C sets a flag. At most one at a time.
class Interrupt {
 public:
  enum class Again { ends_program, is_ignored };  ///< the effect of a second Ctrl-C before `clear`

  explicit Interrupt(Again again);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  const std::atomic<bool>& flag() const noexcept;
  bool raised() const noexcept { return flag().load(); }
  void clear() noexcept;
};
