// SPDX-License-Identifier: Apache-2.0

package tulle_test

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tulle"
)

const goldenFolder = "../../tests/golden"

// golden is one line of the contract that every binding keeps (tests/golden/README.md).
type golden struct {
	path, assembly string
	Tokens         []int32
	Greedy         []int32
	PromptTokens   int `json:"greedy_prompt_tokens"`
}

func readGolden(t testing.TB, line string) golden {
	t.Helper()
	name, assembly, _ := strings.Cut(line, " ")
	facts := golden{path: filepath.Join(goldenFolder, "models", name), assembly: assembly}
	file := filepath.Join(facts.path, "golden.json")
	if stem, isFile := strings.CutSuffix(facts.path, ".gguf"); isFile {
		file = stem + ".golden.json"
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &facts)
	}
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

func (g golden) prompt() []int32 { return g.Tokens[:g.PromptTokens] }

func (g golden) load(t testing.TB) *tulle.Model {
	t.Helper()
	model, err := tulle.Load(context.Background(), g.path, tulle.LoadOptions{Assembly: g.assembly})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	return model
}

func newSession(t testing.TB, model *tulle.Model) *tulle.Session {
	t.Helper()
	session, err := model.NewSession(tulle.SessionOptions{Threads: 1, SequenceLength: 128})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func collect(t testing.TB, session *tulle.Session, tokens []int32, options tulle.Options) (ids []int32, text string) {
	t.Helper()
	return collectFrom(t, session.GenerateTokens(context.Background(), tokens, options))
}

func collectFrom(t testing.TB, tokens iter.Seq2[tulle.Token, error]) (ids []int32, text string) {
	t.Helper()
	for token, err := range tokens {
		if err != nil {
			t.Fatal(err)
		}
		ids, text = append(ids, token.ID), text+token.Text
	}
	return ids, text
}

func TestEveryModelOfTheContractGivesTheGoldenTokens(t *testing.T) {
	contract, err := os.ReadFile(filepath.Join(goldenFolder, "contract.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(contract)), "\n")
	if len(lines) < 6 {
		t.Fatal("the contract is short")
	}
	for _, line := range lines {
		facts := readGolden(t, line)
		session := newSession(t, facts.load(t))
		ids, _ := collect(t, session, facts.prompt(), tulle.Options{MaxNewTokens: len(facts.Greedy), IgnoreEos: true})
		if !slices.Equal(ids, facts.Greedy) {
			t.Errorf("%s: %v, golden %v", line, ids, facts.Greedy)
		}
	}
}

func TestTheRealModelSaysWhatTransformersSays(t *testing.T) {
	path := os.Getenv("TULLE_TEST_MODEL")
	if path == "" {
		t.Skip("TULLE_TEST_MODEL does not name SmolLM2-135M-Instruct.Q4_1.gguf")
	}
	prompts, err := os.ReadFile(filepath.Join(goldenFolder, "prompts.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(prompts)), "\n")
	if len(lines) != 5 {
		t.Fatal(len(lines), "prompts")
	}
	model := golden{path: path, assembly: "dense_f32/contiguous_f32"}.load(t)
	session, err := model.NewSession(tulle.SessionOptions{SequenceLength: 256})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, line := range lines[:1] { // all of them: tests/real_model
		text, numbers, _ := strings.Cut(line, "\t")
		var greedy []int32
		for _, number := range strings.Fields(numbers) {
			id, err := strconv.ParseInt(number, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			greedy = append(greedy, int32(id))
		}
		if err := session.Truncate(0); err != nil {
			t.Fatal(err)
		}
		ids, _ := collectFrom(t, session.Generate(context.Background(), strings.ReplaceAll(text, `\n`, "\n"),
			tulle.Options{MaxNewTokens: len(greedy), IgnoreEos: true}))
		if !slices.Equal(ids, greedy) {
			t.Errorf("%q: %v, golden %v", text, ids, greedy)
		}
	}
}
