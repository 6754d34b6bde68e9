/* SPDX-License-Identifier: Apache-2.0 */
#include "tulle_experimental.h"

/* What the macros promise to initialise. */
extern const tulle_error no_error;
extern const tulle_token no_token;
const tulle_error no_error = TULLE_ERROR_INIT;
const tulle_token no_token = TULLE_TOKEN_INIT;
