// SPDX-License-Identifier: Apache-2.0

package capi

/*
#include <stddef.h>
#include <stdint.h>
*/
import "C"

import (
	"io"
	"runtime/cgo"
	"unsafe"
)

// callbacks holds the callbacks of one load call; they run on the loading thread.
type callbacks struct {
	progress  func(what string, fraction float64) bool
	reader    io.ReaderAt
	readError error // of the reader, which ends loading
	panicked  any
}

// keep makes a callback that panics one that fails: a panic must not unwind C++.
func (c *callbacks) keep(failed *C.int32_t) {
	if value := recover(); value != nil {
		c.panicked, *failed = value, 1
	}
}

// again goes on with the panic of a callback, after the load call.
func (c *callbacks) again() {
	if c.panicked != nil {
		panic(c.panicked)
	}
}

//export tulleGoProgress
func tulleGoProgress(context C.uintptr_t, what *C.char, size C.size_t, fraction C.double) (failed C.int32_t) {
	seen := cgo.Handle(context).Value().(*callbacks)
	defer seen.keep(&failed)
	if seen.progress == nil || seen.progress(C.GoStringN(what, C.int(size)), float64(fraction)) {
		return 0
	}
	return 1
}

//export tulleGoRead
func tulleGoRead(context C.uintptr_t, offset C.uint64_t, buffer unsafe.Pointer, size C.size_t) (failed C.int32_t) {
	seen := cgo.Handle(context).Value().(*callbacks)
	defer seen.keep(&failed)
	count, err := seen.reader.ReadAt(unsafe.Slice((*byte)(buffer), int(size)), int64(offset))
	if count == int(size) {
		return 0
	}
	seen.readError = err
	return 1
}
