// SPDX-License-Identifier: Apache-2.0
use tulle_sys as sys;

/// The reason why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// An eos token or a stop string.
    Stop,
    /// `max_new_tokens`.
    Length,
    /// The session is full.
    Capacity,
    /// A [`Canceller`](crate::Canceller).
    Cancelled,
    /// A reason of a newer library.
    Other(i32),
}

impl FinishReason {
    pub(crate) fn new(value: i32) -> Option<Self> {
        match value {
            sys::TULLE_FINISH_NONE => None,
            sys::TULLE_FINISH_STOP => Some(Self::Stop),
            sys::TULLE_FINISH_LENGTH => Some(Self::Length),
            sys::TULLE_FINISH_CAPACITY => Some(Self::Capacity),
            sys::TULLE_FINISH_CANCELLED => Some(Self::Cancelled),
            other => Some(Self::Other(other)),
        }
    }
}

/// One generated token.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Token {
    /// None when the generation ended without one.
    pub id: Option<i32>,
    /// Bytes of the token; possibly a part of a character.
    pub bytes: Vec<u8>,
    /// Whole characters; may be empty. All texts put together are the text.
    pub text: String,
    /// Under the raw logits; 0 unless asked for with [`log_probabilities`](crate::GenerateOptions::log_probabilities).
    pub log_probability: f32,
    /// On the last one.
    pub finish_reason: Option<FinishReason>,
}
