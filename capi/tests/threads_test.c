/* SPDX-License-Identifier: Apache-2.0 */
/* Eight threads with a session each on one model give the tokens that each gives alone; a session is for one thread at
 * a time; and a generation is cancelled from another thread while it reads its prompt.
 *   usage: threads_test FOLDER      FOLDER is tests/golden */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "golden.h"
#include "tulle_experimental.h"

enum { thread_count = 8, long_prompt = 20000 };

static golden facts;

static void* generate_golden(void* model) {
  tulle_error error = TULLE_ERROR_INIT;
  tulle_session_options options;
  tulle_session* session = NULL;
  CHECK(tulle_session_options_init(&options, sizeof options) == TULLE_OK);
  options.threads = 2;
  options.sequence_length = 64;
  CHECK_OK(tulle_session_new(model, &options, &session, &error));
  check_greedy(session, &facts);
  CHECK(tulle_session_free(session) == TULLE_OK);
  return NULL;
}

static void* read_prompt(void* session) {
  tulle_error error = TULLE_ERROR_INIT;
  tulle_token token = TULLE_TOKEN_INIT;
  int32_t status;
  do status = tulle_session_next(session, &token, &error); /* the other thread may be using the session */
  while (status == TULLE_BUSY);
  CHECK(status == TULLE_OK);
  CHECK(token.finish_reason == TULLE_FINISH_CANCELLED && token.id == -1);
  CHECK(tulle_session_next(session, &token, &error) == TULLE_END);
  return NULL;
}

/* Waits until the other thread is in a call, cancels it, and starts another call on the session. */
static void cancelled_prompt(tulle_model* model) {
  tulle_error error = TULLE_ERROR_INIT;
  tulle_session_options options;
  tulle_session* session = NULL;
  int32_t* prompt = malloc(long_prompt * sizeof *prompt);
  const struct timespec moment = {0, 1000000};
  pthread_t reader;
  size_t i, size = 0;
  CHECK(prompt != NULL && tulle_session_options_init(&options, sizeof options) == TULLE_OK);
  for (i = 0; i < long_prompt; ++i) prompt[i] = (int32_t)(i % 200) + 10;
  options.threads = 1;
  options.sequence_length = long_prompt + 64;
  options.prompt_sequence_length = long_prompt; /* one pass: the flag is tested between layers */
  CHECK_OK(tulle_session_new(model, &options, &session, &error));
  CHECK_OK(tulle_session_generate_tokens(session, prompt, long_prompt, NULL, &error));
  CHECK(pthread_create(&reader, NULL, read_prompt, session) == 0);
  while (tulle_session_history(session, NULL, 0, &size, NULL) != TULLE_BUSY) nanosleep(&moment, NULL);
  CHECK(tulle_session_truncate(session, 0, &error) == TULLE_BUSY && error.message[0] != '\0');
  CHECK(tulle_session_cancel(session) == TULLE_OK);
  CHECK(pthread_join(reader, NULL) == 0);
  CHECK_OK(tulle_session_truncate(session, 0, &error));
  check_greedy(session, &facts);
  CHECK(tulle_session_free(session) == TULLE_OK);
  free(prompt);
}

int main(int count, char** arguments) {
  pthread_t threads[thread_count];
  tulle_model* model;
  int line = 0, i;
  CHECK(count == 2);
  do CHECK(read_golden(arguments[1], line++, &facts));
  while (strstr(facts.path, "f32.gguf") == NULL);
  model = load_golden(&facts);
  for (i = 0; i < thread_count; ++i) CHECK(pthread_create(&threads[i], NULL, generate_golden, model) == 0);
  for (i = 0; i < thread_count; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  cancelled_prompt(model);
  CHECK(tulle_model_free(model) == TULLE_OK);
  CHECK(tulle_live_handles() == 0);
  return 0;
}
