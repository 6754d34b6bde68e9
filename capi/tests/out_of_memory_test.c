/* SPDX-License-Identifier: Apache-2.0 */
/* When an allocation fails, the call returns an error and nothing leaks. The N-th larger allocation fails, for every N
 * until the whole life of a model and a session succeeds. Small allocations never fail here: nlohmann/json allocates
 * when it frees, where no error can be reported, and no system refuses small ones while it grants larger ones.
 *   usage: out_of_memory_test FOLDER      FOLDER is tests/golden */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "tulle_experimental.h"

/* glibc's own, under the names that cannot be replaced. */
extern void* __libc_malloc(size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);

enum { smallest_refused = 8192 };

static long countdown = -1; /* allocations until one fails; below 0: none does. Written while one thread runs. */
static int was_refused = 0;

static int refuses(size_t size) {
  if (size < smallest_refused || countdown < 0 || countdown-- > 0) return 0;
  was_refused = 1;
  errno = ENOMEM;
  return 1;
}

/* Both operator new and our aligned buffers come through these. */
void* malloc(size_t size) {
  return refuses(size) ? NULL : __libc_malloc(size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return refuses(size) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* memory = refuses(size) ? NULL : __libc_memalign(alignment, size);
  if (memory == NULL) return ENOMEM;
  *out = memory;
  return 0;
}

/* Loads, generates, copies and frees, up to the first call that fails; returns its status. */
static int32_t live(const golden* facts) {
  tulle_error error = TULLE_ERROR_INIT;
  tulle_session_options options;
  tulle_token token = TULLE_TOKEN_INIT;
  tulle_model* model = NULL;
  tulle_session *session = NULL, *copy = NULL;
  size_t size = 0;
  int32_t status = tulle_session_options_init(&options, sizeof options);
  options.threads = 1;
  options.sequence_length = 64;
  if (status == TULLE_OK) status = tulle_model_load(facts->path, strlen(facts->path), NULL, &model, &error);
  if (status == TULLE_OK) status = tulle_session_new(model, &options, &session, &error);
  if (status == TULLE_OK) status = tulle_session_generate(session, "the answer", 10, NULL, &error);
  if (status == TULLE_OK) status = tulle_session_next(session, &token, &error);
  if (status == TULLE_OK) status = tulle_session_fork(session, &copy, &error);
  if (status == TULLE_OK) status = tulle_session_save(copy, NULL, 0, &size, &error);
  countdown = -1;
  CHECK(status == TULLE_OK || error.message[0] != '\0');
  CHECK(tulle_session_free(copy) == TULLE_OK && tulle_session_free(session) == TULLE_OK);
  CHECK(tulle_model_free(model) == TULLE_OK);
  CHECK(tulle_live_handles() == 0);
  return status;
}

int main(int count, char** arguments) {
  golden facts;
  long refused, times = 0;
  int line = 0;
  int32_t status;
  CHECK(count == 2);
  do CHECK(read_golden(arguments[1], line++, &facts));
  while (strstr(facts.path, "f32.gguf") == NULL);
  CHECK(live(&facts) == TULLE_OK); /* one-time allocations are done */
  for (refused = 0;; ++refused) {
    was_refused = 0;
    countdown = refused;
    status = live(&facts);
    if (!was_refused) break;
    if (status == TULLE_OK) continue; /* an optional allocation: the scratch space of a sort */
    if (status != TULLE_OUT_OF_MEMORY) fprintf(stderr, "allocation %ld: %s\n", refused, tulle_status_name(status));
    CHECK(status == TULLE_OUT_OF_MEMORY);
    ++times;
  }
  CHECK(times > 20);
  return 0;
}
