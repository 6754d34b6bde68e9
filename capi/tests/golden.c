/* SPDX-License-Identifier: Apache-2.0 */
#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check_that(int holds, const char* what, const char* file, int line) {
  if (holds) return;
  fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
  exit(1);
}

void check_ok(int32_t status, const tulle_error* error, const char* what, const char* file, int line) {
  if (status == TULLE_OK) return;
  fprintf(stderr, "%s:%d: %s: %s: %s\n", file, line, what, tulle_status_name(status), error->message);
  exit(1);
}

char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  char* bytes;
  long end;
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  end = ftell(file);
  fseek(file, 0, SEEK_SET);
  CHECK(end >= 0);
  bytes = malloc((size_t)end + 1);
  CHECK(bytes != NULL && fread(bytes, 1, (size_t)end, file) == (size_t)end);
  fclose(file);
  bytes[end] = '\0';
  if (size != NULL) *size = (size_t)end;
  return bytes;
}

/* The whole numbers of the list (or the one number) that stands behind "key": in a JSON text. */
static size_t numbers_of(const char* json, const char* key, int32_t* numbers, size_t capacity) {
  char quoted[64];
  const char* at;
  char* end;
  size_t count = 0;
  snprintf(quoted, sizeof quoted, "\"%s\":", key);
  at = strstr(json, quoted);
  CHECK(at != NULL);
  at += strlen(quoted);
  at += strspn(at, " \n[");
  while (count < capacity) {
    numbers[count] = (int32_t)strtol(at, &end, 10);
    if (end == at) break;
    ++count;
    at = end + strspn(end, " \n");
    if (*at != ',') break;
    ++at;
  }
  return count;
}

/* Line number `line` of a file in the folder, without its end; NULL past the last. The caller frees it. */
static char* read_line(const char* folder, const char* name, int line) {
  char path[4096];
  char *text, *at, *end, *copy;
  CHECK(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
  text = read_file(path, NULL);
  for (at = text; (end = strchr(at, '\n')) != NULL && line > 0; --line) at = end + 1;
  copy = end == NULL ? NULL : malloc((size_t)(end - at) + 1);
  if (end != NULL) {
    CHECK(copy != NULL);
    *end = '\0';
    strcpy(copy, at);
  }
  free(text);
  return copy;
}

int read_golden(const char* folder, int line, golden* facts) {
  char path[4096], name[64];
  char *contract = read_line(folder, "contract.txt", line), *json, *dot;
  int32_t prompt_tokens = 0;
  if (contract == NULL) return 0;
  CHECK(sscanf(contract, "%63s %63s", name, facts->assembly) == 2);
  free(contract);
  CHECK(snprintf(facts->path, sizeof facts->path, "%s/models/%s", folder, name) < (int)sizeof facts->path);
  dot = strrchr(name, '.');
  if (dot != NULL) *dot = '\0';
  CHECK(snprintf(path, sizeof path, "%s/models/%s%sgolden.json", folder, name, dot == NULL ? "/" : ".") <
        (int)sizeof path);
  json = read_file(path, NULL);
  CHECK(numbers_of(json, "greedy_prompt_tokens", &prompt_tokens, 1) == 1);
  CHECK(numbers_of(json, "tokens", facts->prompt, (size_t)prompt_tokens) == (size_t)prompt_tokens);
  facts->prompt_size = (size_t)prompt_tokens;
  facts->greedy_size = numbers_of(json, "greedy", facts->greedy, 64);
  CHECK(facts->prompt_size > 0 && facts->greedy_size > 0);
  free(json);
  return 1;
}

int read_golden_prompt(const char* folder, int line, golden_prompt* facts) {
  char *text = read_line(folder, "prompts.txt", line), *tab, *from, *end;
  if (text == NULL) return 0;
  tab = strchr(text, '\t');
  CHECK(tab != NULL && (size_t)(tab - text) <= sizeof facts->text);
  facts->text_size = 0;
  for (from = text; from < tab; ++from) {
    const int line_end = from[0] == '\\' && from[1] == 'n';
    facts->text[facts->text_size++] = line_end ? '\n' : *from;
    from += line_end;
  }
  facts->greedy_size = 0;
  for (from = tab + 1; *from != '\0'; from = end) {
    CHECK(facts->greedy_size < sizeof facts->greedy / sizeof *facts->greedy);
    facts->greedy[facts->greedy_size++] = (int32_t)strtol(from, &end, 10);
    CHECK(end != from);
  }
  free(text);
  return 1;
}

tulle_model* load_model(const char* path, const char* assembly) {
  tulle_error error = TULLE_ERROR_INIT;
  tulle_load_options options;
  tulle_model* model = NULL;
  CHECK(tulle_load_options_init(&options, sizeof options) == TULLE_OK);
  options.assembly.data = assembly;
  options.assembly.size = strlen(assembly);
  CHECK_OK(tulle_model_load(path, strlen(path), &options, &model, &error));
  return model;
}

tulle_model* load_golden(const golden* facts) {
  return load_model(facts->path, facts->assembly);
}

tulle_generate_options greedy_options(size_t tokens) {
  tulle_generate_options options;
  CHECK(tulle_generate_options_init(&options, sizeof options) == TULLE_OK);
  options.flags = TULLE_IGNORE_EOS;
  options.max_new_tokens = tokens;
  return options;
}

void check_next(tulle_session* session, const int32_t* ids, size_t count) {
  tulle_error error = TULLE_ERROR_INIT;
  tulle_token token = TULLE_TOKEN_INIT;
  size_t i;
  for (i = 0; i < count; ++i) {
    CHECK_OK(tulle_session_next(session, &token, &error));
    CHECK(token.id == ids[i]);
    CHECK(token.finish_reason == (i + 1 == count ? TULLE_FINISH_LENGTH : TULLE_FINISH_NONE));
  }
  CHECK(tulle_session_next(session, &token, &error) == TULLE_END);
}

void check_greedy(tulle_session* session, const golden* facts) {
  tulle_error error = TULLE_ERROR_INIT;
  const tulle_generate_options options = greedy_options(facts->greedy_size);
  CHECK_OK(tulle_session_generate_tokens(session, facts->prompt, facts->prompt_size, &options, &error));
  check_next(session, facts->greedy, facts->greedy_size);
}
