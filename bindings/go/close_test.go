// SPDX-License-Identifier: Apache-2.0

package tulle

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestCloseEndsAGenerationAndWaitsForTheTokenThatIsRead(t *testing.T) {
	model := Must(Load(context.Background(), "../../tests/golden/models/gguf/f32.gguf", LoadOptions{}))
	defer model.Close()
	session := Must(model.NewSession(SessionOptions{Threads: 1}))
	closed := make(chan struct{})
	count := 0
	for token, err := range session.Generate(context.Background(), "Once", Options{IgnoreEos: true}) {
		if count++; count == 1 {
			session.reading.Lock() // as while a token is copied
			go func() {
				defer close(closed)
				session.Close()
			}()
			time.Sleep(10 * time.Millisecond)
			if _, err := session.History(); err != nil {
				t.Error("freed meanwhile:", err)
			}
			session.reading.Unlock()
		} else if (token.FinishReason == FinishCancelled) == errors.Is(err, ErrClosed) { // one of them
			t.Error(token, err)
		}
	}
	<-closed
	if _, err := session.History(); count != 2 || !errors.Is(err, ErrClosed) {
		t.Error(count, err)
	}
}

func TestNothingFollowsATokenThatIsTheLast(t *testing.T) {
	model := Must(Load(context.Background(), "../../tests/golden/models/gguf/f32.gguf", LoadOptions{}))
	defer model.Close()
	session := Must(model.NewSession(SessionOptions{Threads: 1}))
	reasons := []FinishReason{}
	for token, err := range session.Generate(context.Background(), "Once", Options{IgnoreEos: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if reasons = append(reasons, token.FinishReason); len(reasons) == 1 {
			session.handle.Cancel() // as Close does first
		} else {
			session.Close()
		}
	}
	if !slices.Equal(reasons, []FinishReason{FinishNone, FinishCancelled}) {
		t.Error(reasons)
	}
}

func TestWhatBeginsWhileItIsClosedIsCancelled(t *testing.T) {
	model := Must(Load(context.Background(), "../../tests/golden/models/gguf/f32.gguf", LoadOptions{}))
	defer model.Close()
	session := Must(model.NewSession(SessionOptions{Threads: 1}))
	defer session.Close()
	session.closed.Store(true) // as where Close has cancelled just before
	count := 0
	for token, err := range session.Generate(context.Background(), "Once", Options{IgnoreEos: true}) {
		if count++; err != nil || token.FinishReason != FinishCancelled {
			t.Error(token, err)
		}
	}
	if count != 1 {
		t.Error(count)
	}
}
