/* SPDX-License-Identifier: Apache-2.0 */
/* The golden models' facts (tests/golden/README.md) as C reads them, and the checks that every test here uses. */
#ifndef TULLE_TESTS_GOLDEN_H
#define TULLE_TESTS_GOLDEN_H

#include <stddef.h>
#include <stdint.h>

#include "tulle.h"

/* Ends the program with the line that failed. */
void check_that(int holds, const char* what, const char* file, int line);
#define CHECK(condition) check_that((condition) != 0, #condition, __FILE__, __LINE__)

/* CHECK that a call succeeded; shows its message. */
void check_ok(int32_t status, const tulle_error* error, const char* what, const char* file, int line);
#define CHECK_OK(call) check_ok((call), &error, #call, __FILE__, __LINE__)

/* One line of tests/golden/contract.txt, which the tests of every language read: a model, how it runs, and the
 * tokens that it gives. */
typedef struct golden {
  char path[4096];
  char assembly[64];
  int32_t prompt[64], greedy[64];
  size_t prompt_size, greedy_size;
} golden;

/* Line number `line` of the contract in the folder tests/golden; 0 past the last. */
int read_golden(const char* folder, int line, golden* facts);

/* One line of tests/golden/prompts.txt: a text, and the tokens that the default model (SmolLM2-135M-Instruct) gives
 * after it, computed in float32. */
typedef struct golden_prompt {
  char text[512];
  int32_t greedy[64];
  size_t text_size, greedy_size;
} golden_prompt;

/* Line number `line` of the prompts in the folder tests/golden; 0 past the last. */
int read_golden_prompt(const char* folder, int line, golden_prompt* facts);

tulle_model* load_model(const char* path, const char* assembly);

/* Loads the model with the assembly of the contract. */
tulle_model* load_golden(const golden* facts);

/* The whole file; the caller frees it. */
char* read_file(const char* path, size_t* size);

/* The best token each time, so many of them whatever they are. */
tulle_generate_options greedy_options(size_t tokens);

/* Reads a generation to its end, which must be these tokens. */
void check_next(tulle_session* session, const int32_t* ids, size_t count);

/* Generates after the golden prompt in `session`, and compares. */
void check_greedy(tulle_session* session, const golden* facts);

#endif
