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
	progress func(what string, fraction float64) bool
	reader   io.ReaderAt
}

//export tulleGoProgress
func tulleGoProgress(context unsafe.Pointer, what *C.char, size C.size_t, fraction C.double) C.int32_t {
	seen := cgo.Handle(uintptr(context)).Value().(*callbacks)
	if seen.progress == nil || seen.progress(C.GoStringN(what, C.int(size)), float64(fraction)) {
		return 0
	}
	return 1
}

//export tulleGoRead
func tulleGoRead(context unsafe.Pointer, offset C.uint64_t, buffer unsafe.Pointer, size C.size_t) C.int32_t {
	seen := cgo.Handle(uintptr(context)).Value().(*callbacks)
	count, _ := seen.reader.ReadAt(unsafe.Slice((*byte)(buffer), int(size)), int64(offset))
	if count == int(size) {
		return 0
	}
	return 1
}
