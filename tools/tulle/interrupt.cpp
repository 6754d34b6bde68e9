// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

#include <unistd.h>
#include <csignal>

namespace {

static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");
std::atomic<bool> listening = false, raised_flag = false, second_ends = false;

extern "C" void on_interrupt(int) {
  if (!listening.load() || (raised_flag.exchange(true) && second_ends.load())) ::_exit(interrupted_status);
}

}  // namespace

void end_on_interrupt() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  (void)::sigaction(SIGINT, &action, nullptr);
}

Interrupt::Interrupt(Again again) {
  raised_flag = false;
  second_ends = again == Again::ends_program;
  listening = true;
}

Interrupt::~Interrupt() {
  listening = false;
}

const std::atomic<bool>& Interrupt::flag() const noexcept {
  return raised_flag;
}

void Interrupt::clear() noexcept {
  raised_flag = false;
}
