// SPDX-License-Identifier: Apache-2.0
/// \file Functions of the server that every program compiles, or that a library holds (L6).
#pragma once

// As core/compiled.hpp, for the headers of this folder: the programs and tests of this repository link the library
// tulle::serve_compiled, which defines TULLE_SERVE_COMPILED.
#ifdef TULLE_SERVE_COMPILED
#define TULLE_SERVE_INLINE
#else
#define TULLE_SERVE_INLINE inline
#endif
