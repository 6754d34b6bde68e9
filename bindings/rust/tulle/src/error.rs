// SPDX-License-Identifier: Apache-2.0
use std::fmt;

use tulle_sys as sys;

/// The result of a call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason of a failed call. Each variant holds one line that says what is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An invalid option, token or text.
    InvalidArgument(String),
    /// A call that is not allowed in the present state.
    State(String),
    /// Another thread is using the session.
    Busy(String),
    /// An error of the file system or of the given reader.
    Io(String),
    /// A file or saved session that breaks its format's rules.
    Malformed(String),
    /// Valid, but this library or machine cannot run it.
    Unsupported(String),
    /// A missing file, tensor or name.
    NotFound(String),
    /// Longer than the context, the cache or a limit.
    Capacity(String),
    /// A failed allocation.
    OutOfMemory(String),
    /// The progress function ended loading.
    Cancelled(String),
    /// The linked library has another version of the C ABI.
    AbiMismatch(String),
    /// A defect of the library, or a status of a newer one.
    Internal(String),
}

impl Error {
    pub(crate) fn new(status: i32, message: String) -> Self {
        match status {
            sys::TULLE_INVALID_ARGUMENT => Self::InvalidArgument(message),
            sys::TULLE_STATE => Self::State(message),
            sys::TULLE_BUSY => Self::Busy(message),
            sys::TULLE_IO => Self::Io(message),
            sys::TULLE_MALFORMED => Self::Malformed(message),
            sys::TULLE_UNSUPPORTED => Self::Unsupported(message),
            sys::TULLE_NOT_FOUND => Self::NotFound(message),
            sys::TULLE_CAPACITY => Self::Capacity(message),
            sys::TULLE_OUT_OF_MEMORY => Self::OutOfMemory(message),
            sys::TULLE_CANCELLED => Self::Cancelled(message),
            _ => Self::Internal(message),
        }
    }

    /// What is wrong, where, and what to do.
    pub fn message(&self) -> &str {
        match self {
            Self::InvalidArgument(message)
            | Self::State(message)
            | Self::Busy(message)
            | Self::Io(message)
            | Self::Malformed(message)
            | Self::Unsupported(message)
            | Self::NotFound(message)
            | Self::Capacity(message)
            | Self::OutOfMemory(message)
            | Self::Cancelled(message)
            | Self::AbiMismatch(message)
            | Self::Internal(message) => message,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.message())
    }
}

impl std::error::Error for Error {}
