// SPDX-License-Identifier: Apache-2.0

// Package capi is the only one that imports "C": libtulle's functions with Go's types.
package capi

/*
#cgo pkg-config: tulle_capi
#include <stdlib.h>
#include "tulle_experimental.h"

// The callbacks that callbacks.go exports. `context` is a cgo.Handle: a number, which Go must not see as a pointer.
int32_t tulleGoProgress(uintptr_t context, char* what, size_t what_size, double fraction);
int32_t tulleGoRead(uintptr_t context, uint64_t offset, void* buffer, size_t size);

static int32_t report_progress(void* context, const char* what, size_t what_size, double fraction) {
  return tulleGoProgress((uintptr_t)context, (char*)what, what_size, fraction);
}
static int32_t read_at(void* context, uint64_t offset, void* buffer, size_t size) {
  return tulleGoRead((uintptr_t)context, offset, buffer, size);
}

// Go cannot pass a struct with pointers in it: these functions build the options.
static tulle_load_options load_options(const char* assembly, size_t assembly_size, const char* packed,
                                       size_t packed_size, uint32_t flags, uintptr_t context) {
  tulle_load_options options;
  tulle_load_options_init(&options, sizeof options);
  options.flags = flags;
  options.assembly.data = assembly;
  options.assembly.size = assembly_size;
  options.packed_cache.data = packed;
  options.packed_cache.size = packed_size;
  options.progress = report_progress;
  options.progress_context = (void*)context;
  return options;
}
static int32_t load_path(const char* path, size_t path_size, const tulle_adapter* adapters, size_t count,
                         const char* assembly, size_t assembly_size, const char* packed, size_t packed_size,
                         uint32_t flags, uintptr_t context, tulle_model** model, tulle_error* error) {
  const tulle_load_options options = load_options(assembly, assembly_size, packed, packed_size, flags, context);
  return tulle_model_load_adapted(path, path_size, adapters, count, &options, model, error);
}
static int32_t load_reader(uint64_t size, const char* assembly, size_t assembly_size, const char* packed,
                           size_t packed_size, uint32_t flags, uintptr_t context, tulle_model** model,
                           tulle_error* error) {
  const tulle_load_options options = load_options(assembly, assembly_size, packed, packed_size, flags, context);
  return tulle_model_load_reader(read_at, (void*)context, size, &options, model, error);
}
*/
import "C"

import (
	"io"
	"runtime/cgo"
	"unsafe"
)

// Model and Session are handles: numbers that the library looks up, so the use of a freed one is only an error.
type Model struct{ handle *C.tulle_model }
type Session struct{ handle *C.tulle_session }

// Failure is a status with its message.
type Failure struct {
	Status  int32
	Message string
	Cause   error // of the caller's reader
}

// newError returns an error struct with room for a message.
func newError() C.tulle_error {
	var failure C.tulle_error
	failure.struct_size = C.sizeof_tulle_error
	return failure
}

// check turns a status other than OK into a *Failure.
func check(status C.int32_t, failure *C.tulle_error) *Failure {
	if status == C.TULLE_OK {
		return nil
	}
	return &Failure{Status: int32(status), Message: C.GoString(&failure.message[0])}
}

// text and array are C views of a string and a slice, valid during one call.
func text(s string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))
}

func array[Element, CElement any](values []Element) (*CElement, C.size_t) {
	return (*CElement)(unsafe.Pointer(unsafe.SliceData(values))), C.size_t(len(values))
}

// fill writes the result of a call to a buffer, or only its size where the capacity is 0.
type fill func(buffer unsafe.Pointer, capacity C.size_t, size *C.size_t, failure *C.tulle_error) C.int32_t

// sized gets the size first, then fills a slice of that size.
func sized[Element any](call fill) ([]Element, *Failure) {
	failure := newError()
	var size C.size_t
	if err := check(call(nil, 0, &size, &failure), &failure); err != nil || size == 0 {
		return nil, err
	}
	values := make([]Element, size)
	err := check(call(unsafe.Pointer(unsafe.SliceData(values)), size, &size, &failure), &failure)
	return values, err
}

func AbiVersion() uint32 { return uint32(C.tulle_abi_version()) }
func Version() string    { return C.GoString(C.tulle_version()) }
func LiveHandles() int   { return int(C.tulle_live_handles()) }

// Choices lists the built-in choices of a kind: names, and whether this machine runs them.
func Choices(kind int32) (names []string, runs []bool, err *Failure) {
	for {
		var choice C.tulle_choice
		choice.struct_size = C.sizeof_tulle_choice
		failure := newError()
		status := C.tulle_choice_at(C.int32_t(kind), C.uint32_t(len(names)), &choice, &failure)
		if status == C.TULLE_END {
			return names, runs, nil
		}
		if err := check(status, &failure); err != nil {
			return nil, nil, err
		}
		names = append(names, C.GoStringN(choice.name.data, C.int(choice.name.size)))
		runs = append(runs, choice.runs != 0)
	}
}

func UseInstructionSet(name string) *Failure {
	failure := newError()
	data, size := text(name)
	return check(C.tulle_use_instruction_set(data, size, &failure), &failure)
}

// Progress is called with the name of the work and the fraction that is done; false ends loading.
type Progress = func(what string, fraction float64) bool

// LoadOptions are those of tulle_load_options.
type LoadOptions struct {
	Assembly, PackedCache string
	Flags                 uint32
}

// LoadPath loads a file or folder, with adapters of these paths and scales.
func LoadPath(path string, adapters []string, scales []float32, options LoadOptions, progress Progress) (Model, *Failure) {
	var memory arena
	defer memory.free()
	merged := make([]C.tulle_adapter, len(adapters))
	for i := range adapters {
		merged[i] = C.tulle_adapter{C.sizeof_tulle_adapter, C.float(scales[i]), memory.text(adapters[i])}
	}
	mergedData, mergedCount := array[C.tulle_adapter, C.tulle_adapter](merged)
	seen := &callbacks{progress: progress}
	handle := cgo.NewHandle(seen)
	defer handle.Delete()
	failure := newError()
	var model *C.tulle_model
	pathData, pathSize := text(path)
	assemblyData, assemblySize := text(options.Assembly)
	packedData, packedSize := text(options.PackedCache)
	status := C.load_path(pathData, pathSize, mergedData, mergedCount, assemblyData, assemblySize, packedData, packedSize,
		C.uint32_t(options.Flags), C.uintptr_t(handle), &model, &failure)
	seen.again()
	return Model{model}, check(status, &failure)
}

// LoadReader loads a GGUF file of size bytes.
func LoadReader(reader io.ReaderAt, size int64, options LoadOptions, progress Progress) (Model, *Failure) {
	seen := &callbacks{progress: progress, reader: reader}
	handle := cgo.NewHandle(seen)
	defer handle.Delete()
	failure := newError()
	var model *C.tulle_model
	assemblyData, assemblySize := text(options.Assembly)
	packedData, packedSize := text(options.PackedCache)
	status := C.load_reader(C.uint64_t(size), assemblyData, assemblySize, packedData, packedSize,
		C.uint32_t(options.Flags), C.uintptr_t(handle), &model, &failure)
	seen.again()
	err := check(status, &failure)
	if err != nil {
		err.Cause = seen.readError
	}
	return Model{model}, err
}

func (m Model) Free() { C.tulle_model_free(m.handle) }

// Info describes a model.
type Info struct {
	WeightBytes                                       uint64
	Flags                                             uint32
	Vocabulary, Tokens, ContextLength, Layers, Hidden int
	Bos, Eos                                          int32
}

func (m Model) Describe() (Info, *Failure) {
	var info C.tulle_model_info
	info.struct_size = C.sizeof_tulle_model_info
	failure := newError()
	err := check(C.tulle_model_describe(m.handle, &info, &failure), &failure)
	return Info{uint64(info.weight_bytes), uint32(info.flags), int(info.vocabulary), int(info.tokens),
		int(info.context_length), int(info.layers), int(info.hidden), int32(info.bos), int32(info.eos)}, err
}

func (m Model) Encode(prompt string, flags uint32) ([]int32, *Failure) {
	data, length := text(prompt)
	return sized[int32](func(buffer unsafe.Pointer, room C.size_t, size *C.size_t, failure *C.tulle_error) C.int32_t {
		return C.tulle_encode(m.handle, data, length, C.uint32_t(flags), (*C.int32_t)(buffer), room, size, failure)
	})
}

func (m Model) Decode(tokens []int32, flags uint32) (string, *Failure) {
	data, count := array[int32, C.int32_t](tokens)
	bytes, err := sized[byte](func(buffer unsafe.Pointer, room C.size_t, size *C.size_t, failure *C.tulle_error) C.int32_t {
		return C.tulle_decode(m.handle, data, count, C.uint32_t(flags), (*C.char)(buffer), room, size, failure)
	})
	return string(bytes), err
}

// ChatPrompt renders roles and contents, which have the same length.
func (m Model) ChatPrompt(roles, contents []string, flags uint32) (string, *Failure) {
	var memory arena
	defer memory.free()
	messages := make([]C.tulle_message, len(roles))
	for i := range roles {
		messages[i] = C.tulle_message{role: memory.text(roles[i]), content: memory.text(contents[i])}
	}
	data, count := array[C.tulle_message, C.tulle_message](messages)
	bytes, err := sized[byte](func(buffer unsafe.Pointer, room C.size_t, size *C.size_t, failure *C.tulle_error) C.int32_t {
		return C.tulle_chat_prompt(m.handle, data, count, C.uint32_t(flags), (*C.char)(buffer), room, size, failure)
	})
	return string(bytes), err
}
