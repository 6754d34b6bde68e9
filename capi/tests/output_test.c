/* SPDX-License-Identifier: Apache-2.0 */
/* NULL for every output, and every struct with a size that no header has: a status and a message.
 *   usage: output_test FOLDER      FOLDER is tests/golden */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "tulle_experimental.h"

static tulle_error error = TULLE_ERROR_INIT;
static tulle_model* model;
static tulle_session* session;
static const char* path;
static const int32_t five = 5;

static void refused(const char* name, unsigned long number, int32_t status) {
  if (status == TULLE_INVALID_ARGUMENT) return;
  fprintf(stderr, "%s with %lu: %s\n", name, number, tulle_status_name(status));
  exit(1);
}

/* ---- structs, as (struct_size) -> status ---- */

static int32_t load_init(uint32_t size) {
  tulle_load_options options;
  return tulle_load_options_init(&options, size);
}
static int32_t session_init(uint32_t size) {
  tulle_session_options options;
  return tulle_session_options_init(&options, size);
}
static int32_t generate_init(uint32_t size) {
  tulle_generate_options options;
  return tulle_generate_options_init(&options, size);
}
static int32_t load(uint32_t size) {
  tulle_load_options options;
  tulle_model* made = NULL;
  CHECK(tulle_load_options_init(&options, sizeof options) == TULLE_OK);
  options.struct_size = size;
  return tulle_model_load(path, strlen(path), &options, &made, &error);
}
static int32_t session_new(uint32_t size) {
  tulle_session_options options;
  tulle_session* made = NULL;
  CHECK(tulle_session_options_init(&options, sizeof options) == TULLE_OK);
  options.struct_size = size;
  return tulle_session_new(model, &options, &made, &error);
}
static int32_t generate(uint32_t size) {
  tulle_generate_options options = greedy_options(1);
  options.struct_size = size;
  return tulle_session_generate_tokens(session, &five, 1, &options, &error);
}
static int32_t next(uint32_t size) {
  tulle_token token = TULLE_TOKEN_INIT;
  token.struct_size = size;
  return tulle_session_next(session, &token, &error);
}
static int32_t describe(uint32_t size) {
  tulle_model_info info;
  info.struct_size = size;
  return tulle_model_describe(model, &info, &error);
}
static int32_t choice_at(uint32_t size) {
  tulle_choice choice;
  choice.struct_size = size;
  return tulle_choice_at(TULLE_KERNELS, 0, &choice, &error);
}
static int32_t timings(uint32_t size) {
  tulle_timings measured;
  measured.struct_size = size;
  return tulle_session_timings(session, &measured, &error);
}

static const struct sized {
  const char* name;
  int32_t (*call)(uint32_t struct_size);
  size_t right;
  int has_error;
} structs[] = {
    {"load_options_init", load_init, sizeof(tulle_load_options), 0},
    {"session_options_init", session_init, sizeof(tulle_session_options), 0},
    {"generate_options_init", generate_init, sizeof(tulle_generate_options), 0},
    {"load", load, sizeof(tulle_load_options), 1},
    {"session_new", session_new, sizeof(tulle_session_options), 1},
    {"generate", generate, sizeof(tulle_generate_options), 1},
    {"next", next, sizeof(tulle_token), 1},
    {"describe", describe, sizeof(tulle_model_info), 1},
    {"choice_at", choice_at, sizeof(tulle_choice), 1},
    {"timings", timings, sizeof(tulle_timings), 1},
};

static void struct_sizes(void) {
  size_t i, j;
  for (i = 0; i < sizeof structs / sizeof *structs; ++i) {
    const struct sized* s = &structs[i];
    uint32_t wrong[5] = {0, 4, 0, 65537, UINT32_MAX};
    wrong[2] = (uint32_t)s->right - 1;
    for (j = 0; j < 5; ++j) {
      refused(s->name, wrong[j], s->call(wrong[j]));
      CHECK(!s->has_error || strstr(error.message, "struct_size") != NULL);
    }
  }
}

/* ---- NULL outputs ---- */

#define REFUSED(call) refused(#call, 0, call)

static void null_outputs(void) {
  int32_t ids[4];
  char text[64];
  float logits[4];
  size_t size = 0;
  const tulle_message message = {{"user", 4}, {"a", 1}};
  tulle_generate_options kept = greedy_options(1);
  tulle_token token = TULLE_TOKEN_INIT;
  REFUSED(tulle_load_options_init(NULL, sizeof(tulle_load_options)));
  REFUSED(tulle_session_options_init(NULL, sizeof(tulle_session_options)));
  REFUSED(tulle_generate_options_init(NULL, sizeof(tulle_generate_options)));
  REFUSED(tulle_choice_at(TULLE_KERNELS, 0, NULL, &error));
  REFUSED(tulle_use_instruction_set(NULL, 4, &error));
  REFUSED(tulle_use_instruction_set(NULL, 0, NULL));
  REFUSED(tulle_model_load(path, strlen(path), NULL, NULL, &error));
  REFUSED(tulle_model_load_memory("GGUF", 4, NULL, NULL, &error));
  REFUSED(tulle_model_load_reader(NULL, NULL, 4, NULL, NULL, &error));
  REFUSED(tulle_model_describe(model, NULL, &error));
  REFUSED(tulle_encode(model, "a", 1, 0, NULL, 4, &size, &error));
  REFUSED(tulle_encode(model, "a", 1, 0, ids, 4, NULL, &error));
  REFUSED(tulle_decode(model, &five, 1, 0, NULL, 64, &size, &error));
  REFUSED(tulle_decode(model, &five, 1, 0, text, 64, NULL, &error));
  REFUSED(tulle_chat_prompt(model, &message, 1, 0, NULL, 64, &size, &error));
  REFUSED(tulle_chat_prompt(model, &message, 1, 0, text, 64, NULL, &error));
  REFUSED(tulle_session_new(model, NULL, NULL, &error));
  REFUSED(tulle_session_fork(session, NULL, &error));
  REFUSED(tulle_session_next(session, NULL, &error));
  REFUSED(tulle_session_history(session, ids, 4, NULL, &error));
  REFUSED(tulle_session_save(session, NULL, 1 << 20, &size, &error));
  REFUSED(tulle_session_save(session, NULL, 0, NULL, &error));
  REFUSED(tulle_session_timings(session, NULL, &error));
  REFUSED(tulle_session_read_prompt(session, NULL, &error));
  kept.flags |= TULLE_KEEP_LOGITS;
  CHECK_OK(tulle_session_generate_tokens(session, &five, 1, &kept, &error));
  CHECK_OK(tulle_session_next(session, &token, &error));
  REFUSED(tulle_session_logits(session, NULL, 1 << 20, &size, &error));
  REFUSED(tulle_session_logits(session, logits, 4, NULL, &error));
  CHECK(tulle_session_logits(session, logits, 4, &size, &error) == TULLE_BUFFER_TOO_SMALL && size == 288);
  REFUSED(tulle_session_history(session, NULL, 4, &size, &error));
}

int main(int count, char** arguments) {
  golden facts;
  int line = 0;
  CHECK(count == 2);
  do CHECK(read_golden(arguments[1], line++, &facts));
  while (strstr(facts.path, "f32.gguf") == NULL);
  path = facts.path;
  model = load_golden(&facts);
  CHECK_OK(tulle_session_new(model, NULL, &session, &error));
  struct_sizes();
  null_outputs();
  /* None of it did harm. */
  CHECK_OK(tulle_session_truncate(session, 0, &error));
  check_greedy(session, &facts);
  CHECK(tulle_session_free(session) == TULLE_OK && tulle_model_free(model) == TULLE_OK);
  CHECK(tulle_live_handles() == 0);
  return 0;
}
