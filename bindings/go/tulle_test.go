// SPDX-License-Identifier: Apache-2.0

package tulle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tulle"
)

const tiny = "gguf/f32.gguf auto"

type failingReader struct{ err error }

func (f failingReader) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func TestModelsLoadFromReaders(t *testing.T) {
	facts := readGolden(t, tiny)
	file, err := os.ReadFile(facts.path)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	options := tulle.LoadOptions{Progress: func(string, float64) { calls++ }}
	model, err := tulle.LoadReader(context.Background(), bytes.NewReader(file), int64(len(file)), options)
	if err != nil || calls == 0 {
		t.Fatal(err, calls)
	}
	defer model.Close()
	ids, _ := collect(t, newSession(t, model), facts.prompt(), tulle.Options{MaxNewTokens: 8, IgnoreEos: true})
	if !slices.Equal(ids, facts.Greedy[:8]) {
		t.Error(ids)
	}
	_, err = tulle.LoadReader(context.Background(), bytes.NewReader(file[:99]), int64(len(file)), tulle.LoadOptions{})
	if !errors.Is(err, tulle.ErrIO) {
		t.Error(err)
	}
	mine := errors.New("the archive is locked")
	_, err = tulle.LoadReader(context.Background(), failingReader{mine}, 1000, tulle.LoadOptions{})
	if !errors.Is(err, mine) || !errors.Is(err, tulle.ErrIO) || !strings.Contains(err.Error(), "1000 bytes at 0: "+mine.Error()) {
		t.Error(err)
	}
	_, err = tulle.LoadReader(context.Background(), failingReader{mine}, -1, tulle.LoadOptions{})
	if !errors.Is(err, tulle.ErrInvalidArgument) || !strings.Contains(err.Error(), "size is -1") {
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	options = tulle.LoadOptions{Progress: func(string, float64) { cancel() }}
	if _, err = tulle.Load(cancelled, facts.path, options); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestErrorsAreTyped(t *testing.T) {
	model := readGolden(t, tiny).load(t)
	session := newSession(t, model)
	ctx := context.Background()
	_, missing := tulle.Load(ctx, "/nowhere", tulle.LoadOptions{})
	_, kernel := tulle.Load(ctx, "/nowhere", tulle.LoadOptions{Assembly: "fast"})
	_, cache := model.NewSession(tulle.SessionOptions{Cache: "paged_i9"})
	_, text := session.Complete(ctx, "\xff", tulle.Options{})
	_, noLogits := session.Logits()
	_, long := session.Complete(ctx, strings.Repeat("the ", 500), tulle.Options{})
	closed := newSession(t, model)
	closed.Close()
	_, afterClose := closed.Complete(ctx, "a", tulle.Options{})
	for _, each := range []struct {
		err    error
		target tulle.Code
	}{{missing, tulle.ErrNotFound}, {kernel, tulle.ErrInvalidArgument}, {cache, tulle.ErrInvalidArgument},
		{text, tulle.ErrInvalidArgument}, {noLogits, tulle.ErrState}, {long, tulle.ErrCapacity},
		{session.Restore([]byte("short")), tulle.ErrMalformed}, {afterClose, tulle.ErrClosed}} {
		var typed *tulle.Error
		if !errors.Is(each.err, each.target) || !errors.As(each.err, &typed) || typed.Message == "" {
			t.Errorf("%v is not %v", each.err, each.target)
		}
	}
	if closed.Close() != nil {
		t.Error("a second Close fails")
	}
}

func TestTextIsMadeOfTokens(t *testing.T) {
	model := readGolden(t, tiny).load(t)
	tokens, err := model.Encode("the answer is € 42", false)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := model.Decode(tokens, false); text != "the answer is € 42" || err != nil {
		t.Error(text, err)
	}
	prompt, err := model.ChatPrompt(tulle.Message{Role: "user", Content: "hello"})
	if err != nil || !strings.Contains(prompt, "hello") {
		t.Error(prompt, err)
	}
	session := newSession(t, model)
	options := tulle.Options{MaxNewTokens: 12, IgnoreEos: true, LogProbabilities: true, KeepLogits: true}
	for token, err := range session.Generate(context.Background(), "the answer", options) {
		if err != nil {
			t.Fatal(err)
		}
		logits, err := session.Logits()
		if err != nil || logits[token.ID] != slices.Max(logits) || token.LogProbability >= 0 {
			t.Error(token, err)
		}
	}
	timings, err := session.Timings()
	if err != nil || timings.GeneratedTokens != 12 {
		t.Error(timings, err)
	}
	info, err := model.Info()
	if err != nil || info.Vocabulary != 288 || info.Eos != 2 || !info.HasChatTemplate {
		t.Error(info, err)
	}
}

func TestALongPromptIsReadPassByPass(t *testing.T) {
	model := readGolden(t, tiny).load(t)
	session, err := model.NewSession(tulle.SessionOptions{Threads: 1, SequenceLength: 128, PromptSequenceLength: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	prompt, fractions := strings.Repeat("the answer ", 8), []float64{}
	options := tulle.Options{MaxNewTokens: 5, IgnoreEos: true}
	whole, err := newSession(t, model).Complete(context.Background(), prompt, options)
	if err != nil {
		t.Fatal(err)
	}
	options.PromptProgress = func(fraction float64) { fractions = append(fractions, fraction) }
	text, err := session.Complete(context.Background(), prompt, options)
	if err != nil || text != whole {
		t.Error(text, whole, err)
	}
	if len(fractions) < 3 || !slices.IsSorted(fractions) || fractions[len(fractions)-1] != 1 {
		t.Error(fractions)
	}
}

func TestCopiesOfASessionGoOnAlike(t *testing.T) {
	model := readGolden(t, tiny).load(t)
	session, restored := newSession(t, model), newSession(t, model)
	draw := tulle.Options{MaxNewTokens: 10, IgnoreEos: true, Sampler: "hugging_face", Temperature: 1.5, Seed: 3}
	for range session.Generate(context.Background(), "once upon", draw) {
		break
	}
	forked, err := session.Fork()
	if err != nil {
		t.Fatal(err)
	}
	defer forked.Close()
	saved, err := session.Save()
	if err != nil || restored.Restore(saved) != nil {
		t.Fatal(err)
	}
	ids, text := collect(t, session, nil, draw)
	if err := restored.Draft("self:i8", 4); err != nil { // drafts change no text
		t.Error(err)
	}
	for _, other := range []*tulle.Session{forked, restored} {
		if again, _ := collect(t, other, nil, draw); !slices.Equal(ids, again) {
			t.Error(ids, again)
		}
	}
	if timings, err := restored.Timings(); err != nil || timings.DraftTokens == 0 {
		t.Error(timings, err)
	}
	history, err := session.History()
	if err != nil || session.Truncate(len(history)-10) != nil {
		t.Fatal(err)
	}
	stop := text[3:5]
	draw.Stop = []string{stop}
	if _, cut := collect(t, session, nil, draw); cut != text[:strings.Index(text, stop)] {
		t.Errorf("%q was not cut from %q: %q", stop, text, cut)
	}
}

func TestAGenerationEndsOneThatIsHalfRead(t *testing.T) {
	session := newSession(t, readGolden(t, tiny).load(t))
	options := tulle.Options{MaxNewTokens: 4, IgnoreEos: true}
	tokens, failure := 0, error(nil)
	for _, err := range session.Generate(context.Background(), "the", options) {
		if failure = err; err != nil {
			break
		}
		if tokens++; tokens == 1 {
			if ids, _ := collect(t, session, []int32{1}, options); len(ids) != 4 {
				t.Error(ids)
			}
		}
	}
	if tokens != 1 || !errors.Is(failure, tulle.ErrBusy) {
		t.Error(tokens, failure)
	}
	for _, wrong := range []tulle.Options{{MaxNewTokens: -5}, {TopK: 1 << 32}} {
		if _, err := session.Complete(context.Background(), "the", wrong); !errors.Is(err, tulle.ErrInvalidArgument) {
			t.Error(wrong, err)
		}
	}
}

func TestATextIsWhatTheOptionsSay(t *testing.T) {
	session := newSession(t, readGolden(t, tiny).load(t))
	text := func(options tulle.Options) (string, error) {
		return session.Complete(context.Background(), "the", options)
	}
	digits, err := text(tulle.Options{Regex: "[0-9]{3}"})
	if errors.Is(err, tulle.ErrUnsupported) {
		t.Skip("a library without grammars")
	}
	if number, wrong := strconv.Atoi(digits); err != nil || wrong != nil || len(digits) != 3 || number < 0 {
		t.Error(digits, err)
	}
	if answer, err := text(tulle.Options{Grammar: `root ::= "yes" | "no"`}); err != nil || answer != "yes" && answer != "no" {
		t.Error(answer, err)
	}
	var value struct {
		B int
		A *bool
	}
	schema := `{"type": "object", "properties": {"b": {"const": 7}, "a": {"type": "boolean"}}, "required": ["b", "a"]}`
	object, err := text(tulle.Options{JSONSchema: schema})
	if err != nil || json.Unmarshal([]byte(object), &value) != nil || value.B != 7 || value.A == nil {
		t.Error(object, err)
	}
	if begun, err := text(tulle.Options{JSONObject: true, MaxNewTokens: 5}); err != nil || begun[0] != '{' {
		t.Error(begun, err)
	}
	for _, wrong := range []tulle.Options{{JSONSchema: "false"}, {Grammar: "root ::="}, {Regex: "a", JSONObject: true}} {
		if _, err := text(wrong); !errors.Is(err, tulle.ErrInvalidArgument) {
			t.Error(wrong, err)
		}
	}
	if free, err := text(tulle.Options{MaxNewTokens: 8, IgnoreEos: true}); err != nil || free[0] == '{' {
		t.Error(free, err)
	}
}

func TestATruncationEndsTheGenerationAroundIt(t *testing.T) {
	session := newSession(t, readGolden(t, tiny).load(t))
	count := 0
	for _, err := range session.Generate(context.Background(), "the", tulle.Options{IgnoreEos: true}) {
		if count++; err != nil || session.Truncate(1) != nil {
			t.Error(err)
		}
	}
	if history, err := session.History(); count != 1 || len(history) != 1 || err != nil {
		t.Error(count, history, err)
	}
}

func TestATemperatureOf0IsTheDefault(t *testing.T) {
	model := readGolden(t, tiny).load(t)
	options := tulle.Options{MaxNewTokens: 20, IgnoreEos: true, TopP: 0.95, Seed: 3}
	unset, _ := collect(t, newSession(t, model), []int32{5}, options)
	options.Temperature = 1
	if one, _ := collect(t, newSession(t, model), []int32{5}, options); !slices.Equal(unset, one) {
		t.Error(unset, one)
	}
	options.Temperature, options.Sampler = 0, "greedy"
	greedy, _ := collect(t, newSession(t, model), []int32{5}, options)
	none, _ := collect(t, newSession(t, model), []int32{5}, tulle.Options{MaxNewTokens: 20, IgnoreEos: true})
	if !slices.Equal(greedy, none) || slices.Equal(greedy, unset) {
		t.Error(greedy, none, unset)
	}
}

func TestAContextEndsALongPrompt(t *testing.T) {
	model := readGolden(t, tiny).load(t)
	session, err := model.NewSession(tulle.SessionOptions{Threads: 1, SequenceLength: 20000, PromptSequenceLength: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	tokens := slices.Repeat([]int32{7}, 19000)
	for _, err := range session.GenerateTokens(ctx, tokens, tulle.Options{IgnoreEos: true}) {
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
	if ctx.Err() == nil {
		t.Error("the prompt was read in less than the deadline")
	}
	if err := session.Truncate(0); err != nil {
		t.Error(err)
	}
	if ids, _ := collect(t, session, []int32{5}, tulle.Options{MaxNewTokens: 3, IgnoreEos: true}); len(ids) != 3 {
		t.Error(ids)
	}
}

func TestAContextEndsItsOwnGenerationAlone(t *testing.T) {
	session := newSession(t, readGolden(t, tiny).load(t))
	options := tulle.Options{MaxNewTokens: 8, IgnoreEos: true}
	for range 100 {
		if err := session.Truncate(0); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		for range session.Generate(ctx, "Once", options) {
			cancel()
			break
		}
		cancel()
		if ids, _ := collect(t, session, []int32{5}, options); len(ids) != 8 {
			t.Fatal("the context before ended it:", ids)
		}
	}
}

type panickingReader struct{}

func (panickingReader) ReadAt([]byte, int64) (int, error) { panic("mine") }

func TestAPanicOfACallbackUnwindsNoOtherLanguage(t *testing.T) {
	facts := readGolden(t, tiny)
	ctx, none := context.Background(), tulle.LoadOptions{}
	panics := tulle.LoadOptions{Progress: func(string, float64) { panic("mine") }}
	for i, load := range []func() (*tulle.Model, error){
		func() (*tulle.Model, error) { return tulle.Load(ctx, facts.path, panics) },
		func() (*tulle.Model, error) { return tulle.LoadReader(ctx, panickingReader{}, 1000, none) },
	} {
		func() {
			defer func() {
				if value, stack := recover(), string(debug.Stack()); value != "mine" || strings.Contains(stack, "tulleGo") {
					t.Error(i, value, stack)
				}
			}()
			_, err := load()
			t.Error(i, "no panic:", err)
		}()
	}
}

func TestTheReadmesProgramCompiles(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	body, _, found := strings.Cut(rest, "```")
	program := filepath.Join(t.TempDir(), "main.go")
	source := "package main\nimport (\n\"context\"\n\"fmt\"\n\"tulle\"\n)\nfunc main() {\n" + body + "}\n"
	if !found || os.WriteFile(program, []byte(source), 0o600) != nil {
		t.Fatal("README.md has no program")
	}
	if said, err := exec.Command("go", "vet", program).CombinedOutput(); err != nil {
		t.Error(err, string(said))
	}
}

func TestSessionsOfOneModelRunBesideEachOther(t *testing.T) {
	facts := readGolden(t, tiny)
	model := facts.load(t)
	var wait sync.WaitGroup
	for range 4 {
		session := newSession(t, model)
		wait.Go(func() {
			ids, _ := collect(t, session, facts.prompt(), tulle.Options{MaxNewTokens: len(facts.Greedy), IgnoreEos: true})
			if !slices.Equal(ids, facts.Greedy) {
				t.Error(ids)
			}
		})
	}
	wait.Wait()
}

func TestWhatIsBuiltInHasAName(t *testing.T) {
	for kind, name := range map[tulle.ChoiceKind]string{tulle.Kernels: "auto", tulle.Caches: "paged_i8",
		tulle.Samplers: "greedy", tulle.InstructionSets: "scalar"} {
		choices, err := tulle.Choices(kind)
		if err != nil || !slices.Contains(choices, tulle.Choice{Name: name, Runs: true}) {
			t.Error(kind, choices, err)
		}
	}
	if tulle.Version() == "" || tulle.UseInstructionSet("mmx") == nil {
		t.Error("version or instruction sets")
	}
}

func TestAdaptersChangeAModel(t *testing.T) {
	golden := goldenFolder
	adapters := []tulle.Adapter{{golden + "/lora/two/first", 0.5}, {golden + "/lora/two/second", -1.5}}
	texts := make([]string, 2)
	for i, options := range []tulle.LoadOptions{{}, {Adapters: adapters}} {
		model, err := tulle.Load(context.Background(), golden+"/models/llama-tiny-gqa", options)
		if err != nil {
			t.Fatal(err)
		}
		defer model.Close()
		session, err := model.NewSession(tulle.SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for token, err := range session.GenerateTokens(context.Background(), []int32{5, 6, 7}, tulle.Options{MaxNewTokens: 8}) {
			if err != nil {
				t.Fatal(err)
			}
			texts[i] += fmt.Sprint(token.ID, " ")
		}
	}
	if texts[0] == texts[1] {
		t.Errorf("the adapters changed nothing: %s", texts[0])
	}
	_, err := tulle.Load(context.Background(), golden+"/models/gpt2-tiny", tulle.LoadOptions{Adapters: adapters})
	if !errors.Is(err, tulle.ErrNotFound) {
		t.Errorf("adapters of another model: %v", err)
	}
}

func TestPackedWeightsAreKeptAndVerified(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	facts := readGolden(t, tiny)
	load := func(options tulle.LoadOptions) (right bool, files []string) {
		model, err := tulle.Load(context.Background(), facts.path, options)
		if err != nil {
			t.Fatal(err)
		}
		defer model.Close()
		ids, _ := collect(t, newSession(t, model), facts.prompt(), tulle.Options{MaxNewTokens: 8, IgnoreEos: true})
		files, err = filepath.Glob(cache + "/tulle/packed/*.packed")
		if err != nil {
			t.Fatal(err)
		}
		return slices.Equal(ids, facts.Greedy[:8]), files
	}
	for _, place := range []string{"", "off", "auto"} {
		if right, files := load(tulle.LoadOptions{PackedCache: place}); !right || len(files) != 0 {
			t.Error(place, right, files)
		}
	}
	right, files := load(tulle.LoadOptions{PackedCache: "on"})
	if !right || len(files) != 1 {
		t.Fatal(right, files)
	}
	packed, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	clear(packed[64 : len(packed)/2])
	if err = os.WriteFile(files[0], packed, 0o600); err != nil {
		t.Fatal(err)
	}
	if right, _ = load(tulle.LoadOptions{PackedCache: "on"}); right {
		t.Error("what was kept is not used")
	}
	if right, _ = load(tulle.LoadOptions{PackedCache: "on", VerifyPacked: true}); !right {
		t.Error("what was kept is not verified")
	}
	_, err = tulle.Load(context.Background(), facts.path, tulle.LoadOptions{PackedCache: "/nowhere/model.packed"})
	if !errors.Is(err, tulle.ErrNotFound) {
		t.Error(err)
	}
	file, err := os.ReadFile(facts.path)
	if err != nil {
		t.Fatal(err)
	}
	reader := bytes.NewReader(file)
	_, err = tulle.LoadReader(context.Background(), reader, int64(len(file)), tulle.LoadOptions{PackedCache: "on"})
	if !errors.Is(err, tulle.ErrInvalidArgument) {
		t.Error(err)
	}
}
