// SPDX-License-Identifier: Apache-2.0

package tulle

import (
	"fmt"

	"tulle/internal/capi"
)

// Code is the kind of an error; errors.Is(err, ErrNotFound) compares it.
type Code int32

const (
	ErrInvalidArgument = Code(capi.InvalidArgument) // an invalid option, token or text
	ErrState           = Code(capi.State)           // a call that is not allowed in the present state
	ErrClosed          = Code(capi.InvalidHandle)   // a model or session that was closed
	ErrBusy            = Code(capi.Busy)            // another goroutine is using the session
	ErrIO              = Code(capi.IO)              // an error of the file system or the reader
	ErrMalformed       = Code(capi.Malformed)       // a file or saved session that breaks its format's rules
	ErrUnsupported     = Code(capi.Unsupported)     // valid, but this library or machine cannot run it
	ErrNotFound        = Code(capi.NotFound)        // a missing file, tensor or name
	ErrCapacity        = Code(capi.Capacity)        // longer than the context, the cache or a limit
	ErrOutOfMemory     = Code(capi.OutOfMemory)     // a failed allocation
	ErrInternal        = Code(capi.Internal)        // a defect of the library
)

func (c Code) Error() string { return fmt.Sprintf("tulle: code %d", int32(c)) }

// Error is the reason of a failed call: one line that says what is wrong, where, and what to do.
type Error struct {
	Code    Code
	Message string
	cause   error
}

func (e *Error) Error() string { return "tulle: " + e.Message }

// Unwrap returns the error of LoadReader's reader, where that is the reason; else nil.
func (e *Error) Unwrap() error { return e.cause }

// Is compares with a Code, for errors.Is.
func (e *Error) Is(target error) bool {
	code, is := target.(Code)
	return is && code == e.Code
}

// wrap turns a failure into an error, and no failure into nil.
func wrap(failure *capi.Failure) error {
	if failure == nil {
		return nil
	}
	message := failure.Message
	if failure.Cause != nil {
		message += ": " + failure.Cause.Error()
	}
	return &Error{Code(failure.Status), message, failure.Cause}
}

func invalid(format string, values ...any) error {
	return &Error{Code: ErrInvalidArgument, Message: fmt.Sprintf(format, values...)}
}

// Must returns the value and panics on an error: for examples and scripts.
func Must[Value any](value Value, err error) Value {
	if err != nil {
		panic(err)
	}
	return value
}
