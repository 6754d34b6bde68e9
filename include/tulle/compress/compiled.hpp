// SPDX-License-Identifier: Apache-2.0
/// \file Functions of compression that every program compiles, or that a library holds (L5).
#pragma once

// As core/compiled.hpp, for the headers of this folder: the programs and tests of this repository link the library
// tulle::compress_compiled, which defines TULLE_COMPRESS_COMPILED.
#ifdef TULLE_COMPRESS_COMPILED
#define TULLE_COMPRESS_INLINE
#else
#define TULLE_COMPRESS_INLINE inline
#endif
