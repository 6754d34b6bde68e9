/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of Tulle's C ABI that may still change with every release; TULLE_ABI_VERSION says nothing of them. */
#ifndef TULLE_EXPERIMENTAL_H
#define TULLE_EXPERIMENTAL_H

#include "tulle.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_timings {
  uint32_t struct_size; /* in */
  uint32_t reserved;
  uint64_t prompt_tokens;
  uint64_t generated_tokens;
  double prefill_seconds; /* until the first token was there */
  double decode_seconds;  /* from then on */
} tulle_timings;

/* What the last generation took so far. */
TULLE_API int32_t tulle_session_timings(tulle_session* session, tulle_timings* timings, tulle_error* error);

/* Models and sessions that have not been freed, in the whole process: for tests that look for leaks. */
TULLE_API uint64_t tulle_live_handles(void);

#ifdef __cplusplus
}
#endif

#endif
