// SPDX-License-Identifier: Apache-2.0

package tulle

import (
	"context"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"tulle/internal/capi"
)

// SessionOptions: the zero value is all defaults.
type SessionOptions struct {
	Cache                string // "contiguous", "sliding" or "paged", perhaps with an element: "paged_i8"; "": the model's
	Threads              int    // 0: one per core
	SequenceLength       int    // tokens it can hold; 0: the model's own, at most 4096
	PromptSequenceLength int    // prompt tokens in one pass; 0: the default, 256
	Window               int    // of a sliding cache; 0: SequenceLength
	Sinks                int    // first positions that a sliding cache keeps; 0: the default, 4
}

// Session is one growing text: a history of tokens, its keys and values, and its own threads. It keeps its model alive.
type Session struct {
	handle     capi.Session
	reading    sync.Mutex    // held while a token is read, whose bytes are the library's until they are copied
	generation atomic.Uint64 // the number of the last one: a loop reads no token of a later one
	closed     atomic.Bool
}

// NewSession opens an empty text.
func (m *Model) NewSession(options SessionOptions) (*Session, error) {
	defer runtime.KeepAlive(m)
	for _, number := range []int{options.Threads, options.SequenceLength, options.PromptSequenceLength, options.Window,
		options.Sinks} {
		if number < 0 {
			return nil, invalid("a session's options hold a negative number")
		}
	}
	return open(m.handle.NewSession(capi.SessionOptions{Cache: options.Cache, Threads: uint32(min(options.Threads, 1<<20)),
		SequenceLength: uint64(options.SequenceLength), PromptSequenceLength: uint64(options.PromptSequenceLength),
		Window: uint64(options.Window), Sinks: uint64(options.Sinks)}))
}

func open(handle capi.Session, failure *capi.Failure) (*Session, error) {
	if failure != nil {
		return nil, wrap(failure)
	}
	session := &Session{handle: handle}
	runtime.AddCleanup(session, capi.Session.Free, handle) // for a session that was not closed; a second free does nothing
	return session, nil
}

// Close frees the session and ends a running generation: its loop gets either a last token with FinishCancelled or
// ErrClosed. A second call does nothing.
func (s *Session) Close() error {
	s.closed.Store(true)
	s.handle.Cancel()
	s.reading.Lock()
	defer s.reading.Unlock()
	s.handle.Free()
	return nil
}

// Generate appends a text and generates as the loop reads. The loop may be left early: the tokens so far are kept. When
// the context is done, also while the prompt is read, the loop gets the context's error and ends.
func (s *Session) Generate(ctx context.Context, prompt string, options Options) iter.Seq2[Token, error] {
	return s.run(ctx, options, func(raw capi.GenerateOptions) *capi.Failure { return s.handle.Generate(prompt, raw) })
}

// GenerateTokens appends tokens and generates; without tokens it continues after the last one.
func (s *Session) GenerateTokens(ctx context.Context, tokens []int32, options Options) iter.Seq2[Token, error] {
	return s.run(ctx, options, func(raw capi.GenerateOptions) *capi.Failure { return s.handle.GenerateTokens(tokens, raw) })
}

// Complete is Generate to its end. It returns the text; after an error, the text so far.
func (s *Session) Complete(ctx context.Context, prompt string, options Options) (string, error) {
	var text strings.Builder
	for token, err := range s.Generate(ctx, prompt, options) {
		if err != nil {
			return text.String(), err
		}
		text.WriteString(token.Text)
	}
	return text.String(), nil
}

func (s *Session) run(ctx context.Context, options Options,
	begin func(capi.GenerateOptions) *capi.Failure) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		defer runtime.KeepAlive(s)
		if ctx.Err() != nil {
			yield(Token{}, context.Cause(ctx))
			return
		}
		kind, rules, err := options.constraint()
		if err != nil {
			yield(Token{}, err)
			return
		}
		own, failure := s.begin(kind, rules, options, begin)
		if failure != nil {
			yield(Token{}, wrap(failure))
			return
		}
		cancelled := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(cancelled)
			if s.generation.Load() == own {
				s.handle.Cancel()
			}
		})
		defer func() {
			if !stop() {
				<-cancelled // it would cancel the next generation
			}
		}()
		for more := options.PromptProgress != nil; more; {
			var fraction float64
			if fraction, more, failure = s.readPrompt(own); failure != nil {
				yield(Token{}, wrap(failure))
				return
			}
			if more {
				options.PromptProgress(fraction)
			}
		}
		for {
			token, more, failure := s.next(own)
			switch {
			case failure != nil:
				yield(Token{}, wrap(failure))
				return
			case !more:
				return
			case token.FinishReason == capi.FinishCancelled && ctx.Err() != nil:
				yield(Token{}, context.Cause(ctx))
				return
			case !yield(Token{token.ID, token.Bytes, token.Text, token.LogProbability, FinishReason(token.FinishReason)}, nil):
				return
			case token.FinishReason != capi.FinishNone: // the last one; Close may have freed the session
				return
			}
		}
	}
}

func (s *Session) begin(kind int32, rules string, options Options,
	begin func(capi.GenerateOptions) *capi.Failure) (own uint64, failure *capi.Failure) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if failure = s.handle.Constrain(kind, rules); failure == nil {
		failure = begin(options.raw())
	}
	if failure != nil {
		return 0, failure
	}
	if s.closed.Load() { // while it began, which forgets that it was cancelled
		s.handle.Cancel()
	}
	return s.generation.Add(1), nil
}

// superseded is a failure where another generation began after that of this number.
func (s *Session) superseded(own uint64) *capi.Failure {
	if s.generation.Load() == own {
		return nil
	}
	return &capi.Failure{Status: capi.Busy, Message: "another generation began on this session; use a session for each"}
}

func (s *Session) readPrompt(own uint64) (float64, bool, *capi.Failure) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if failure := s.superseded(own); failure != nil {
		return 0, false, failure
	}
	return s.handle.ReadPrompt()
}

func (s *Session) next(own uint64) (capi.Token, bool, *capi.Failure) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if failure := s.superseded(own); failure != nil {
		return capi.Token{}, false, failure
	}
	return s.handle.Next()
}

// Logits returns the raw logits [vocabulary] from which the last token was chosen; needs Options.KeepLogits.
func (s *Session) Logits() ([]float32, error) {
	defer runtime.KeepAlive(s)
	logits, failure := s.handle.Logits()
	return logits, wrap(failure)
}

// History is every token so far, prompts and answers.
func (s *Session) History() ([]int32, error) {
	defer runtime.KeepAlive(s)
	tokens, failure := s.handle.History()
	return tokens, wrap(failure)
}

// Truncate removes all tokens but the first length. Inside a loop over a generation it ends that generation: the loop
// gets no more tokens and no error. Fork, Save and Restore do so, too.
func (s *Session) Truncate(length int) error {
	defer runtime.KeepAlive(s)
	if length < 0 {
		return invalid("a negative length")
	}
	return wrap(s.handle.Truncate(length))
}

// Draft decodes speculatively from now on, with the same text: drafter guesses up to maxTokens tokens (0: 7), which one
// pass of the model checks. "ngram" copies repeated text, "self:i4" is the model with other weights, a path is a smaller
// model with the same tokens; "" ends it. A fork has no drafter. A generation that has not ended is ended.
func (s *Session) Draft(drafter string, maxTokens uint32) error {
	defer runtime.KeepAlive(s)
	return wrap(s.handle.Draft(drafter, maxTokens))
}

// Fork returns an independent copy; nothing is computed again.
func (s *Session) Fork() (*Session, error) {
	defer runtime.KeepAlive(s)
	return open(s.handle.Fork())
}

// Save returns history, keys and values as bytes, for a session with the same model and options.
func (s *Session) Save() ([]byte, error) {
	defer runtime.KeepAlive(s)
	saved, failure := s.handle.Save()
	return saved, wrap(failure)
}

// Restore replaces the session's content by the bytes of Save.
func (s *Session) Restore(saved []byte) error {
	defer runtime.KeepAlive(s)
	return wrap(s.handle.Restore(saved))
}

// Timings of a generation: the prompt until the first token, and the rest; tokens that a drafter guessed, and those of
// them that are in the text.
type Timings struct {
	PromptTokens, GeneratedTokens    int
	PrefillSeconds, DecodeSeconds    float64
	DraftTokens, AcceptedDraftTokens int
}

// Timings of the last generation so far.
func (s *Session) Timings() (Timings, error) {
	defer runtime.KeepAlive(s)
	timings, failure := s.handle.Timings()
	return Timings(timings), wrap(failure)
}
