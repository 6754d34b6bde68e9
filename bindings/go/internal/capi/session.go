// SPDX-License-Identifier: Apache-2.0

package capi

/*
#include "tulle_experimental.h"
*/
import "C"

import "unsafe"

// SessionOptions: 0 and empty values keep the library's defaults.
type SessionOptions struct {
	Cache                                               string
	Threads                                             uint32
	SequenceLength, PromptSequenceLength, Window, Sinks uint64
}

func (m Model) NewSession(options SessionOptions) (Session, *Failure) {
	var memory arena
	defer memory.free()
	var raw C.tulle_session_options
	C.tulle_session_options_init(&raw, C.sizeof_tulle_session_options)
	raw.threads = C.uint32_t(options.Threads)
	raw.cache = memory.text(options.Cache)
	raw.sequence_length = C.uint64_t(options.SequenceLength)
	raw.window = C.uint64_t(options.Window)
	if options.PromptSequenceLength != 0 {
		raw.prompt_sequence_length = C.uint64_t(options.PromptSequenceLength)
	}
	if options.Sinks != 0 {
		raw.sinks = C.uint64_t(options.Sinks)
	}
	failure := newError()
	var session *C.tulle_session
	err := check(C.tulle_session_new(m.handle, &raw, &session, &failure), &failure)
	return Session{session}, err
}

func (s Session) Free()   { C.tulle_session_free(s.handle) }
func (s Session) Cancel() { C.tulle_session_cancel(s.handle) }

// GenerateOptions: 0 and empty values keep the library's defaults.
type GenerateOptions struct {
	Flags                                                uint32
	Sampler                                              string
	MaxNewTokens                                         *uint64
	Seed                                                 uint64
	Temperature, TopP, MinP, TypicalP                    float32
	RepetitionPenalty, PresencePenalty, FrequencyPenalty float32
	TopK, NoRepeatNgram, MinNewTokens                    int32
	Eos                                                  []int32
	Stop                                                 []string
}

func (o GenerateOptions) raw(memory *arena) C.tulle_generate_options {
	var raw C.tulle_generate_options
	C.tulle_generate_options_init(&raw, C.sizeof_tulle_generate_options)
	raw.flags = C.uint32_t(o.Flags)
	raw.sampler = memory.text(o.Sampler)
	raw.seed = C.uint64_t(o.Seed)
	if o.MaxNewTokens != nil {
		raw.max_new_tokens = C.uint64_t(*o.MaxNewTokens)
	}
	for _, each := range []struct {
		value float32
		field *C.float
	}{{o.Temperature, &raw.temperature}, {o.TopP, &raw.top_p}, {o.MinP, &raw.min_p}, {o.TypicalP, &raw.typical_p},
		{o.RepetitionPenalty, &raw.repetition_penalty}, {o.PresencePenalty, &raw.presence_penalty},
		{o.FrequencyPenalty, &raw.frequency_penalty}} {
		if each.value != 0 {
			*each.field = C.float(each.value)
		}
	}
	raw.top_k, raw.no_repeat_ngram = C.int32_t(o.TopK), C.int32_t(o.NoRepeatNgram)
	raw.min_new_tokens = C.int32_t(o.MinNewTokens)
	raw.eos, raw.eos_count = memory.tokens(o.Eos), C.size_t(len(o.Eos))
	raw.stop, raw.stop_count = memory.texts(o.Stop), C.size_t(len(o.Stop))
	return raw
}

func (s Session) Generate(prompt string, options GenerateOptions) *Failure {
	var memory arena
	defer memory.free()
	raw := options.raw(&memory)
	failure := newError()
	data, size := text(prompt)
	return check(C.tulle_session_generate(s.handle, data, size, &raw, &failure), &failure)
}

func (s Session) GenerateTokens(tokens []int32, options GenerateOptions) *Failure {
	var memory arena
	defer memory.free()
	raw := options.raw(&memory)
	failure := newError()
	data, count := array[int32, C.int32_t](tokens)
	return check(C.tulle_session_generate_tokens(s.handle, data, count, &raw, &failure), &failure)
}

// Token is one generated token; ID is -1 when the generation ended without one.
type Token struct {
	ID             int32
	Bytes          []byte
	Text           string
	LogProbability float32
	FinishReason   int32
}

// Next returns the next token; false at the end.
func (s Session) Next() (Token, bool, *Failure) {
	var raw C.tulle_token
	raw.struct_size = C.sizeof_tulle_token
	failure := newError()
	status := C.tulle_session_next(s.handle, &raw, &failure)
	if status == C.TULLE_END {
		return Token{}, false, nil
	}
	if err := check(status, &failure); err != nil {
		return Token{}, false, err
	}
	return Token{int32(raw.id), C.GoBytes(unsafe.Pointer(raw.bytes.data), C.int(raw.bytes.size)),
		C.GoStringN(raw.text.data, C.int(raw.text.size)), float32(raw.log_probability), int32(raw.finish_reason)}, true, nil
}

// ReadPrompt makes one pass over the prompt and returns how much of it has been read; false where all of it has.
func (s Session) ReadPrompt() (float64, bool, *Failure) {
	var fraction C.double
	failure := newError()
	status := C.tulle_session_read_prompt(s.handle, &fraction, &failure)
	if status == C.TULLE_END {
		return 1, false, nil
	}
	return float64(fraction), true, check(status, &failure)
}

func (s Session) Logits() ([]float32, *Failure) {
	return sized[float32](func(buffer unsafe.Pointer, room C.size_t, size *C.size_t, failure *C.tulle_error) C.int32_t {
		return C.tulle_session_logits(s.handle, (*C.float)(buffer), room, size, failure)
	})
}

func (s Session) History() ([]int32, *Failure) {
	return sized[int32](func(buffer unsafe.Pointer, room C.size_t, size *C.size_t, failure *C.tulle_error) C.int32_t {
		return C.tulle_session_history(s.handle, (*C.int32_t)(buffer), room, size, failure)
	})
}

func (s Session) Truncate(length int) *Failure {
	failure := newError()
	return check(C.tulle_session_truncate(s.handle, C.size_t(length), &failure), &failure)
}

func (s Session) Draft(drafter string, maxTokens uint32) *Failure {
	failure := newError()
	data, size := text(drafter)
	return check(C.tulle_session_draft(s.handle, data, size, C.uint32_t(maxTokens), &failure), &failure)
}

func (s Session) Constrain(kind int32, rules string) *Failure {
	failure := newError()
	data, size := text(rules)
	return check(C.tulle_session_constrain(s.handle, C.int32_t(kind), data, size, &failure), &failure)
}

func (s Session) Fork() (Session, *Failure) {
	failure := newError()
	var forked *C.tulle_session
	err := check(C.tulle_session_fork(s.handle, &forked, &failure), &failure)
	return Session{forked}, err
}

func (s Session) Save() ([]byte, *Failure) {
	return sized[byte](func(buffer unsafe.Pointer, room C.size_t, size *C.size_t, failure *C.tulle_error) C.int32_t {
		return C.tulle_session_save(s.handle, buffer, room, size, failure)
	})
}

func (s Session) Restore(saved []byte) *Failure {
	failure := newError()
	data, size := array[byte, byte](saved)
	return check(C.tulle_session_restore(s.handle, unsafe.Pointer(data), size, &failure), &failure)
}

// Timings: tokens that were read and generated, and the seconds of both; drafted tokens, and those that were accepted.
type Timings struct {
	PromptTokens, GeneratedTokens    int
	PrefillSeconds, DecodeSeconds    float64
	DraftTokens, AcceptedDraftTokens int
}

func (s Session) Timings() (Timings, *Failure) {
	var raw C.tulle_timings
	raw.struct_size = C.sizeof_tulle_timings
	failure := newError()
	err := check(C.tulle_session_timings(s.handle, &raw, &failure), &failure)
	return Timings{int(raw.prompt_tokens), int(raw.generated_tokens), float64(raw.prefill_seconds),
		float64(raw.decode_seconds), int(raw.draft_tokens), int(raw.accepted_draft_tokens)}, err
}
