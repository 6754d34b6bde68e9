// SPDX-License-Identifier: Apache-2.0
use crate::raw;
use crate::{GenerateOptions, Result, Token};

/// One growing text: a history of tokens, its keys and values, and threads of its own. It keeps its model alive.
///
/// ```
/// fn movable<T: Send>() {}
/// movable::<tulle::Session>();
/// ```
pub struct Session {
    pub(crate) handle: raw::SessionHandle,
}

/// Ends the generation of one session, from any thread.
#[derive(Clone, Copy, Debug)]
pub struct Canceller {
    pub(crate) target: raw::CancelTarget,
}

impl Canceller {
    /// Ends the running generation within a layer's time, also while the prompt is read: its next token says
    /// [`FinishReason::Cancelled`](crate::FinishReason::Cancelled). Does nothing where none runs, or the session is gone.
    pub fn cancel(&self) {
        raw::cancel(self.target);
    }
}

/// What a generation took.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Timings {
    /// Tokens that were read.
    pub prompt_tokens: u64,
    /// Tokens that were made.
    pub generated_tokens: u64,
    /// Until the first token was there.
    pub prefill_seconds: f64,
    /// From then on.
    pub decode_seconds: f64,
}

impl Session {
    /// Appends a text and generates. Leaving the iterator early is fine: what was generated stays.
    pub fn generate(&mut self, text: &str, options: &GenerateOptions) -> Result<Generation<'_>> {
        raw::generate_text(&mut self.handle, text, options)?;
        Ok(Generation { session: self, failed: false })
    }

    /// Appends tokens and generates; without tokens it goes on after the last one.
    pub fn generate_tokens(&mut self, tokens: &[i32], options: &GenerateOptions) -> Result<Generation<'_>> {
        raw::generate_tokens(&mut self.handle, tokens, options)?;
        Ok(Generation { session: self, failed: false })
    }

    /// What ends a generation of this session from another thread.
    pub fn canceller(&self) -> Canceller {
        Canceller { target: self.handle.cancel_target() }
    }

    /// Every token so far, prompts and answers.
    pub fn history(&mut self) -> Result<Vec<i32>> {
        raw::history(&mut self.handle)
    }

    /// Forgets all but the first `length` tokens; 0 forgets everything.
    pub fn truncate(&mut self, length: usize) -> Result<()> {
        raw::truncate(&mut self.handle, length)
    }

    /// A copy that goes its own way; nothing is computed again.
    pub fn fork(&mut self) -> Result<Session> {
        Ok(Session { handle: raw::fork(&mut self.handle)? })
    }

    /// History, keys and values as bytes, for a session with the same model and options.
    pub fn save(&mut self) -> Result<Vec<u8>> {
        raw::save(&mut self.handle)
    }

    /// Replaces what the session holds by what [`save`](Self::save) gave.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        raw::restore(&mut self.handle, bytes)
    }

    /// What the last generation took so far.
    pub fn timings(&mut self) -> Result<Timings> {
        raw::timings(&mut self.handle)
    }
}

/// Tokens, generated as they are asked for. Ends after a token with a finish reason, or after an error.
pub struct Generation<'s> {
    session: &'s mut Session,
    failed: bool,
}

impl Generation<'_> {
    /// The raw logits \[vocabulary\] from which the last token was chosen. Errors: [`Error::State`](crate::Error::State) unless
    /// [`keep_logits`](GenerateOptions::keep_logits) was asked for and a token was read.
    pub fn logits(&mut self) -> Result<Vec<f32>> {
        raw::logits(&mut self.session.handle)
    }

    /// Ends this generation from another thread.
    pub fn canceller(&self) -> Canceller {
        self.session.canceller()
    }

    /// Reads to the end; the text.
    pub fn into_text(self) -> Result<String> {
        let mut text = String::new();
        for token in self {
            text += &token?.text;
        }
        Ok(text)
    }
}

impl Iterator for Generation<'_> {
    type Item = Result<Token>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = raw::next(&mut self.session.handle);
        self.failed = next.is_err();
        next.transpose()
    }
}
