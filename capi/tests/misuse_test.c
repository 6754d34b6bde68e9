/* SPDX-License-Identifier: Apache-2.0 */
/* Every mistake of a caller gives a status and a message: every function with invalid handles, NULL outputs,
 * wrong struct sizes, text that is not UTF-8, tokens outside of the vocabulary, buffers of no size. usage: misuse_test
 * FOLDER      FOLDER is tests/golden */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "tulle_experimental.h"

static tulle_error error = TULLE_ERROR_INIT;
static tulle_model* model;
static tulle_session* session;
static int32_t tokens[64];
static char text[256];
static float logits[8];
static size_t size;

/* ---- every function that takes a handle, as (handle) -> status ---- */

#define SESSION(handle) ((tulle_session*)(handle))
#define MODEL(handle) ((tulle_model*)(handle))

static int32_t describe(void* h) {
  tulle_model_info info = {sizeof info, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return tulle_model_describe(MODEL(h), &info, &error);
}
static int32_t encode(void* h) {
  return tulle_encode(MODEL(h), "a", 1, 0, tokens, 64, &size, &error);
}
static int32_t decode(void* h) {
  return tulle_decode(MODEL(h), tokens, 1, 0, text, 256, &size, &error);
}
static int32_t chat_prompt(void* h) {
  return tulle_chat_prompt(MODEL(h), NULL, 0, 0, text, 256, &size, &error);
}
static int32_t session_new(void* h) {
  tulle_session* made = NULL;
  const int32_t status = tulle_session_new(MODEL(h), NULL, &made, &error);
  CHECK(made == NULL || tulle_session_free(made) == TULLE_OK);
  return status;
}
static int32_t generate(void* h) {
  return tulle_session_generate(SESSION(h), "a", 1, NULL, &error);
}
static int32_t generate_tokens(void* h) {
  return tulle_session_generate_tokens(SESSION(h), tokens, 1, NULL, &error);
}
static int32_t next(void* h) {
  tulle_token token = TULLE_TOKEN_INIT;
  return tulle_session_next(SESSION(h), &token, &error);
}
static int32_t get_logits(void* h) {
  return tulle_session_logits(SESSION(h), logits, 8, &size, &error);
}
static int32_t history(void* h) {
  return tulle_session_history(SESSION(h), tokens, 64, &size, &error);
}
static int32_t truncate_session(void* h) {
  return tulle_session_truncate(SESSION(h), 0, &error);
}
static int32_t fork_session(void* h) {
  tulle_session* made = NULL;
  const int32_t status = tulle_session_fork(SESSION(h), &made, &error);
  CHECK(made == NULL || tulle_session_free(made) == TULLE_OK);
  return status;
}
static int32_t save(void* h) {
  return tulle_session_save(SESSION(h), NULL, 0, &size, &error);
}
static int32_t restore(void* h) {
  return tulle_session_restore(SESSION(h), text, 0, &error);
}
static int32_t timings(void* h) {
  tulle_timings measured = {sizeof measured, 0, 0, 0, 0, 0, 0, 0};
  return tulle_session_timings(SESSION(h), &measured, &error);
}
static int32_t read_prompt(void* h) {
  double fraction = 0;
  return tulle_session_read_prompt(SESSION(h), &fraction, &error);
}
static int32_t draft(void* h) {
  return tulle_session_draft(SESSION(h), "ngram", 5, 0, &error);
}
static int32_t constrain(void* h) {
  return tulle_session_constrain(SESSION(h), TULLE_REGEX, "a", 1, &error);
}
static int32_t cancel(void* h) {
  return tulle_session_cancel(SESSION(h));
}
static int32_t free_session(void* h) {
  return h == NULL ? TULLE_INVALID_HANDLE : tulle_session_free(SESSION(h));
}
static int32_t free_model(void* h) {
  return h == NULL ? TULLE_INVALID_HANDLE : tulle_model_free(MODEL(h));
}

static const struct function {
  const char* name;
  int32_t (*call)(void* handle);
  int takes_model, has_error;
} functions[] = {
    {"describe", describe, 1, 1},
    {"encode", encode, 1, 1},
    {"decode", decode, 1, 1},
    {"chat_prompt", chat_prompt, 1, 1},
    {"session_new", session_new, 1, 1},
    {"generate", generate, 0, 1},
    {"next", next, 0, 1},
    {"generate_tokens", generate_tokens, 0, 1},
    {"logits", get_logits, 0, 1},
    {"history", history, 0, 1},
    {"truncate", truncate_session, 0, 1},
    {"fork", fork_session, 0, 1},
    {"save", save, 0, 1},
    {"restore", restore, 0, 1},
    {"timings", timings, 0, 1},
    {"read_prompt", read_prompt, 0, 1},
    {"draft", draft, 0, 1},
    {"constrain", constrain, 0, 1},
    {"cancel", cancel, 0, 0},
    {"free_session", free_session, 0, 0},
    {"free_model", free_model, 1, 0},
};

static void wrong_handles(const golden* facts) {
  tulle_session* freed_session = NULL;
  tulle_model* freed_model = NULL;
  char not_a_handle = 0;
  size_t i, j;
  CHECK_OK(tulle_session_new(model, NULL, &freed_session, &error));
  CHECK(tulle_session_free(freed_session) == TULLE_OK);
  freed_model = load_golden(facts);
  CHECK(tulle_model_free(freed_model) == TULLE_OK);
  CHECK(tulle_model_free(NULL) == TULLE_OK && tulle_session_free(NULL) == TULLE_OK);
  for (i = 0; i < sizeof functions / sizeof *functions; ++i) {
    const struct function* f = &functions[i];
    void* handles[5];
    handles[0] = NULL;
    handles[1] = &not_a_handle;
    handles[2] = f->takes_model ? (void*)session : (void*)model; /* of the other kind */
    handles[3] = f->takes_model ? (void*)freed_model : (void*)freed_session;
    handles[4] = (void*)(uintptr_t)-1;
    for (j = 0; j < 5; ++j) {
      const int32_t status = f->call(handles[j]);
      if (status != TULLE_INVALID_HANDLE || (f->has_error && error.message[0] == '\0')) {
        fprintf(stderr, "%s with wrong handle %d: %s\n", f->name, (int)j, tulle_status_name(status));
        exit(1);
      }
    }
  }
}

/* ---- single calls ---- */

static void expect(int32_t wanted, int32_t status, const char* call, int line) {
  const int silent =
      strstr(call, "&error)") != NULL && wanted != TULLE_OK && wanted != TULLE_END && error.message[0] == '\0';
  if (status == wanted && !silent) return;
  fprintf(stderr, "misuse_test.c:%d: %s: %s \"%s\", expected %s\n", line, call, tulle_status_name(status),
          error.message, tulle_status_name(wanted));
  exit(1);
}
#define EXPECT(status, call) expect(status, call, #call, __LINE__)

static void loading(const char* path) {
  tulle_load_options options;
  tulle_model* made = NULL;
  tulle_error short_error = {8, 0, {0}};
  struct {
    tulle_load_options options;
    uint64_t later;
  } newer;
  const size_t length = strlen(path);
  CHECK(tulle_load_options_init(&options, sizeof options) == TULLE_OK);
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_load_options_init(NULL, sizeof options));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_load_options_init(&options, 0));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_load_options_init(&options, sizeof options - 1));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_load_options_init(&options, UINT32_MAX));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load(path, length, NULL, NULL, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load(path, length, NULL, &made, &short_error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load(NULL, 3, NULL, &made, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load(NULL, 0, NULL, &made, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load("a\0b", 3, NULL, &made, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load("\xff", 1, NULL, &made, &error));
  EXPECT(TULLE_NOT_FOUND, tulle_model_load("/nowhere", 8, NULL, &made, &error));
  EXPECT(TULLE_NOT_FOUND, tulle_model_load("/nowhere", 8, NULL, &made, NULL));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_memory(NULL, 4, NULL, &made, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_memory("GGUF", SIZE_MAX, NULL, &made, &error));
  EXPECT(TULLE_MALFORMED, tulle_model_load_memory("GGUF", 4, NULL, &made, &error));
  EXPECT(TULLE_MALFORMED, tulle_model_load_memory(NULL, 0, NULL, &made, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_reader(NULL, NULL, 4, NULL, &made, &error));
  options.struct_size = 0;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load(path, length, &options, &made, &error));
  options.struct_size = sizeof options;
  options.assembly.data = "auto/paged_i9";
  options.assembly.size = 13;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load(path, length, &options, &made, &error));
  options.assembly.data = "auto/paged/greedy/more";
  options.assembly.size = 22;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load(path, length, &options, &made, &error));
  options.assembly.data = NULL;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load(path, length, &options, &made, &error));
  options.assembly.size = 0;
  options.flags = 2;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load(path, length, &options, &made, &error));
  options.flags = 0;
  options.packed_cache.data = "/nowhere/model.packed";
  options.packed_cache.size = 21;
  EXPECT(TULLE_NOT_FOUND, tulle_model_load(path, length, &options, &made, &error));
  options.packed_cache.size = 0;
  CHECK(made == NULL);
  /* A later header's struct: fine while what it adds is zero. */
  CHECK(tulle_load_options_init(&newer.options, sizeof newer) == TULLE_OK);
  newer.later = 3;
  EXPECT(TULLE_UNSUPPORTED, tulle_model_load(path, length, &newer.options, &made, &error));
  newer.later = 0;
  EXPECT(TULLE_OK, tulle_model_load(path, length, &newer.options, &made, &error));
  CHECK(tulle_model_free(made) == TULLE_OK);
}

static int32_t read_nothing(void* context, uint64_t offset, void* buffer, size_t buffer_size) {
  (void)context;
  (void)offset;
  memset(buffer, 0, buffer_size);
  return 0;
}

static void lent_files(void) {
  tulle_file files[2] = {{sizeof files[0], 0, {"a.gguf", 6}, 4, read_nothing, NULL},
                         {sizeof files[0], 0, {"config.json", 11}, 2, read_nothing, NULL}};
  tulle_model* made = NULL;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_files(NULL, 1, NULL, &made, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_files(files, 0, NULL, &made, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_files(files, SIZE_MAX, NULL, &made, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_files(files, 1, NULL, NULL, &error));
  EXPECT(TULLE_MALFORMED, tulle_model_load_files(files, 1, NULL, &made, &error));
  EXPECT(TULLE_MALFORMED, tulle_model_load_files(files, 2, NULL, &made, &error));
  files[0].size = 0;
  EXPECT(TULLE_MALFORMED, tulle_model_load_files(files, 1, NULL, &made, &error));
  files[1].struct_size = 0;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_files(files, 2, NULL, &made, &error));
  files[1].struct_size = sizeof files[1] + 8;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_files(files, 2, NULL, &made, &error));
  files[1] = files[0];
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_files(files, 2, NULL, &made, &error));
  files[0].reserved = 1;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_files(files, 1, NULL, &made, &error));
  files[0].reserved = 0;
  files[0].read = NULL;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_files(files, 1, NULL, &made, &error));
  files[0].read = read_nothing;
  files[0].name.data = "../x";
  files[0].name.size = 4;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_files(files, 1, NULL, &made, &error));
  files[0].name.data = "\xFF";
  files[0].name.size = 1;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_files(files, 1, NULL, &made, &error));
  CHECK(made == NULL);
}

static void adapter_calls(void) {
  tulle_adapter adapters[2] = {{sizeof adapters[0], 1, {"/no/such", 8}}, {sizeof adapters[0], 1, {"/no/such", 8}}};
  tulle_model* made = NULL;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_adapted(NULL, 0, adapters, 1, NULL, &made, &error));
  EXPECT(TULLE_NOT_FOUND, tulle_model_load_adapted("/no/such", 8, adapters, 2, NULL, &made, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_adapted("/no/such", 8, NULL, 1, NULL, &made, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_adapted("/no/such", 8, adapters, SIZE_MAX, NULL, &made, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_adapted("/no/such", 8, adapters, 1, NULL, NULL, &error));
  adapters[1].struct_size = 0;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_adapted("/no/such", 8, adapters, 2, NULL, &made, &error));
  adapters[0].struct_size = 0;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_adapted("/no/such", 8, adapters, 1, NULL, &made, &error));
  adapters[0].struct_size = sizeof adapters[0];
  adapters[0].path.size = 0;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_load_adapted("/no/such", 8, adapters, 1, NULL, &made, &error));
  CHECK(made == NULL);
}

static void text_calls(void) {
  const tulle_message nameless = {{NULL, 2}, {"hi", 2}};
  const int32_t outside[] = {-1, 288, INT32_MAX, INT32_MIN};
  tulle_model_info info = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  size_t i;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_encode(model, "\xC3", 1, 0, tokens, 64, &size, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_encode(model, "\xED\xA0\x80", 3, 0, tokens, 64, &size, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_encode(model, NULL, 1, 0, tokens, 64, &size, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_encode(model, "a", 1, 64, tokens, 64, &size, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_encode(model, "a", 1, 0, tokens, 64, NULL, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_encode(model, "a", 1, 0, NULL, 64, &size, &error));
  EXPECT(TULLE_OK, tulle_encode(model, "a", 1, 0, NULL, 0, &size, &error));
  EXPECT(TULLE_OK, tulle_encode(model, NULL, 0, 0, NULL, 0, &size, &error));
  for (i = 0; i < 4; ++i) {
    EXPECT(TULLE_INVALID_ARGUMENT, tulle_decode(model, &outside[i], 1, 0, text, 256, &size, &error));
    EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_generate_tokens(session, &outside[i], 1, NULL, &error));
  }
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_decode(model, NULL, 1, 0, text, 256, &size, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_decode(model, tokens, SIZE_MAX, 0, text, 256, &size, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_chat_prompt(model, NULL, 1, 0, text, 256, &size, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_chat_prompt(model, &nameless, 1, 0, text, 256, &size, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_describe(model, NULL, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_model_describe(model, &info, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_choice_at(TULLE_KERNELS, 0, NULL, &error));
  {
    tulle_choice choice = {sizeof choice, 0, {NULL, 0}};
    EXPECT(TULLE_INVALID_ARGUMENT, tulle_choice_at(0, 0, &choice, &error));
    EXPECT(TULLE_END, tulle_choice_at(TULLE_KERNELS, UINT32_MAX, &choice, &error));
  }
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_use_instruction_set("mmx", 3, &error));
  CHECK(strcmp(tulle_status_name(-5), "unknown") == 0 && strcmp(tulle_status_name(TULLE_BUSY), "busy") == 0);
}

/* Sets one member of fresh options, and generates with them. */
#define GENERATE_WITH(status, member, value)                                             \
  do {                                                                                   \
    tulle_generate_options options;                                                      \
    CHECK(tulle_generate_options_init(&options, sizeof options) == TULLE_OK);            \
    options.sampler.data = "hugging_face";                                               \
    options.sampler.size = 12;                                                           \
    options.member = (value);                                                            \
    EXPECT(status, tulle_session_generate_tokens(session, tokens, 1, &options, &error)); \
  } while (0)

static void constraints(void) {
  static const char never[] = "{\"type\": \"integer\", \"minimum\": 2, \"maximum\": 1}";
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_constrain(session, TULLE_REGEX, NULL, 1, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_constrain(session, TULLE_REGEX, "\x80", 1, &error));
  EXPECT(TULLE_OK, tulle_session_constrain(session, TULLE_UNCONSTRAINED, NULL, 0, &error));
  if (tulle_session_constrain(session, TULLE_JSON_OBJECT, NULL, 0, &error) == TULLE_UNSUPPORTED) return;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_constrain(session, 5, "a", 1, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_constrain(session, -1, "a", 1, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_constrain(session, TULLE_JSON_SCHEMA, "{", 1, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_constrain(session, TULLE_JSON_SCHEMA, never, strlen(never), &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_constrain(session, TULLE_GRAMMAR, "root ::= x", 10, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_constrain(session, TULLE_REGEX, "(", 1, &error));
  /* A text that is complete has to end. */
  GENERATE_WITH(TULLE_INVALID_ARGUMENT, flags, TULLE_IGNORE_EOS);
  GENERATE_WITH(TULLE_INVALID_ARGUMENT, min_new_tokens, 3);
  EXPECT(TULLE_OK, tulle_session_constrain(session, TULLE_UNCONSTRAINED, NULL, 0, &error));
  GENERATE_WITH(TULLE_OK, flags, TULLE_IGNORE_EOS);
  EXPECT(TULLE_OK, tulle_session_truncate(session, 0, &error));
}

static void generating(void) {
  tulle_session_options options;
  tulle_session* made = NULL;
  tulle_token token = {4, 0, 0, 0, {NULL, 0}, {NULL, 0}};
  float zero = 0;
  GENERATE_WITH(TULLE_OK, top_k, 3);
  GENERATE_WITH(TULLE_INVALID_ARGUMENT, temperature, -1);
  GENERATE_WITH(TULLE_INVALID_ARGUMENT, temperature, zero / zero);
  GENERATE_WITH(TULLE_INVALID_ARGUMENT, top_p, 2);
  GENERATE_WITH(TULLE_INVALID_ARGUMENT, top_k, -1);
  GENERATE_WITH(TULLE_INVALID_ARGUMENT, flags, 1u << 31);
  GENERATE_WITH(TULLE_INVALID_ARGUMENT, eos_count, 1);
  GENERATE_WITH(TULLE_INVALID_ARGUMENT, stop_count, 1);
  GENERATE_WITH(TULLE_INVALID_ARGUMENT, sampler.size, 3);
  GENERATE_WITH(TULLE_INVALID_ARGUMENT, struct_size, 12);
  GENERATE_WITH(TULLE_OK, max_new_tokens, UINT64_MAX);
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_next(session, NULL, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_next(session, &token, &error));
  EXPECT(TULLE_STATE, tulle_session_logits(session, logits, 8, &size, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_history(session, NULL, 0, NULL, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_save(session, NULL, 9, &size, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_restore(session, NULL, 9, &error));
  EXPECT(TULLE_MALFORMED, tulle_session_restore(session, "too short", 4, &error));
  EXPECT(TULLE_MALFORMED, tulle_session_restore(session, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_fork(session, NULL, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_timings(session, NULL, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_read_prompt(session, NULL, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_draft(session, NULL, 3, 0, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_draft(session, "self:i5", 7, 0, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_draft(session, "ngram", 5, UINT32_MAX, &error));
  EXPECT(TULLE_NOT_FOUND, tulle_session_draft(session, "/no/such", 8, 0, &error));
  EXPECT(TULLE_UNSUPPORTED, tulle_session_draft(session, "prediction", 10, 0, &error));
  EXPECT(TULLE_OK, tulle_session_draft(session, "ngram", 5, 0, &error));
  EXPECT(TULLE_OK, tulle_session_draft(session, "", 0, 0, &error));
  constraints();
  EXPECT(TULLE_OK, tulle_session_truncate(session, SIZE_MAX, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_generate(session, "", 0, NULL, &error)); /* nothing to go on from */
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_generate(session, "\x80", 1, NULL, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_generate_tokens(session, NULL, 1, NULL, &error));
  token.struct_size = sizeof token;
  EXPECT(TULLE_END, tulle_session_next(session, &token, &error));
  /* Cancelled before its first token, and used again. */
  EXPECT(TULLE_OK, tulle_session_generate_tokens(session, tokens, 1, NULL, &error));
  EXPECT(TULLE_OK, tulle_session_cancel(session));
  EXPECT(TULLE_OK, tulle_session_next(session, &token, &error));
  CHECK(token.finish_reason == TULLE_FINISH_CANCELLED);
  EXPECT(TULLE_END, tulle_session_next(session, &token, &error));
  EXPECT(TULLE_OK, tulle_session_generate_tokens(session, tokens, 1, NULL, &error));
  EXPECT(TULLE_OK, tulle_session_next(session, &token, &error));
  CHECK(token.finish_reason == TULLE_FINISH_NONE);

  CHECK(tulle_session_options_init(&options, sizeof options) == TULLE_OK);
  options.threads = 1000000;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_new(model, &options, &made, &error));
  options.threads = 1;
  options.prompt_sequence_length = 0;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_new(model, &options, &made, &error));
  options.prompt_sequence_length = 16;
  options.sequence_length = UINT64_MAX;
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_new(model, &options, &made, &error));
  EXPECT(TULLE_INVALID_ARGUMENT, tulle_session_new(model, NULL, NULL, &error));
  options.sequence_length = 8;
  EXPECT(TULLE_OK, tulle_session_new(model, &options, &made, &error));
  EXPECT(TULLE_CAPACITY, tulle_session_generate_tokens(made, tokens, 9, NULL, &error));
  EXPECT(TULLE_OK, tulle_session_generate_tokens(made, tokens, 8, NULL, &error));
  EXPECT(TULLE_OK, tulle_session_next(made, &token, &error));
  CHECK(token.finish_reason == TULLE_FINISH_CAPACITY);
  EXPECT(TULLE_OK, tulle_session_free(made));
  EXPECT(TULLE_INVALID_HANDLE, tulle_session_free(made));
}

/* A message longer than the caller's buffer is cut at a code point. */
static void long_messages(void) {
  struct {
    uint32_t struct_size;
    int32_t status;
    char message[32];
  } small = {8 + 25, 0, {0}};
  static const char path[] =
      "/\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC";
  tulle_model* made = NULL;
  EXPECT(TULLE_NOT_FOUND, tulle_model_load(path, sizeof path - 1, NULL, &made, (tulle_error*)&small));
  CHECK(strlen(small.message) == 22 && memcmp(small.message, path, 22) == 0);
  CHECK(small.status == TULLE_NOT_FOUND && small.message[25] == 0);
}

int main(int count, char** arguments) {
  golden facts;
  int line = 0, i;
  CHECK(count == 2);
  do CHECK(read_golden(arguments[1], line++, &facts));
  while (strstr(facts.path, "f32.gguf") == NULL);
  model = load_golden(&facts);
  for (i = 0; i < 64; ++i) tokens[i] = i;
  CHECK_OK(tulle_session_new(model, NULL, &session, &error));
  wrong_handles(&facts);
  loading(facts.path);
  lent_files();
  adapter_calls();
  text_calls();
  generating();
  long_messages();
  CHECK(tulle_model_free(model) == TULLE_OK);
  CHECK(tulle_model_free(model) == TULLE_INVALID_HANDLE);
  CHECK(tulle_session_free(session) == TULLE_OK);
  CHECK(tulle_live_handles() == 0);
  return 0;
}
