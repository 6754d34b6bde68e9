/* SPDX-License-Identifier: Apache-2.0 */
/* Lesson 5: text in, text out, in C.     usage: 05_generate MODEL PROMPT */
#include <stdio.h>
#include <string.h>
#include <tulle.h>

int main(int count, char** arguments) {
  tulle_model* model;
  tulle_session* session;
  tulle_error error = TULLE_ERROR_INIT;
  tulle_token token = TULLE_TOKEN_INIT;
  if (count != 3 || tulle_model_load(arguments[1], strlen(arguments[1]), NULL, &model, &error) ||
      tulle_session_new(model, NULL, &session, &error) ||
      tulle_session_generate(session, arguments[2], strlen(arguments[2]), NULL, &error))
    return puts(error.message), 1;
  while (tulle_session_next(session, &token, &error) == TULLE_OK)
    fwrite(token.text.data, 1, token.text.size, stdout), fflush(stdout);
}
