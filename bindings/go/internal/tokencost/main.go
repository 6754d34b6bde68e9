// SPDX-License-Identifier: Apache-2.0

// Tokencost prints the microseconds per token in a session of one thread; the minimum of several runs.
// bindings/overhead.py compares it.    usage: tokencost MODEL TOKENS
package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"tulle"
)

func main() {
	ctx := context.Background()
	tokens := tulle.Must(strconv.Atoi(os.Args[2]))
	model := tulle.Must(tulle.Load(ctx, os.Args[1], tulle.LoadOptions{}))
	session := tulle.Must(model.NewSession(tulle.SessionOptions{Threads: 1}))
	least := math.MaxFloat64
	for range 5 {
		if err := session.Truncate(0); err != nil {
			panic(err)
		}
		var first time.Time
		options := tulle.Options{MaxNewTokens: tokens, IgnoreEos: true}
		for token, err := range session.Generate(ctx, "Once upon a time", options) {
			tulle.Must(token, err)
			if first.IsZero() {
				first = time.Now()
			}
		}
		least = min(least, float64(time.Since(first).Nanoseconds())/1000/float64(tokens-1))
	}
	fmt.Printf("%.3f\n", least)
}
