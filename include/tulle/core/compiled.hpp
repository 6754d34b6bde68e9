// SPDX-License-Identifier: Apache-2.0
/// \file Functions that every program compiles, or that the library tulle::compiled holds (L0).
#pragma once

// The CMake target tulle::compiled (pkg-config: tulle_compiled) defines TULLE_COMPILED for all that link it. A header
// `name.hpp` then only declares what stands in its `name_inline.hpp`, and the templates of the engine are
// `extern template` (kernel/compiled.hpp, generate/compiled.hpp). The definitions are the same in both ways.
#ifdef TULLE_COMPILED
#define TULLE_INLINE
#else
#define TULLE_INLINE inline
#endif
