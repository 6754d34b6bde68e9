// SPDX-License-Identifier: Apache-2.0

// Package tulle generates text with sparse, quantized language models.
//
// A Model is immutable and safe for concurrent use; a Session is one growing text, for one goroutine at a time.
package tulle

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"tulle/internal/capi"
)

// LoadOptions: the zero value is all defaults.
type LoadOptions struct {
	Assembly string                              // KERNEL[/CACHE[/SAMPLER]] such as "auto/paged_i8"
	Progress func(what string, fraction float64) // called with the work and the fraction that is done
	Adapters []Adapter                           // merged into the weights; for Load

	// Where packed weights are kept, so that the next start is quick; for Load. "" or "off": nowhere. "on": in a file of
	// the user's cache folder. "auto": the same for models of 200 MB and more. Else a file that tulle pack made.
	PackedCache  string
	VerifyPacked bool // hash all that was kept before it is used
}

func (o LoadOptions) raw() capi.LoadOptions {
	return capi.LoadOptions{Assembly: o.Assembly, PackedCache: o.PackedCache,
		Flags: flag(o.VerifyPacked, capi.VerifyPacked)}
}

// Adapter is a LoRA adapter: a directory that PEFT saved, and what its own scale is multiplied by (1: as trained).
type Adapter struct {
	Path  string
	Scale float32
}

// Model is a loaded model with its tokenizer and chat template.
type Model struct{ handle capi.Model }

// ModelInfo describes a model.
type ModelInfo struct {
	WeightBytes     uint64 // of all matrices, as they are packed in memory
	Vocabulary      int    // logits of a position; input ids are below it
	Tokens          int    // of the tokenizer; generated ids are below it; 0 without a tokenizer
	ContextLength   int    // positions the model was trained for
	Layers, Hidden  int
	Bos, Eos        int32 // -1 where there is none
	HasChatTemplate bool
}

// Message is one turn of a conversation.
type Message struct{ Role, Content string }

// Load reads a Hugging Face directory (safetensors) or a GGUF file. When the context is done, loading ends with its
// error.
func Load(ctx context.Context, path string, options LoadOptions) (*Model, error) {
	return load(ctx, options, func(progress capi.Progress) (capi.Model, *capi.Failure) {
		var paths []string
		var scales []float32
		for _, each := range options.Adapters {
			paths, scales = append(paths, each.Path), append(scales, each.Scale)
		}
		return capi.LoadPath(path, paths, scales, options.raw(), progress)
	})
}

// LoadReader reads a GGUF file of size bytes: of an archive, an embedded file, bytes.NewReader. An error of the reader
// is wrapped, for errors.Is and errors.As.
func LoadReader(ctx context.Context, reader io.ReaderAt, size int64, options LoadOptions) (*Model, error) {
	if len(options.Adapters) != 0 {
		return nil, invalid("adapters are merged by Load, not by LoadReader")
	}
	if size < 0 {
		return nil, invalid("the size is %d; give the number of the file's bytes", size)
	}
	return load(ctx, options, func(progress capi.Progress) (capi.Model, *capi.Failure) {
		return capi.LoadReader(reader, size, options.raw(), progress)
	})
}

func load(ctx context.Context, options LoadOptions, call func(capi.Progress) (capi.Model, *capi.Failure)) (*Model, error) {
	if version := capi.AbiVersion(); version != capi.HeaderAbiVersion {
		return nil, &Error{Code: ErrUnsupported, Message: fmt.Sprintf("libtulle speaks version %d of the C ABI and this "+
			"package %d; install the one that belongs to it", version, capi.HeaderAbiVersion)}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	handle, failure := call(func(what string, fraction float64) bool {
		if options.Progress != nil {
			options.Progress(what, fraction)
		}
		return ctx.Err() == nil
	})
	if failure != nil {
		if failure.Status == capi.Cancelled {
			return nil, context.Cause(ctx)
		}
		return nil, wrap(failure)
	}
	model := &Model{handle}
	runtime.AddCleanup(model, capi.Model.Free, handle) // for a model that was not closed; a second free does nothing
	return model, nil
}

// Close frees the model; its sessions stay valid. A second call does nothing.
func (m *Model) Close() error {
	m.handle.Free()
	return nil
}

// Info describes the model.
func (m *Model) Info() (ModelInfo, error) {
	defer runtime.KeepAlive(m)
	info, failure := m.handle.Describe()
	return ModelInfo{info.WeightBytes, info.Vocabulary, info.Tokens, info.ContextLength, info.Layers, info.Hidden, info.Bos,
		info.Eos, info.Flags&capi.HasChatTemplate != 0}, wrap(failure)
}

// Encode returns the ids of a text, optionally with the tokenizer's tokens around it (<s> and the like).
func (m *Model) Encode(text string, addSpecialTokens bool) ([]int32, error) {
	defer runtime.KeepAlive(m)
	tokens, failure := m.handle.Encode(text, flag(addSpecialTokens, capi.AddSpecialTokens))
	return tokens, wrap(failure)
}

// Decode returns the text of ids, with U+FFFD where their bytes are not UTF-8.
func (m *Model) Decode(tokens []int32, skipSpecialTokens bool) (string, error) {
	defer runtime.KeepAlive(m)
	text, failure := m.handle.Decode(tokens, flag(skipSpecialTokens, capi.SkipSpecialTokens))
	return text, wrap(failure)
}

// ChatPrompt renders messages with the model's own chat template, ending with the beginning of the answer. Its special
// tokens are in the text: generate from it with Options.NoSpecialTokens.
func (m *Model) ChatPrompt(messages ...Message) (string, error) {
	defer runtime.KeepAlive(m)
	var roles, contents []string
	for _, each := range messages {
		roles, contents = append(roles, each.Role), append(contents, each.Content)
	}
	prompt, failure := m.handle.ChatPrompt(roles, contents, capi.AddGenerationPrompt)
	return prompt, wrap(failure)
}

// Choice is one built-in choice: the name for options, and whether this machine runs it.
type Choice struct {
	Name string
	Runs bool
}

// ChoiceKind is a kind of choices by name.
type ChoiceKind int32

const (
	Kernels         = ChoiceKind(capi.Kernels)
	Caches          = ChoiceKind(capi.Caches)
	Samplers        = ChoiceKind(capi.Samplers)
	InstructionSets = ChoiceKind(capi.InstructionSets)
)

// Choices lists the built-in choices of a kind.
func Choices(kind ChoiceKind) ([]Choice, error) {
	names, runs, failure := capi.Choices(int32(kind))
	choices := make([]Choice, len(names))
	for i := range names {
		choices[i] = Choice{names[i], runs[i]}
	}
	return choices, wrap(failure)
}

// UseInstructionSet sets the instruction set of the whole process, in place of the best; call it before Load.
func UseInstructionSet(name string) error { return wrap(capi.UseInstructionSet(name)) }

// Version is the version of the linked library.
func Version() string { return capi.Version() }

func flag(on bool, value uint32) uint32 {
	if on {
		return value
	}
	return 0
}
