// SPDX-License-Identifier: Apache-2.0
/// \file Threads that release and take the GIL, also while the interpreter ends.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "bindings.hpp"

namespace tulle::python {

/// Before 3.14 the interpreter ends a daemon thread that asks for the GIL when all is over, by unwinding its stack. In
/// C++ that ends the whole process. So such a thread waits here until the process is gone.
class InterpreterGate {
 public:
  /// Calls `take`, which takes the GIL. Requires that the thread does not hold it.
  template <class Take>
  static void pass(Take take) {
    ++inside_;
    if (closed_) {
      --inside_;
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
    take();
    --inside_;
  }

  /// For `atexit`: from now on threads wait. Requires the GIL, and releases it until nobody asks for it.
  static void close() {
    closed_ = true;
    const nb::gil_scoped_release release;
    constexpr int longest = 1000;  // threads that a fork left out never leave
    for (int waited = 0; inside_ != 0 && waited < longest; ++waited) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  inline static std::atomic<int> inside_ = 0;
  inline static std::atomic<bool> closed_ = false;
};

/// The GIL is free while it lives. Requires it.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil() {
    InterpreterGate::pass([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_;
};

/// Holds the GIL while it lives, as a thread that may hold it already.
class WithGil {
 public:
  WithGil() {
    if (PyGILState_Check() != 0) return;
    InterpreterGate::pass([this] { state_ = PyGILState_Ensure(); });
  }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;
  ~WithGil() {
    if (state_) PyGILState_Release(*state_);
  }

 private:
  std::optional<PyGILState_STATE> state_;
};

}  // namespace tulle::python
