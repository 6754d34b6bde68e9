// SPDX-License-Identifier: Apache-2.0
//! Text generation with sparse, quantized language models.
//!
//! ```
//! # fn main() -> tulle::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/golden/models/gguf/f32.gguf");
//! use tulle::{GenerateOptions, Model};
//!
//! let model = Model::load(path)?; // a Hugging Face folder or a GGUF file
//! let mut session = model.session()?;
//! for token in session.generate("Once upon a time", &GenerateOptions::new().max_new_tokens(16))? {
//!     print!("{}", token?.text);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A [`Model`] is immutable, cheap to clone and shared between threads. A [`Session`] is one growing text, for one
//! thread at a time; a [`Canceller`] ends its generation from any other. Every error says what is wrong, where, and what
//! to do.
#![warn(missing_docs, missing_debug_implementations)]
#![deny(unsafe_code, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod error;
mod model;
mod options;
#[allow(unsafe_code)]
mod raw;
mod session;
mod token;

pub use error::{Error, Result};
pub use model::{choices, use_instruction_set, Choice, ChoiceKind, Message, Model, ModelInfo};
pub use options::{GenerateOptions, LoadOptions, SessionOptions};
pub use session::{Canceller, Generation, Session, Timings};
pub use token::{FinishReason, Token};

/// The version of the linked library.
pub fn version() -> &'static str {
    raw::version()
}
