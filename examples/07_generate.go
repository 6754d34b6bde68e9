// SPDX-License-Identifier: Apache-2.0
// Lesson 7: text in, text out, in Go.     usage: 07_generate MODEL PROMPT
package main

import (
	"context"
	"fmt"
	"os"

	"tulle"
)

func main() {
	ctx := context.Background()
	session := tulle.Must(tulle.Must(tulle.Load(ctx, os.Args[1], tulle.LoadOptions{})).NewSession(tulle.SessionOptions{}))
	for token, err := range session.Generate(ctx, os.Args[2], tulle.Options{MaxNewTokens: 64}) {
		fmt.Print(tulle.Must(token, err).Text)
	}
}
