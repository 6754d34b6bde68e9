/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of Tulle's C ABI that may change with every release; TULLE_ABI_VERSION does not cover them. */
#ifndef TULLE_EXPERIMENTAL_H
#define TULLE_EXPERIMENTAL_H

#include "tulle.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_timings {
  uint32_t struct_size; /* in */
  uint32_t reserved;
  uint64_t prompt_tokens;
  uint64_t generated_tokens;
  double prefill_seconds;         /* until the first token */
  double decode_seconds;          /* after the first token */
  uint64_t draft_tokens;          /* guessed, see tulle_session_draft */
  uint64_t accepted_draft_tokens; /* of them, those that are in the text */
} tulle_timings;

/* Timings of the last generation so far. */
TULLE_API int32_t tulle_session_timings(tulle_session* session, tulle_timings* timings, tulle_error* error);

/* Reads on in the prompt of the generation that has begun: one pass of at most prompt_sequence_length tokens. *fraction
 * is how much of it has been read, in [0, 1]. Without this function the first tulle_session_next reads all of it.
 * Errors: TULLE_END where nothing is left to read. */
TULLE_API int32_t tulle_session_read_prompt(tulle_session* session, double* fraction, tulle_error* error);

/* A file that the caller reads. `read` is called with `context` for any part of its `size` bytes, on the loading
 * thread. */
typedef struct tulle_file {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  tulle_string name; /* without a folder */
  uint64_t size;
  tulle_read read;
  void* context;
} tulle_file;

/* From one GGUF file, all parts of a model in parts (gguf-split) under their own names, or the files of a Hugging Face
 * directory (config.json, *.safetensors, tokenizer.json, tokenizer.model ...). Only the tensors that are being packed
 * are held in memory. */
TULLE_API int32_t tulle_model_load_files(const tulle_file* files, size_t count, const tulle_load_options* options,
                                         tulle_model** model, tulle_error* error);

/* A LoRA adapter. */
typedef struct tulle_adapter {
  uint32_t struct_size;
  float scale;       /* multiplies the adapter's own; 1 takes it as it was trained */
  tulle_string path; /* a directory that PEFT saved: adapter_config.json, adapter_model.safetensors */
} tulle_adapter;

/* tulle_model_load with adapters merged into the weights. */
TULLE_API int32_t tulle_model_load_adapted(const char* path, size_t path_size, const tulle_adapter* adapters,
                                           size_t count, const tulle_load_options* options, tulle_model** model,
                                           tulle_error* error);

/* Speculative decoding: from now on `drafter` guesses up to `max_tokens` tokens (0: 7), which one pass of the model
 * checks. The text is the same. "ngram" copies repeated text; "self:KERNEL" is the model with requantized weights
 * ("self:i4"), where it was loaded from a path; else the path of a smaller model with the same tokens; A+B: A guesses
 * for B. Empty: no longer. A fork has no drafter. A generation that has not ended is ended. */
TULLE_API int32_t tulle_session_draft(tulle_session* session, const char* drafter, size_t size, uint32_t max_tokens,
                                      tulle_error* error);

/* What a text must be. */
#define TULLE_UNCONSTRAINED 0 /* any text */
#define TULLE_JSON_OBJECT 1   /* a JSON object; takes no text */
#define TULLE_JSON_SCHEMA 2   /* JSON that a schema accepts, with the properties in the schema's order */
#define TULLE_GRAMMAR 3       /* a text of an EBNF grammar: root ::= "yes" | "no" */
#define TULLE_REGEX 4         /* a text that a regular expression matches as a whole */

/* Structured output: each text that the session generates from now on is what `kind` and `text` say, unless
 * max_new_tokens or the session's end cuts it, and ends where it is complete. JSON is compact. A fork is constrained
 * alike. Errors: TULLE_INVALID_ARGUMENT for what is not understood or can never be met, with the place;
 * TULLE_UNSUPPORTED without a tokenizer, and where the library was built without grammars. Nothing changes then. */
TULLE_API int32_t tulle_session_constrain(tulle_session* session, int32_t kind, const char* text, size_t size,
                                          tulle_error* error);

/* Models and sessions that have not been freed, in the whole process: for tests that look for leaks. */
TULLE_API uint64_t tulle_live_handles(void);

#ifdef __cplusplus
}
#endif

#endif
