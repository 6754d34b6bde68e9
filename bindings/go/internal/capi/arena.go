// SPDX-License-Identifier: Apache-2.0

package capi

/*
#include <stdlib.h>
#include "tulle.h"
*/
import "C"

import "unsafe"

// arena owns the C memory to which the structs of one call point.
type arena []unsafe.Pointer

func (a *arena) bytes(size int) unsafe.Pointer {
	memory := C.malloc(C.size_t(max(size, 1)))
	*a = append(*a, memory)
	return memory
}

func (a *arena) text(s string) C.tulle_string {
	memory := a.bytes(len(s))
	copy(unsafe.Slice((*byte)(memory), len(s)), s)
	return C.tulle_string{data: (*C.char)(memory), size: C.size_t(len(s))}
}

func (a *arena) texts(all []string) *C.tulle_string {
	memory := (*C.tulle_string)(a.bytes(len(all) * C.sizeof_tulle_string))
	for i, each := range all {
		unsafe.Slice(memory, len(all))[i] = a.text(each)
	}
	return memory
}

func (a *arena) tokens(all []int32) *C.int32_t {
	memory := (*C.int32_t)(a.bytes(len(all) * 4))
	for i, each := range all {
		unsafe.Slice(memory, len(all))[i] = C.int32_t(each)
	}
	return memory
}

func (a *arena) free() {
	for _, memory := range *a {
		C.free(memory)
	}
}
