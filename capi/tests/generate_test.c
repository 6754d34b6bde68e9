/* SPDX-License-Identifier: Apache-2.0 */
/* The main use of the C ABI: golden tokens, text, logits, sessions that are saved, truncated and forked.
 *   usage: generate_test FOLDER [once|few]      FOLDER is tests/golden
 * For slow emulators. once: each golden text once; few: and no models from memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "tulle_experimental.h"

static tulle_error error = TULLE_ERROR_INIT;

static tulle_session* open_session(const tulle_model* model) {
  tulle_session_options options;
  tulle_session* session = NULL;
  CHECK(tulle_session_options_init(&options, sizeof options) == TULLE_OK);
  options.threads = 1;
  options.sequence_length = 128;
  CHECK_OK(tulle_session_new(model, &options, &session, &error));
  return session;
}

static void golden_tokens(const char* folder, int once) {
  golden facts;
  int line = 0;
  for (; read_golden(folder, line, &facts); ++line) {
    tulle_model* model = load_golden(&facts);
    tulle_session* session = open_session(model);
    check_greedy(session, &facts);
    if (!once) {
      CHECK(tulle_session_truncate(session, 0, NULL) == TULLE_OK);
      check_greedy(session, &facts);
    }
    CHECK(tulle_model_free(model) == TULLE_OK);
    if (!once) {
      CHECK(tulle_session_truncate(session, 0, NULL) == TULLE_OK);
      check_greedy(session, &facts); /* the session keeps its model */
    }
    CHECK(tulle_session_free(session) == TULLE_OK);
  }
  CHECK(line > 5);
}

static void text_and_tokens(const tulle_model* model) {
  const char* text = "the answer is \xE2\x82\xAC 42";
  int32_t tokens[64];
  char decoded[128];
  size_t count = 0, size = 0, asked = 0;
  CHECK_OK(tulle_encode(model, text, strlen(text), 0, NULL, 0, &asked, &error));
  CHECK_OK(tulle_encode(model, text, strlen(text), 0, tokens, 64, &count, &error));
  CHECK(count == asked && count > 3);
  CHECK(tulle_encode(model, text, strlen(text), 0, tokens, count - 1, &count, &error) == TULLE_BUFFER_TOO_SMALL);
  CHECK(count == asked);
  CHECK_OK(tulle_decode(model, tokens, count, 0, decoded, sizeof decoded, &size, &error));
  CHECK(size == strlen(text) && memcmp(decoded, text, size) == 0);
  /* Half of the euro sign is U+FFFD. */
  CHECK_OK(tulle_decode(model, tokens, count, 0, NULL, 0, &size, &error));
  CHECK_OK(tulle_encode(model, "", 0, 0, NULL, 0, &count, &error));
  CHECK(count == 0);
}

static void chat(const tulle_model* model) {
  const tulle_message messages[] = {
      {{"user", 4}, {"hello", 5}}, {{"assistant", 9}, {"hi", 2}}, {{"user", 4}, {"?", 1}}};
  char prompt[512];
  size_t size = 0, without = 0;
  CHECK_OK(
      tulle_chat_prompt(model, messages, 3, TULLE_ADD_GENERATION_PROMPT, prompt, sizeof prompt - 1, &size, &error));
  prompt[size] = '\0';
  CHECK(strstr(prompt, "hello") != NULL && strstr(prompt, "hi") != NULL);
  CHECK_OK(tulle_chat_prompt(model, messages, 3, 0, NULL, 0, &without, &error));
  CHECK(without < size);
}

/* Streams text with log probabilities and logits: they agree with each other. */
static void streamed_text(const tulle_model* model, const tulle_model_info* info) {
  tulle_session* session = open_session(model);
  tulle_token token = TULLE_TOKEN_INIT;
  tulle_generate_options options;
  float* logits = malloc(info->vocabulary * sizeof *logits);
  int32_t history[128];
  char text[1024] = "", decoded[1024];
  size_t size = 0, length = 0, at = 0, tokens = 0, prompt = 0;
  double fraction = 0;
  CHECK(logits != NULL && tulle_generate_options_init(&options, sizeof options) == TULLE_OK);
  options.max_new_tokens = 24;
  options.flags = TULLE_IGNORE_EOS | TULLE_LOG_PROBABILITIES | TULLE_KEEP_LOGITS | TULLE_SHOW_SPECIAL_TOKENS;
  CHECK(tulle_session_logits(session, logits, info->vocabulary, &size, &error) == TULLE_STATE);
  CHECK_OK(tulle_session_generate(session, "the answer", 10, &options, &error));
  CHECK_OK(tulle_session_history(session, NULL, 0, &prompt, &error));
  CHECK_OK(tulle_session_read_prompt(session, &fraction, &error));
  CHECK(fraction == 1 && tulle_session_read_prompt(session, &fraction, &error) == TULLE_END);
  while (tulle_session_next(session, &token, &error) == TULLE_OK) {
    double sum = 0;
    size_t best = 0, i;
    ++tokens;
    CHECK_OK(tulle_session_logits(session, logits, info->vocabulary, &size, &error));
    CHECK(size == info->vocabulary);
    for (i = 0; i < info->tokens; ++i) best = logits[i] > logits[best] ? i : best;
    CHECK((int32_t)best == token.id);
    for (i = 0; i < size; ++i) sum += exp((double)logits[i] - (double)logits[best]);
    CHECK(fabs(token.log_probability + log(sum)) < 1e-4);
    CHECK(at + token.text.size < sizeof text);
    memcpy(text + at, token.text.data, token.text.size);
    at += token.text.size;
  }
  CHECK(tokens == 24 && token.finish_reason == TULLE_FINISH_LENGTH);
  CHECK_OK(tulle_session_history(session, history, 128, &length, &error));
  CHECK(length == prompt + 24);
  CHECK_OK(tulle_decode(model, history + prompt, 24, 0, decoded, sizeof decoded, &size, &error));
  CHECK(size == at && memcmp(text, decoded, at) == 0);
  free(logits);
  CHECK(tulle_session_free(session) == TULLE_OK);
}

/* A pass may give tokens before they are read: logits and history are those of the token that was read last, and what
 * was not read is neither kept nor, after `cancels`, given. */
static void drafted_tokens(const tulle_model* model, const tulle_model_info* info, int cancels) {
  enum { prompt_tokens = 32, max_tokens = 60 };
  tulle_session* session = open_session(model);
  tulle_token token = TULLE_TOKEN_INIT;
  tulle_timings timings = {sizeof timings, 0, 0, 0, 0, 0, 0, 0};
  tulle_generate_options options;
  float* logits = malloc(info->vocabulary * sizeof *logits);
  int32_t prompt[prompt_tokens];
  size_t size = 0, read = 0, i;
  double fraction = 0;
  CHECK(logits != NULL && tulle_generate_options_init(&options, sizeof options) == TULLE_OK);
  for (i = 0; i < prompt_tokens; ++i) prompt[i] = (int32_t)(5 + i % 4);
  options.max_new_tokens = max_tokens;
  options.flags = TULLE_IGNORE_EOS | TULLE_KEEP_LOGITS;
  CHECK_OK(tulle_session_draft(session, "ngram", 5, 7, &error));
  CHECK_OK(tulle_session_generate_tokens(session, prompt, prompt_tokens, &options, &error));
  while (tulle_session_read_prompt(session, &fraction, &error) == TULLE_OK) continue;
  CHECK_OK(tulle_session_truncate(session, 128, &error)); /* ends the generation */
  CHECK_OK(tulle_session_history(session, NULL, 0, &size, &error));
  CHECK(size == prompt_tokens);
  CHECK_OK(tulle_session_generate_tokens(session, NULL, 0, &options, &error));
  /* Until two tokens wait. By what steps cost (in valgrind) drafts may not pay: then to the end. */
  while (timings.generated_tokens < read + 2 && tulle_session_next(session, &token, &error) == TULLE_OK) {
    size_t best = 0;
    ++read;
    CHECK_OK(tulle_session_logits(session, logits, info->vocabulary, &size, &error));
    for (i = 0; i < info->tokens; ++i) best = logits[i] > logits[best] ? i : best;
    CHECK((int32_t)best == token.id);
    CHECK_OK(tulle_session_timings(session, &timings, &error));
    CHECK_OK(tulle_session_history(session, NULL, 0, &size, &error));
    CHECK(size == prompt_tokens + read);
  }
  CHECK(read > 0);
  if (cancels && timings.generated_tokens > read) {
    CHECK(tulle_session_cancel(session) == TULLE_OK);
    CHECK_OK(tulle_session_next(session, &token, &error));
    CHECK(token.id == -1 && token.text.size == 0 && token.finish_reason == TULLE_FINISH_CANCELLED);
    CHECK(tulle_session_next(session, &token, &error) == TULLE_END);
  } else {
    CHECK_OK(tulle_session_truncate(session, 128, &error));
  }
  CHECK_OK(tulle_session_history(session, NULL, 0, &size, &error));
  CHECK(size == prompt_tokens + read);
  free(logits);
  CHECK(tulle_session_free(session) == TULLE_OK);
}

/* The text, terminated by 0, that a session generates; whether it ended by itself. */
static int complete(tulle_session* session, char text[256]) {
  tulle_token token = TULLE_TOKEN_INIT;
  size_t size = 0;
  CHECK_OK(tulle_session_truncate(session, 0, &error));
  CHECK_OK(tulle_session_generate(session, "the answer", 10, NULL, &error));
  while (tulle_session_next(session, &token, &error) == TULLE_OK) {
    CHECK(size + token.text.size < 256);
    if (token.text.size != 0) memcpy(text + size, token.text.data, token.text.size);
    size += token.text.size;
  }
  text[size] = '\0';
  return token.finish_reason == TULLE_FINISH_STOP;
}

/* Texts that must be something are that, and end. */
static void structured_output(const tulle_model* model) {
  static const char schema[] =
      "{\"type\": \"object\", \"properties\": {\"b\": {\"enum\": [1, 2]}, \"a\": {\"type\": \"boolean\"}}}";
  tulle_session *session = open_session(model), *copy = NULL;
  char text[256], other[256];
  const int32_t status = tulle_session_constrain(session, TULLE_REGEX, "[0-9]{3}", 8, &error);
  if (status == TULLE_UNSUPPORTED) { /* a library without grammars */
    CHECK(tulle_session_free(session) == TULLE_OK);
    return;
  }
  CHECK(status == TULLE_OK && complete(session, text) && strlen(text) == 3 && strspn(text, "0123456789") == 3);
  CHECK_OK(tulle_session_fork(session, &copy, &error));
  CHECK(complete(copy, other) && strcmp(text, other) == 0);
  CHECK_OK(tulle_session_draft(session, "self:i8", 7, 2, &error));
  CHECK(complete(session, other) && strcmp(text, other) == 0);
  CHECK(tulle_session_constrain(session, TULLE_GRAMMAR, "root ::=", 8, &error) == TULLE_INVALID_ARGUMENT);
  CHECK(complete(session, other) && strcmp(text, other) == 0); /* what failed changed nothing */
  CHECK_OK(tulle_session_constrain(session, TULLE_GRAMMAR, "root ::= \"yes\" | \"no\"", 21, &error));
  CHECK(complete(session, text) && (strcmp(text, "yes") == 0 || strcmp(text, "no") == 0));
  CHECK_OK(tulle_session_constrain(session, TULLE_JSON_SCHEMA, schema, strlen(schema), &error));
  CHECK(complete(session, text) && text[0] == '{' && strchr(text, ' ') == NULL && text[strlen(text) - 1] == '}');
  CHECK_OK(tulle_session_constrain(session, TULLE_UNCONSTRAINED, NULL, 0, &error));
  (void)complete(session, other);
  CHECK(strcmp(text, other) != 0);
  CHECK(tulle_session_free(session) == TULLE_OK && tulle_session_free(copy) == TULLE_OK);
}

/* Reads a generation to its end. */
static size_t collect(tulle_session* session, size_t most, int32_t* ids) {
  tulle_token token = TULLE_TOKEN_INIT;
  tulle_generate_options options;
  size_t count = 0;
  CHECK(tulle_generate_options_init(&options, sizeof options) == TULLE_OK);
  options.max_new_tokens = most;
  options.flags = TULLE_IGNORE_EOS;
  options.sampler.data = "hugging_face";
  options.sampler.size = 12;
  options.seed = 5;
  CHECK_OK(tulle_session_generate_tokens(session, NULL, 0, &options, &error));
  while (tulle_session_next(session, &token, &error) == TULLE_OK) ids[count++] = token.id;
  CHECK(count == most);
  return count;
}

static void copies(const tulle_model* model) {
  tulle_session *session = open_session(model), *copy = NULL, *restored = open_session(model);
  tulle_generate_options options;
  tulle_token token = TULLE_TOKEN_INIT;
  int32_t first[20], second[20];
  size_t size = 0, written = 0;
  char* saved;
  CHECK(tulle_generate_options_init(&options, sizeof options) == TULLE_OK);
  CHECK_OK(tulle_session_generate(session, "once upon a time", 16, &options, &error));
  CHECK_OK(tulle_session_next(session, &token, &error)); /* left early */
  CHECK_OK(tulle_session_fork(session, &copy, &error));
  CHECK_OK(tulle_session_save(session, NULL, 0, &size, &error));
  saved = malloc(size);
  CHECK(saved != NULL && tulle_session_save(session, saved, size - 1, &written, &error) == TULLE_BUFFER_TOO_SMALL);
  CHECK_OK(tulle_session_save(session, saved, size, &written, &error));
  CHECK_OK(tulle_session_restore(restored, saved, size, &error));
  collect(session, 20, first);
  collect(copy, 20, second);
  CHECK(memcmp(first, second, sizeof first) == 0);
  collect(restored, 20, second);
  CHECK(memcmp(first, second, sizeof first) == 0);
  /* Rolled back, the same text is drawn again. */
  CHECK_OK(tulle_session_history(session, NULL, 0, &size, &error));
  CHECK_OK(tulle_session_truncate(session, size - 20, &error));
  collect(session, 20, second);
  CHECK(memcmp(first, second, sizeof first) == 0);
  CHECK(tulle_session_restore(restored, saved, 11, &error) == TULLE_MALFORMED);
  CHECK_OK(tulle_session_history(restored, NULL, 0, &size, &error));
  CHECK(size == 0);
  free(saved);
  CHECK(tulle_session_free(session) == TULLE_OK && tulle_session_free(copy) == TULLE_OK);
  CHECK(tulle_session_free(restored) == TULLE_OK);
}

/* The text of 20 tokens of a new session. */
static void draw(const tulle_model* model, const char* sampler, float temperature, int32_t* ids) {
  tulle_session* session = open_session(model);
  tulle_token token = TULLE_TOKEN_INIT;
  tulle_generate_options options;
  size_t count = 0;
  CHECK(tulle_generate_options_init(&options, sizeof options) == TULLE_OK);
  options.max_new_tokens = 20;
  options.flags = TULLE_IGNORE_EOS;
  options.sampler.data = sampler;
  options.sampler.size = strlen(sampler);
  options.temperature = temperature;
  options.seed = 5;
  CHECK_OK(tulle_session_generate(session, "once upon a time", 16, &options, &error));
  while (tulle_session_next(session, &token, &error) == TULLE_OK) ids[count++] = token.id;
  CHECK(count == 20 && tulle_session_free(session) == TULLE_OK);
}

/* Who gives a temperature wants tokens to be drawn. */
static void default_samplers(const tulle_model* model) {
  int32_t drawn[20], greedy[20], ids[20];
  draw(model, "hugging_face", 1.5f, drawn);
  draw(model, "greedy", 1.5f, greedy);
  CHECK(memcmp(drawn, greedy, sizeof drawn) != 0);
  draw(model, "", 1.5f, ids);
  CHECK(memcmp(ids, drawn, sizeof ids) == 0);
  draw(model, "", 1, ids);
  CHECK(memcmp(ids, greedy, sizeof ids) == 0);
  draw(model, "", 0, ids);
  CHECK(memcmp(ids, greedy, sizeof ids) == 0);
}

enum { interleaved_tokens = 24, max_vocabulary = 1024 };

/* The tokens and logits of one generation, as they come. */
typedef struct transcript {
  int32_t ids[interleaved_tokens];
  float logits[interleaved_tokens][max_vocabulary];
  size_t count;
  int32_t finish_reason;
} transcript;

static void start(tulle_session* session, const char* prompt) {
  tulle_generate_options options;
  CHECK(tulle_generate_options_init(&options, sizeof options) == TULLE_OK);
  options.max_new_tokens = interleaved_tokens;
  options.flags = TULLE_IGNORE_EOS | TULLE_KEEP_LOGITS;
  options.sampler.data = "hugging_face";
  options.sampler.size = 12;
  options.seed = 7;
  CHECK_OK(tulle_session_generate(session, prompt, strlen(prompt), &options, &error));
}

/* Reads one token; 0 at the end. */
static int read_one(tulle_session* session, transcript* read) {
  tulle_token token = TULLE_TOKEN_INIT;
  size_t size = 0;
  if (tulle_session_next(session, &token, &error) != TULLE_OK) return 0;
  read->finish_reason = token.finish_reason;
  if (token.id < 0) return 1;
  CHECK(read->count < interleaved_tokens);
  read->ids[read->count] = token.id;
  CHECK_OK(tulle_session_logits(session, read->logits[read->count], max_vocabulary, &size, &error));
  ++read->count;
  return 1;
}

/* Sessions that are read token by token beside each other, one cancelled in the middle: each gives the bits that it
 * gives alone. */
static void interleaved(const tulle_model* model) {
  static const char* const prompts[] = {"the answer", "once upon a time"};
  transcript *alone = calloc(2, sizeof *alone), *beside = calloc(2, sizeof *beside);
  tulle_session* sessions[2];
  int i, round;
  CHECK(alone != NULL && beside != NULL);
  for (i = 0; i < 2; ++i) {
    tulle_session* session = open_session(model);
    start(session, prompts[i]);
    while (read_one(session, &alone[i])) continue;
    CHECK(alone[i].count == interleaved_tokens);
    CHECK(tulle_session_free(session) == TULLE_OK);
    sessions[i] = open_session(model);
    start(sessions[i], prompts[i]);
  }
  for (round = 0; round < interleaved_tokens; ++round) {
    if (round == 9) CHECK(tulle_session_cancel(sessions[1]) == TULLE_OK);
    for (i = 0; i < 2; ++i) (void)read_one(sessions[i], &beside[i]);
  }
  CHECK(beside[0].count == interleaved_tokens && beside[0].finish_reason == TULLE_FINISH_LENGTH);
  CHECK(beside[1].count == 9 && beside[1].finish_reason == TULLE_FINISH_CANCELLED);
  for (i = 0; i < 2; ++i) {
    CHECK(memcmp(beside[i].ids, alone[i].ids, beside[i].count * sizeof(int32_t)) == 0);
    CHECK(memcmp(beside[i].logits, alone[i].logits, beside[i].count * sizeof *beside[i].logits) == 0);
    CHECK(tulle_session_free(sessions[i]) == TULLE_OK);
  }
  free(alone);
  free(beside);
}

typedef struct memory_file {
  const char* bytes;
  size_t size;
  int fails;
} memory_file;

static int32_t read_memory(void* context, uint64_t offset, void* buffer, size_t size) {
  const memory_file* file = context;
  if (file->fails || offset + size > file->size) return 7;
  memcpy(buffer, file->bytes + offset, size);
  return 0;
}

static tulle_file lend(memory_file* file, const char* name) {
  tulle_file lent = {sizeof lent, 0, {NULL, 0}, 0, read_memory, NULL};
  lent.name.data = name;
  lent.name.size = strlen(name);
  lent.size = file->size;
  lent.context = file;
  return lent;
}

/* The golden models from files of the caller: read in parts, they give the tokens of the mapped ones. */
static void lent_models(const char* folder) {
  static const char* const names[] = {"config.json",
                                      "generation_config.json",
                                      "model.safetensors",
                                      "model.safetensors.index.json",
                                      "model-00001-of-00002.safetensors",
                                      "model-00002-of-00002.safetensors",
                                      "q8_0-00001-of-00003.gguf",
                                      "q8_0-00002-of-00003.gguf",
                                      "q8_0-00003-of-00003.gguf"};
  enum { most = sizeof names / sizeof *names };
  golden facts;
  int line = 0;
  for (; read_golden(folder, line, &facts); ++line) {
    memory_file memory[most];
    tulle_file files[most];
    tulle_load_options options;
    tulle_model *model = NULL, *none;
    tulle_session* session;
    size_t count = 0, i;
    const char* dot = strrchr(facts.path, '.');
    for (i = 0; i < most && (dot == NULL || strcmp(dot, ".gguf") != 0); ++i) {
      char path[4200];
      FILE* file;
      CHECK(snprintf(path, sizeof path, "%s/%s", facts.path, names[i]) < (int)sizeof path);
      if ((file = fopen(path, "rb")) == NULL) continue;
      fclose(file);
      memory[count].bytes = read_file(path, &memory[count].size);
      memory[count].fails = 0;
      files[count] = lend(&memory[count], names[i]);
      ++count;
    }
    if (count == 0) {
      memory[0].bytes = read_file(facts.path, &memory[0].size);
      memory[0].fails = 0;
      files[0] = lend(&memory[0], "any name");
      count = 1;
    }
    CHECK(tulle_load_options_init(&options, sizeof options) == TULLE_OK);
    options.assembly.data = facts.assembly;
    options.assembly.size = strlen(facts.assembly);
    CHECK_OK(tulle_model_load_files(files, count, &options, &model, &error));
    session = open_session(model);
    check_greedy(session, &facts);
    CHECK(tulle_session_free(session) == TULLE_OK && tulle_model_free(model) == TULLE_OK);
    none = model;
    memory[count - 1].fails = 1;
    CHECK(tulle_model_load_files(files, count, &options, &none, &error) == TULLE_IO && none == NULL);
    for (i = 0; i < count; ++i) free((char*)memory[i].bytes);
  }
  CHECK(line > 5);
}

static int32_t stop_half_way(void* context, const char* what, size_t what_size, double fraction) {
  int* calls = context;
  ++*calls;
  return what_size > 0 && what[0] != '\0' && fraction > 0.4;
}

static void ways_to_load(const golden* facts) {
  size_t size = 0;
  char* bytes = read_file(facts->path, &size);
  memory_file file;
  tulle_model *from_memory = NULL, *from_reader = NULL, *none;
  tulle_load_options options;
  int calls = 0;
  file.bytes = bytes;
  file.size = size;
  file.fails = 0;
  CHECK_OK(tulle_model_load_memory(bytes, size, NULL, &from_memory, &error));
  CHECK_OK(tulle_model_load_reader(read_memory, &file, size, NULL, &from_reader, &error));
  file.fails = 1;
  none = from_memory;
  CHECK(tulle_model_load_reader(read_memory, &file, size, NULL, &none, &error) == TULLE_IO && none == NULL);
  CHECK(tulle_load_options_init(&options, sizeof options) == TULLE_OK);
  options.progress = stop_half_way;
  options.progress_context = &calls;
  CHECK(tulle_model_load(facts->path, strlen(facts->path), &options, &none, &error) == TULLE_CANCELLED);
  CHECK(calls > 0);
  CHECK(tulle_load_options_init(&options, sizeof options) == TULLE_OK);
  options.packed_cache.data = "on"; /* of a file alone */
  options.packed_cache.size = 2;
  CHECK(tulle_model_load_memory(bytes, size, &options, &none, &error) == TULLE_INVALID_ARGUMENT && none == NULL);
  memset(bytes, 0, size); /* not needed after the call */
  free(bytes);
  {
    tulle_session *a = open_session(from_memory), *b = open_session(from_reader);
    tulle_model_info info = {sizeof info, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    CHECK_OK(tulle_model_describe(from_memory, &info, &error));
    CHECK(info.flags == (TULLE_HAS_TOKENIZER | TULLE_HAS_CHAT_TEMPLATE));
    check_greedy(a, facts);
    check_greedy(b, facts);
    CHECK(tulle_session_free(a) == TULLE_OK && tulle_session_free(b) == TULLE_OK);
  }
  CHECK(tulle_model_free(from_memory) == TULLE_OK && tulle_model_free(from_reader) == TULLE_OK);
}

static void pack_again(const golden* facts, const char* where, uint32_t flags, int32_t wanted) {
  tulle_load_options options;
  tulle_model* model = NULL;
  CHECK(tulle_load_options_init(&options, sizeof options) == TULLE_OK);
  options.flags = flags;
  options.packed_cache.data = where;
  options.packed_cache.size = strlen(where);
  CHECK(tulle_model_load(facts->path, strlen(facts->path), &options, &model, &error) == wanted);
  if (wanted == TULLE_OK) {
    tulle_session* session = open_session(model);
    check_greedy(session, facts);
    CHECK(tulle_session_free(session) == TULLE_OK && tulle_model_free(model) == TULLE_OK);
  }
}

/* In the user's cache folder, which is a folder of the test's own. */
static void packed_weights(const golden* facts) {
  char folder[] = "/tmp/tulle-packed-XXXXXX", command[200];
  CHECK(mkdtemp(folder) != NULL && setenv("XDG_CACHE_HOME", folder, 1) == 0);
  CHECK(snprintf(command, sizeof command, "ls %s/tulle/packed/*.packed >/dev/null 2>&1", folder) > 0);
  pack_again(facts, "off", 0, TULLE_OK);
  pack_again(facts, "auto", 0, TULLE_OK); /* a small one */
  CHECK(system(command) != 0);
  pack_again(facts, "on", 0, TULLE_OK);
  CHECK(system(command) == 0);
  pack_again(facts, "on", TULLE_VERIFY_PACKED, TULLE_OK);
  pack_again(facts, facts->path, 0, TULLE_MALFORMED); /* no file of packed weights */
  CHECK(snprintf(command, sizeof command, "rm -r %s", folder) > 0 && system(command) == 0);
}

static void choices(void) {
  static const struct {
    int32_t kind;
    const char* has;
  } wanted[] = {{TULLE_KERNELS, "auto"},
                {TULLE_CACHES, "paged_i8"},
                {TULLE_SAMPLERS, "greedy"},
                {TULLE_INSTRUCTION_SETS, "scalar"}};
  size_t i;
  for (i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
    tulle_choice choice = {sizeof choice, 0, {NULL, 0}};
    uint32_t index = 0, found = 0;
    for (; tulle_choice_at(wanted[i].kind, index, &choice, &error) == TULLE_OK; ++index) {
      if (choice.name.size == strlen(wanted[i].has) && memcmp(choice.name.data, wanted[i].has, choice.name.size) == 0) {
        found = choice.runs;
      }
    }
    CHECK(found == 1 && index >= 3);
  }
}

int main(int count, char** arguments) {
  golden facts;
  tulle_model* model;
  tulle_model_info info = {sizeof info, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  tulle_timings timings = {sizeof timings, 0, 0, 0, 0, 0, 0, 0};
  tulle_session* session;
  int line = 0;
  CHECK((count == 2 || count == 3) && tulle_abi_version() == TULLE_ABI_VERSION && strlen(tulle_version()) > 4);
  golden_tokens(arguments[1], count == 3);
  do CHECK(read_golden(arguments[1], line++, &facts));
  while (strstr(facts.path, "f32.gguf") == NULL);
  model = load_golden(&facts);
  CHECK_OK(tulle_model_describe(model, &info, &error));
  CHECK(info.flags == (TULLE_HAS_TOKENIZER | TULLE_HAS_CHAT_TEMPLATE) && info.vocabulary == 288 && info.eos == 2);
  text_and_tokens(model);
  chat(model);
  streamed_text(model, &info);
  drafted_tokens(model, &info, 0);
  drafted_tokens(model, &info, 1);
  copies(model);
  default_samplers(model);
  structured_output(model);
  interleaved(model);
  session = open_session(model);
  check_greedy(session, &facts);
  CHECK_OK(tulle_session_timings(session, &timings, &error));
  CHECK(timings.generated_tokens == facts.greedy_size && timings.decode_seconds > 0 && timings.draft_tokens == 0);
  CHECK_OK(tulle_session_truncate(session, 0, &error));
  CHECK_OK(tulle_session_draft(session, "self:i8", 7, 4, &error));
  check_greedy(session, &facts); /* drafts change no text */
  CHECK_OK(tulle_session_timings(session, &timings, &error));
  CHECK(timings.draft_tokens > 0 && timings.accepted_draft_tokens <= timings.draft_tokens);
  CHECK(tulle_session_free(session) == TULLE_OK && tulle_model_free(model) == TULLE_OK);
  ways_to_load(&facts);
  packed_weights(&facts);
  if (count == 2 || strcmp(arguments[2], "few") != 0) lent_models(arguments[1]);
  choices();
  CHECK(tulle_live_handles() == 0);
  return 0;
}
