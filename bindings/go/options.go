// SPDX-License-Identifier: Apache-2.0

package tulle

import "tulle/internal/capi"

// Options of one generation: the zero value is all defaults, greedy and 100 tokens.
type Options struct {
	MaxNewTokens int  // 0: 100
	PrefillOnly  bool // only put the text into the cache

	// "greedy", or "hugging_face" or "llama_cpp" to draw. "": that of the model's assembly, else "hugging_face" where
	// Temperature, TopK, TopP, MinP or TypicalP is not its default.
	Sampler           string
	Seed              uint64  // the same seed draws the same text
	Temperature       float32 // 0: the default, 1; Sampler "greedy" for greedy
	TopK              int     // 0: off
	TopP              float32 // 0: the default, 1, which is off
	MinP              float32 // 0: off
	TypicalP          float32 // 0: the default, 1, which is off
	RepetitionPenalty float32 // 0: the default, 1, which is off
	PresencePenalty   float32 // 0: off
	FrequencyPenalty  float32 // 0: off
	NoRepeatNgram     int     // 0: off
	MinNewTokens      int     // no eos before this number

	Eos  []int32  // ids that end the text, in place of the model's own
	Stop []string // the text ends before the first of these

	IgnoreEos         bool // end at MaxNewTokens, not at an eos token
	NoSpecialTokens   bool // add no special tokens around the first text
	ShowSpecialTokens bool // special tokens have text too
	LogProbabilities  bool // of every token, under the raw logits
	KeepLogits        bool // for Session.Logits

	PromptProgress func(fraction float64) // called after each pass over a long prompt

	// Structured output, one of them: the text is what it says and ends where it is complete.
	JSONSchema string // JSON that this schema accepts: compact, with the properties in the schema's order
	JSONObject bool   // a JSON object
	Grammar    string // a text of an EBNF grammar: root ::= "yes" | "no"
	Regex      string // a text that the expression matches as a whole
}

// constraint is the kind and the text of the C ABI.
func (o Options) constraint() (kind int32, text string, err error) {
	count := 0
	for _, each := range []struct {
		given bool
		kind  int32
		text  string
	}{{o.JSONSchema != "", capi.JSONSchema, o.JSONSchema}, {o.JSONObject, capi.JSONObject, ""},
		{o.Grammar != "", capi.Grammar, o.Grammar}, {o.Regex != "", capi.Regex, o.Regex}} {
		if each.given {
			kind, text = each.kind, each.text
			count++
		}
	}
	for _, each := range []struct {
		name  string
		value int
	}{{"TopK", o.TopK}, {"NoRepeatNgram", o.NoRepeatNgram}, {"MinNewTokens", o.MinNewTokens}} {
		if each.value != int(int32(each.value)) {
			err = invalid("%s is %d, which is too large", each.name, each.value)
		}
	}
	if o.MaxNewTokens < 0 {
		err = invalid("MaxNewTokens is %d; give a number from 0 (the default) on", o.MaxNewTokens)
	}
	if count > 1 {
		err = invalid("give one of JSONSchema, JSONObject, Grammar and Regex")
	}
	return kind, text, err
}

func (o Options) raw() capi.GenerateOptions {
	raw := capi.GenerateOptions{
		Flags: flag(o.IgnoreEos, capi.IgnoreEos) | flag(o.NoSpecialTokens, capi.NoSpecialTokens) |
			flag(o.ShowSpecialTokens, capi.ShowSpecialTokens) | flag(o.LogProbabilities, capi.LogProbabilities) |
			flag(o.KeepLogits, capi.KeepLogits),
		Sampler: o.Sampler, Seed: o.Seed, Temperature: o.Temperature, TopP: o.TopP, MinP: o.MinP, TypicalP: o.TypicalP,
		RepetitionPenalty: o.RepetitionPenalty, PresencePenalty: o.PresencePenalty, FrequencyPenalty: o.FrequencyPenalty,
		TopK: int32(o.TopK), NoRepeatNgram: int32(o.NoRepeatNgram), MinNewTokens: int32(o.MinNewTokens),
		Eos: o.Eos, Stop: o.Stop,
	}
	if o.MaxNewTokens > 0 || o.PrefillOnly {
		count := uint64(o.MaxNewTokens)
		if o.PrefillOnly {
			count = 0
		}
		raw.MaxNewTokens = &count
	}
	return raw
}

// FinishReason is the reason why a generation ended.
type FinishReason int32

const (
	FinishNone      = FinishReason(capi.FinishNone)      // it has not
	FinishStop      = FinishReason(capi.FinishStop)      // an eos token or a stop string
	FinishLength    = FinishReason(capi.FinishLength)    // MaxNewTokens
	FinishCapacity  = FinishReason(capi.FinishCapacity)  // the session is full
	FinishCancelled = FinishReason(capi.FinishCancelled) // the session was closed
)

// Token is one generated token.
type Token struct {
	ID             int32   // -1 when the generation ended without one
	Bytes          []byte  // of the token; possibly a part of a character
	Text           string  // whole characters; may be empty. All texts put together are the text
	LogProbability float32 // 0 unless asked for
	FinishReason   FinishReason
}
