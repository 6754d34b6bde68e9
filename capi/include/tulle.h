/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tulle's C ABI: text generation with sparse, quantized language models.
 *
 *   tulle_model* model = NULL;
 *   tulle_session* session = NULL;
 *   tulle_error error = TULLE_ERROR_INIT;
 *   tulle_token token = TULLE_TOKEN_INIT;
 *   if (tulle_model_load(path, strlen(path), NULL, &model, &error) ||
 *       tulle_session_new(model, NULL, &session, &error) ||
 *       tulle_session_generate(session, prompt, strlen(prompt), NULL, &error)) return fail(error.message);
 *   while (tulle_session_next(session, &token, &error) == TULLE_OK)
 *     fwrite(token.text.data, 1, token.text.size, stdout);
 *
 * Calls.   Every function that can fail returns a status and takes a tulle_error last, which may be NULL. A call never
 *          throws and never aborts; an invalid argument gives a status.
 * Text.    UTF-8 as pointer and length in bytes, not terminated by 0; data may be NULL where size is 0. Text that is
 * not          UTF-8 is TULLE_INVALID_ARGUMENT.
 * Results. Outputs come last before the error. Handles are set to NULL when the call fails. A result of variable size
 *          is written to the caller's buffer, and its size (in elements) always to *size; capacity 0 only gives the
 *          size. A buffer that is too small is not written: TULLE_BUFFER_TOO_SMALL.
 * Structs. Begin with struct_size, which the caller sets; fields are only ever appended, and a smaller struct of an
 *          older header keeps working. In a larger struct, fields that are unknown to this library must be zero.
 * Handles. Opaque and never dereferenced: each call looks its handle up, so a freed or invalid handle gives
 *          TULLE_INVALID_HANDLE. A session keeps its model alive: free them in any order.
 * Threads. A model is immutable and may be used from any number of threads at once. A session is for one thread at a
 *          time; any other use meanwhile gives TULLE_BUSY. Only tulle_session_cancel and tulle_session_free are for
 *          other threads. Strings of a session must not be read any more when it is freed.
 */
#ifndef TULLE_H
#define TULLE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define TULLE_API
#else
#define TULLE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version ---- */

/* Raised when a program compiled with an older header would break. */
#define TULLE_ABI_VERSION 1

/* TULLE_ABI_VERSION of the library that is loaded: compare once. */
TULLE_API uint32_t tulle_abi_version(void);

/* "0.1.0"; terminated by 0, valid for ever. */
TULLE_API const char* tulle_version(void);

/* ---- status ---- */

/* Values are pinned. */
#define TULLE_OK 0
#define TULLE_INVALID_ARGUMENT 1  /* an invalid option, token, text or struct */
#define TULLE_STATE 2             /* a call that is not allowed in the present state */
#define TULLE_INVALID_HANDLE 3    /* NULL, freed, or never a handle of this kind */
#define TULLE_BUSY 4              /* another thread is using this session */
#define TULLE_IO 10               /* an error of the file system or of the caller's read function */
#define TULLE_MALFORMED 11        /* a file or saved session that breaks its format's rules */
#define TULLE_UNSUPPORTED 12      /* valid, but this library or machine cannot run it */
#define TULLE_NOT_FOUND 13        /* a missing file, tensor or name */
#define TULLE_CAPACITY 20         /* longer than the context, the cache or a limit */
#define TULLE_OUT_OF_MEMORY 21    /* a failed allocation */
#define TULLE_BUFFER_TOO_SMALL 22 /* *size is the size that is needed */
#define TULLE_CANCELLED 30        /* stopped by the caller's progress function */
#define TULLE_END 31              /* no more items; not a failure */
#define TULLE_INTERNAL 99         /* a defect of the library; please report it */

/* "out_of_memory"; "unknown" for an undefined value. Terminated by 0, valid for ever. */
TULLE_API const char* tulle_status_name(int32_t status);

/* Why a call failed: one line that says what is wrong, where, and what to do. Cut at a code point where it is long. */
typedef struct tulle_error {
  uint32_t struct_size; /* in */
  int32_t status;       /* the call's result */
  char message[1016];   /* terminated by 0; empty when nothing failed */
} tulle_error;

#define TULLE_ERROR_INIT {sizeof(tulle_error), 0, {0}}

/* ---- text and choices ---- */

typedef struct tulle_string {
  const char* data;
  size_t size; /* bytes */
} tulle_string;

/* Kinds of choices by name. */
#define TULLE_KERNELS 1          /* how weight matrices are stored and multiplied */
#define TULLE_CACHES 2           /* where keys and values are stored: "paged", "paged_i8" */
#define TULLE_SAMPLERS 3         /* how logits become a token */
#define TULLE_INSTRUCTION_SETS 4 /* the instruction set of the inner loops */

typedef struct tulle_choice {
  uint32_t struct_size; /* in */
  uint32_t runs;        /* 1 when this machine can run it */
  tulle_string name;    /* ASCII; valid for ever */
} tulle_choice;

/* The choice number `index` of a kind, all that are built in. Errors: TULLE_END past the last one. */
TULLE_API int32_t tulle_choice_at(int32_t kind, uint32_t index, tulle_choice* choice, tulle_error* error);

/* Sets the instruction set of the whole process, in place of the machine's best. Call it before a model is loaded. */
TULLE_API int32_t tulle_use_instruction_set(const char* name, size_t name_size, tulle_error* error);

/* ---- models ---- */

/* A loaded model with its tokenizer and chat template. Immutable. */
typedef struct tulle_model tulle_model;

/* Called on the loading thread with what is done and its fraction in [0, 1]; any value but 0 ends loading with
 * TULLE_CANCELLED. */
typedef int32_t (*tulle_progress)(void* context, const char* what, size_t what_size, double fraction);

#define TULLE_VERIFY_PACKED 1u /* all packed weights that were kept are hashed before they are used */

typedef struct tulle_load_options {
  uint32_t struct_size;
  uint32_t flags;          /* TULLE_VERIFY_PACKED */
  tulle_string assembly;   /* KERNEL[/CACHE[/SAMPLER]] such as "auto/paged_i8"; empty is "auto/contiguous" */
  tulle_progress progress; /* may be NULL */
  void* progress_context;
  /* Where packed weights are kept, so that the next start is quick. Empty or "off": nowhere. "on": in a file of the
   * user's cache folder. "auto": the same for models of 200 MB and more. Else a file that "tulle pack" made. Only for
   * tulle_model_load and tulle_model_load_adapted; models with adapters are not kept, a file with them is an error. */
  tulle_string packed_cache;
} tulle_load_options;

/* Fills in defaults and struct_size; struct_size is that of the caller's header: sizeof(tulle_load_options). */
TULLE_API int32_t tulle_load_options_init(tulle_load_options* options, uint32_t struct_size);

/* From a Hugging Face directory (safetensors) or a GGUF file; of a model in parts (gguf-split) the first part, with the
 * others in the same folder. "hf:org/name[@revision][:file.gguf]" is a model of the Hugging Face Hub, taken from the
 * hub's cache or downloaded into it; `progress` is called and may end that, too. `options` may be NULL. Without a
 * tokenizer in the folder the model takes and gives token ids only. Every load function packs the weights on all cores
 * that the process may use, and calls `progress` on the caller's thread. */
TULLE_API int32_t tulle_model_load(const char* path, size_t path_size, const tulle_load_options* options,
                                   tulle_model** model, tulle_error* error);

/* From the bytes of a GGUF file, which are not needed after the call. */
TULLE_API int32_t tulle_model_load_memory(const void* data, size_t size, const tulle_load_options* options,
                                          tulle_model** model, tulle_error* error);

/* Reads `size` bytes at `offset` into `buffer`; any value but 0 is a failure (TULLE_IO). On the loading thread. */
typedef int32_t (*tulle_read)(void* context, uint64_t offset, void* buffer, size_t size);

/* From a GGUF file of `size` bytes. The caller's function reads them in order, each byte once. */
TULLE_API int32_t tulle_model_load_reader(tulle_read read, void* context, uint64_t size,
                                          const tulle_load_options* options, tulle_model** model, tulle_error* error);

/* Frees a handle; NULL is allowed. Sessions of the model stay valid. Errors: TULLE_INVALID_HANDLE when it was freed. */
TULLE_API int32_t tulle_model_free(tulle_model* model);

#define TULLE_HAS_TOKENIZER 1u
#define TULLE_HAS_CHAT_TEMPLATE 2u

typedef struct tulle_model_info {
  uint32_t struct_size;    /* in */
  uint32_t flags;          /* TULLE_HAS_... */
  uint64_t weight_bytes;   /* of all matrices, as they are packed in memory */
  uint32_t vocabulary;     /* logits of a position; valid input ids are 0 .. vocabulary - 1 */
  uint32_t tokens;         /* of the tokenizer; generated ids are below it; 0 without a tokenizer */
  uint32_t context_length; /* positions the model was trained for */
  uint32_t layers;
  uint32_t hidden;
  int32_t bos; /* -1 where there is none */
  int32_t eos; /* the first of them; -1 where there is none */
  uint32_t reserved;
} tulle_model_info;

TULLE_API int32_t tulle_model_describe(const tulle_model* model, tulle_model_info* info, tulle_error* error);

/* ---- text and tokens ---- */

#define TULLE_ADD_SPECIAL_TOKENS 1u  /* encode: add the tokenizer's tokens around a text (<s> and the like) */
#define TULLE_PLAIN_TEXT 2u          /* encode: treat "<|endoftext|>" in the text as plain text */
#define TULLE_SKIP_SPECIAL_TOKENS 4u /* decode: leave them out */

TULLE_API int32_t tulle_encode(const tulle_model* model, const char* text, size_t text_size, uint32_t flags,
                               int32_t* tokens, size_t capacity, size_t* size, tulle_error* error);

/* Always UTF-8, with U+FFFD where the tokens' bytes are not. */
TULLE_API int32_t tulle_decode(const tulle_model* model, const int32_t* tokens, size_t count, uint32_t flags,
                               char* text, size_t capacity, size_t* size, tulle_error* error);

typedef struct tulle_message {
  tulle_string role; /* "system", "user", "assistant", or another role of the model's template */
  tulle_string content;
} tulle_message;

#define TULLE_ADD_GENERATION_PROMPT 1u /* end with the beginning of the answer */

/* The prompt for messages by the model's own chat template. Its special tokens are in the text: generate from it
 * with TULLE_NO_SPECIAL_TOKENS. Errors: TULLE_UNSUPPORTED when the model has no template. */
TULLE_API int32_t tulle_chat_prompt(const tulle_model* model, const tulle_message* messages, size_t count,
                                    uint32_t flags, char* text, size_t capacity, size_t* size, tulle_error* error);

/* ---- sessions ---- */

/* One growing text: a history of tokens, its keys and values, and threads of its own. */
typedef struct tulle_session tulle_session;

typedef struct tulle_session_options {
  uint32_t struct_size;
  uint32_t threads;                /* 0: one per core */
  tulle_string cache;              /* empty: that of the model's assembly */
  uint64_t sequence_length;        /* tokens it can hold; 0: the model's own, at most 4096 */
  uint64_t prompt_sequence_length; /* prompt tokens in one pass */
  uint64_t window;                 /* of a sliding cache; 0: sequence_length */
  uint64_t sinks;                  /* first positions that a sliding cache keeps */
} tulle_session_options;

TULLE_API int32_t tulle_session_options_init(tulle_session_options* options, uint32_t struct_size);

TULLE_API int32_t tulle_session_new(const tulle_model* model, const tulle_session_options* options,
                                    tulle_session** session, tulle_error* error);

/* Frees a handle; NULL is allowed. A call of another thread on it is cancelled. */
TULLE_API int32_t tulle_session_free(tulle_session* session);

/* TULLE_NO_SPECIAL_TOKENS is for prompts of a chat template, which writes them. The text is then an answer: no space is
 * in front of its first word. Else the text goes on where the prompt ends. */
#define TULLE_IGNORE_EOS 1u          /* end at max_new_tokens, not at an eos token */
#define TULLE_NO_SPECIAL_TOKENS 2u   /* add no special tokens around the first text */
#define TULLE_SHOW_SPECIAL_TOKENS 4u /* special tokens have text too */
#define TULLE_LOG_PROBABILITIES 8u   /* of every token, under the raw logits */
#define TULLE_KEEP_LOGITS 16u        /* for tulle_session_logits */

typedef struct tulle_generate_options {
  uint32_t struct_size;
  uint32_t flags;
  /* "greedy", or "hugging_face" or "llama_cpp" to draw. Empty: that of the model's assembly; where it names none,
   * "hugging_face" where temperature, top_k, top_p, min_p or typical_p is not its default, else "greedy". */
  tulle_string sampler;
  uint64_t max_new_tokens;  /* 0 only puts the text into the cache */
  uint64_t seed;            /* the same seed draws the same text */
  float temperature;        /* 0 is greedy; 1 by default */
  float top_p;              /* 1 is off */
  float min_p;              /* 0 is off */
  float typical_p;          /* 1 is off */
  float repetition_penalty; /* 1 is off */
  float presence_penalty;   /* 0 is off */
  float frequency_penalty;  /* 0 is off */
  int32_t top_k;            /* 0 is off */
  int32_t no_repeat_ngram;  /* 0 is off */
  int32_t min_new_tokens;   /* no eos before this number */
  const int32_t* eos;       /* in place of the model's own, where eos_count is not 0 */
  size_t eos_count;
  const tulle_string* stop; /* the text ends before the first of these */
  size_t stop_count;
} tulle_generate_options;

TULLE_API int32_t tulle_generate_options_init(tulle_generate_options* options, uint32_t struct_size);

/* Appends a text, or tokens, to the history; tulle_session_next then generates. With nothing appended it continues
 * after the last token. An unfinished generation is ended first. The options are copied. */
TULLE_API int32_t tulle_session_generate(tulle_session* session, const char* text, size_t text_size,
                                         const tulle_generate_options* options, tulle_error* error);
TULLE_API int32_t tulle_session_generate_tokens(tulle_session* session, const int32_t* tokens, size_t count,
                                                const tulle_generate_options* options, tulle_error* error);

/* Why a generation ended. */
#define TULLE_FINISH_NONE 0      /* it has not */
#define TULLE_FINISH_STOP 1      /* an eos token or a stop string */
#define TULLE_FINISH_LENGTH 2    /* max_new_tokens */
#define TULLE_FINISH_CAPACITY 3  /* the session is full */
#define TULLE_FINISH_CANCELLED 5 /* tulle_session_cancel */

typedef struct tulle_token {
  uint32_t struct_size;  /* in */
  int32_t id;            /* -1 when the generation ended without one */
  float log_probability; /* 0 unless asked for */
  int32_t finish_reason; /* not TULLE_FINISH_NONE on the last one */
  tulle_string bytes;    /* of the token; possibly a part of a code point */
  tulle_string text;     /* whole code points; may be empty. All texts put together are the text */
} tulle_token;

#define TULLE_TOKEN_INIT {sizeof(tulle_token), 0, 0, 0, {NULL, 0}, {NULL, 0}}

/* The next token; the first call reads the prompt. bytes and text are valid until the next call on this session, or
 * until it is freed. Errors: TULLE_INVALID_HANDLE where it was freed meanwhile; TULLE_END after the last one; *token is
 * unchanged. */
TULLE_API int32_t tulle_session_next(tulle_session* session, tulle_token* token, tulle_error* error);

/* Ends the running generation within the time of one layer, also while the prompt is read. Its next token has
 * TULLE_FINISH_CANCELLED. The session stays usable. From any thread; not from a signal handler. */
TULLE_API int32_t tulle_session_cancel(tulle_session* session);

/* The raw logits [vocabulary] that follow the token read last, from which the last token of tulle_session_next was
 * chosen. Errors: TULLE_STATE unless the generation had TULLE_KEEP_LOGITS. */
TULLE_API int32_t tulle_session_logits(tulle_session* session, float* logits, size_t capacity, size_t* size,
                                       tulle_error* error);

/* Every token so far, prompts and answers. */
TULLE_API int32_t tulle_session_history(tulle_session* session, int32_t* tokens, size_t capacity, size_t* size,
                                        tulle_error* error);

/* The following functions end an unfinished generation. */

/* Removes all tokens but the first `length`. */
TULLE_API int32_t tulle_session_truncate(tulle_session* session, size_t length, tulle_error* error);

/* An independent copy with its own threads; nothing is computed again. */
TULLE_API int32_t tulle_session_fork(tulle_session* session, tulle_session** copy, tulle_error* error);

/* History, keys and values as bytes, for a session with the same model and options on the same kind of machine. */
TULLE_API int32_t tulle_session_save(tulle_session* session, void* bytes, size_t capacity, size_t* size,
                                     tulle_error* error);
/* Replaces the session's content. Errors: TULLE_MALFORMED; TULLE_CAPACITY where the cache is full now. Both leave the
   session empty. */
TULLE_API int32_t tulle_session_restore(tulle_session* session, const void* bytes, size_t size, tulle_error* error);

#ifdef __cplusplus
}
#endif

#endif
