// SPDX-License-Identifier: Apache-2.0

package capi

/*
#include "tulle_experimental.h"
*/
import "C"

// The header's own values.
const (
	HeaderAbiVersion = C.TULLE_ABI_VERSION

	InvalidArgument = C.TULLE_INVALID_ARGUMENT
	State           = C.TULLE_STATE
	InvalidHandle   = C.TULLE_INVALID_HANDLE
	Busy            = C.TULLE_BUSY
	IO              = C.TULLE_IO
	Malformed       = C.TULLE_MALFORMED
	Unsupported     = C.TULLE_UNSUPPORTED
	NotFound        = C.TULLE_NOT_FOUND
	Capacity        = C.TULLE_CAPACITY
	OutOfMemory     = C.TULLE_OUT_OF_MEMORY
	Cancelled       = C.TULLE_CANCELLED
	Internal        = C.TULLE_INTERNAL

	Kernels         = C.TULLE_KERNELS
	Caches          = C.TULLE_CACHES
	Samplers        = C.TULLE_SAMPLERS
	InstructionSets = C.TULLE_INSTRUCTION_SETS

	VerifyPacked = C.TULLE_VERIFY_PACKED

	HasTokenizer    = C.TULLE_HAS_TOKENIZER
	HasChatTemplate = C.TULLE_HAS_CHAT_TEMPLATE

	AddSpecialTokens    = C.TULLE_ADD_SPECIAL_TOKENS
	SkipSpecialTokens   = C.TULLE_SKIP_SPECIAL_TOKENS
	AddGenerationPrompt = C.TULLE_ADD_GENERATION_PROMPT

	IgnoreEos         = C.TULLE_IGNORE_EOS
	NoSpecialTokens   = C.TULLE_NO_SPECIAL_TOKENS
	ShowSpecialTokens = C.TULLE_SHOW_SPECIAL_TOKENS
	LogProbabilities  = C.TULLE_LOG_PROBABILITIES
	KeepLogits        = C.TULLE_KEEP_LOGITS

	JSONObject = C.TULLE_JSON_OBJECT
	JSONSchema = C.TULLE_JSON_SCHEMA
	Grammar    = C.TULLE_GRAMMAR
	Regex      = C.TULLE_REGEX

	FinishNone      = C.TULLE_FINISH_NONE
	FinishStop      = C.TULLE_FINISH_STOP
	FinishLength    = C.TULLE_FINISH_LENGTH
	FinishCapacity  = C.TULLE_FINISH_CAPACITY
	FinishCancelled = C.TULLE_FINISH_CANCELLED
)
