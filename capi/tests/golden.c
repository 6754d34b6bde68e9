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

int read_golden(const char* folder, int line, golden* facts) {
  char path[4096], name[64];
  const char* at;
  char *contract, *json, *dot;
  int32_t prompt_tokens = 0;
  CHECK(snprintf(path, sizeof path, "%s/contract.txt", folder) < (int)sizeof path);
  contract = read_file(path, NULL);
  for (at = contract; line > 0 && at != NULL; --line) at = strchr(at, '\n') == NULL ? NULL : strchr(at, '\n') + 1;
  if (at == NULL || sscanf(at, "%63s %63s", name, facts->assembly) != 2) {
    free(contract);
    return 0;
  }
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

tulle_model* load_golden(const golden* facts) {
  tulle_error error = TULLE_ERROR_INIT;
  tulle_load_options options;
  tulle_model* model = NULL;
  CHECK(tulle_load_options_init(&options, sizeof options) == TULLE_OK);
  options.assembly.data = facts->assembly;
  options.assembly.size = strlen(facts->assembly);
  CHECK_OK(tulle_model_load(facts->path, strlen(facts->path), &options, &model, &error));
  return model;
}

void check_greedy(tulle_session* session, const golden* facts) {
  tulle_error error = TULLE_ERROR_INIT;
  tulle_token token = TULLE_TOKEN_INIT;
  tulle_generate_options options;
  size_t i;
  CHECK(tulle_generate_options_init(&options, sizeof options) == TULLE_OK);
  options.flags = TULLE_IGNORE_EOS;
  options.max_new_tokens = facts->greedy_size;
  CHECK_OK(tulle_session_generate_tokens(session, facts->prompt, facts->prompt_size, &options, &error));
  for (i = 0; i < facts->greedy_size; ++i) {
    CHECK_OK(tulle_session_next(session, &token, &error));
    CHECK(token.id == facts->greedy[i]);
    CHECK(token.finish_reason == (i + 1 == facts->greedy_size ? TULLE_FINISH_LENGTH : TULLE_FINISH_NONE));
  }
  CHECK(tulle_session_next(session, &token, &error) == TULLE_END);
}
