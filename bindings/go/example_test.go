// SPDX-License-Identifier: Apache-2.0

package tulle_test

import (
	"context"
	"fmt"
	"time"

	"tulle"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	model, err := tulle.Load(ctx, "../../tests/golden/models/gguf/f32.gguf", tulle.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()
	session, err := model.NewSession(tulle.SessionOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	count := 0
	for token, err := range session.Generate(ctx, "Once upon a time", tulle.Options{MaxNewTokens: 8, IgnoreEos: true}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		count++
		_ = token.Text // print it
	}
	fmt.Println(count, "tokens")
	// Output: 8 tokens
}

func ExampleModel_ChatPrompt() {
	model, err := tulle.Load(context.Background(), "../../tests/golden/models/gguf/f32.gguf", tulle.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()
	_, err = model.ChatPrompt(tulle.Message{Role: "user", Content: "What is the capital of France?"})
	fmt.Println(err)
	// Output: <nil>
}
