/* SPDX-License-Identifier: Apache-2.0 */
/* After two golden prompts the default model gives the 64 tokens that it gives in transformers (all prompts:
 * tests/real_model).
 *   usage: real_model_test FOLDER MODEL      FOLDER is tests/golden, MODEL is SmolLM2-135M-Instruct.Q4_1.gguf */
#include "golden.h"
#include "tulle_experimental.h"

int main(int count, char** arguments) {
  tulle_error error = TULLE_ERROR_INIT;
  tulle_session_options options;
  tulle_session* session = NULL;
  tulle_model* model;
  golden_prompt prompt;
  int line = 0;
  CHECK(count == 3);
  model = load_model(arguments[2], "dense_f32/contiguous_f32");
  CHECK(tulle_session_options_init(&options, sizeof options) == TULLE_OK);
  options.sequence_length = 256;
  CHECK_OK(tulle_session_new(model, &options, &session, &error));
  for (; line < 2 && read_golden_prompt(arguments[1], line, &prompt); ++line) {
    const tulle_generate_options greedy = greedy_options(prompt.greedy_size);
    CHECK_OK(tulle_session_truncate(session, 0, &error));
    CHECK_OK(tulle_session_generate(session, prompt.text, prompt.text_size, &greedy, &error));
    check_next(session, prompt.greedy, prompt.greedy_size);
  }
  CHECK(line == 2);
  CHECK(tulle_session_free(session) == TULLE_OK && tulle_model_free(model) == TULLE_OK);
  CHECK(tulle_live_handles() == 0);
  return 0;
}
