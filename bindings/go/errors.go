// SPDX-License-Identifier: Apache-2.0

package tulle

import (
	"fmt"

	"tulle/internal/capi"
)

// Code is what kind of thing went wrong; errors.Is(err, ErrNotFound) compares it.
type Code int32

const (
	ErrInvalidArgument = Code(capi.InvalidArgument) // an option, token or text that makes no sense
	ErrState           = Code(capi.State)           // a call that this object cannot take now
	ErrClosed          = Code(capi.InvalidHandle)   // a model or session that was closed
	ErrBusy            = Code(capi.Busy)            // another goroutine is using the session
	ErrIO              = Code(capi.IO)              // the file system, or the reader, said no
	ErrMalformed       = Code(capi.Malformed)       // a file or saved session that breaks its format's rules
	ErrUnsupported     = Code(capi.Unsupported)     // valid, but this library or machine cannot run it
	ErrNotFound        = Code(capi.NotFound)        // a file, tensor or name that is not there
	ErrCapacity        = Code(capi.Capacity)        // longer than the context, the cache or a limit
	ErrOutOfMemory     = Code(capi.OutOfMemory)     // an allocation that the system refused
	ErrInternal        = Code(capi.Internal)        // a defect of the library
)

func (c Code) Error() string { return fmt.Sprintf("tulle: code %d", int32(c)) }

// Error is why a call failed: one line that says what is wrong, where, and what to do.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return "tulle: " + e.Message }

// Is compares with a Code, for errors.Is.
func (e *Error) Is(target error) bool {
	code, is := target.(Code)
	return is && code == e.Code
}

// wrap makes an error of a failure, and a nil error of none.
func wrap(failure *capi.Failure) error {
	if failure == nil {
		return nil
	}
	return &Error{Code(failure.Status), failure.Message}
}

// Must gives the value, and panics where there is an error: for examples and scripts.
func Must[Value any](value Value, err error) Value {
	if err != nil {
		panic(err)
	}
	return value
}
