// SPDX-License-Identifier: Apache-2.0

package tulle_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
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
	for token, err := range session.GenerateTokens(context.Background(), tokens, options) {
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
