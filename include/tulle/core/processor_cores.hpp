// SPDX-License-Identifier: Apache-2.0
/// \file The cores that this process may use, and threads bound to one of them (L0).
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#if defined(__linux__) && !defined(__ANDROID__)
#include <pthread.h>
#include <sched.h>
#define TULLE_CAN_BIND_THREADS 1
#else
#define TULLE_CAN_BIND_THREADS 0
#endif

namespace tulle {

inline constexpr bool can_bind_threads = TULLE_CAN_BIND_THREADS != 0;

/// Numbers of the cores that the calling thread may run on, in increasing order; empty where the platform does not
/// report them.
inline std::vector<unsigned> usable_cores() {
  std::vector<unsigned> cores;
#if TULLE_CAN_BIND_THREADS
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
#endif
  return cores;
}

/// Number of these cores, at least 1. Where the platform does not report them: the cores of the machine, or 1 without
/// threads.
inline std::size_t usable_core_count() {
  const std::size_t count = usable_cores().size();
  return count != 0 ? count : std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

/// Binds `thread` to one core. False where the platform does not support it or refuses.
inline bool bind_thread([[maybe_unused]] std::thread& thread, [[maybe_unused]] unsigned core) noexcept {
#if TULLE_CAN_BIND_THREADS
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return pthread_setaffinity_np(thread.native_handle(), sizeof set, &set) == 0;
#else
  return false;
#endif
}

}  // namespace tulle

#undef TULLE_CAN_BIND_THREADS
