// SPDX-License-Identifier: Apache-2.0
use crate::raw;
use crate::{GenerateOptions, Result, Token};

/// One growing text: a history of tokens, its keys and values, and its own threads. It keeps its model alive.
///
/// ```
/// fn movable<T: Send>() {}
/// movable::<tulle::Session>();
/// ```
#[derive(Debug)]
pub struct Session {
    pub(crate) handle: raw::SessionHandle,
}

/// Ends the generation of one session, from any thread.
#[derive(Clone, Copy, Debug)]
pub struct Canceller {
    pub(crate) target: raw::CancelTarget,
}

impl Canceller {
    /// Ends the running generation within the time of one layer, also while the prompt is read. Its next token has
    /// [`FinishReason::Cancelled`](crate::FinishReason::Cancelled). Does nothing where none runs, or the session is gone.
    pub fn cancel(&self) {
        raw::cancel(self.target);
    }
}

/// Timings of a generation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Timings {
    /// Tokens that were read.
    pub prompt_tokens: u64,
    /// Tokens that were generated.
    pub generated_tokens: u64,
    /// Until the first token.
    pub prefill_seconds: f64,
    /// After the first token.
    pub decode_seconds: f64,
    /// Tokens that a drafter guessed.
    pub draft_tokens: u64,
    /// Of them, those that are in the text.
    pub accepted_draft_tokens: u64,
}

impl Session {
    /// Appends a text and generates. The iterator may be left early: the tokens so far are kept.
    pub fn generate(&mut self, text: &str, options: &GenerateOptions) -> Result<Generation<'_>> {
        raw::generate_text(&mut self.handle, text, options)?;
        Ok(Generation { session: self, failed: false })
    }

    /// Appends tokens and generates; without tokens it continues after the last one.
    pub fn generate_tokens(&mut self, tokens: &[i32], options: &GenerateOptions) -> Result<Generation<'_>> {
        raw::generate_tokens(&mut self.handle, tokens, options)?;
        Ok(Generation { session: self, failed: false })
    }

    /// Ends a generation of this session from another thread.
    pub fn canceller(&self) -> Canceller {
        Canceller { target: self.handle.cancel_target() }
    }

    /// Every token so far, prompts and answers.
    pub fn history(&mut self) -> Result<Vec<i32>> {
        raw::history(&mut self.handle)
    }

    /// Removes all tokens but the first `length`.
    pub fn truncate(&mut self, length: usize) -> Result<()> {
        raw::truncate(&mut self.handle, length)
    }

    /// Decodes speculatively from now on, with the same text: `drafter` guesses up to `max_tokens` tokens (0: 7), which
    /// one pass of the model checks. "ngram" copies repeated text, "self:i4" is the model with other weights, a path is
    /// a smaller model with the same tokens; "" ends it. A fork has no drafter. A generation that has not ended is ended.
    pub fn draft(&mut self, drafter: &str, max_tokens: u32) -> Result<()> {
        raw::draft(&mut self.handle, drafter, max_tokens)
    }

    /// An independent copy; nothing is computed again.
    pub fn fork(&mut self) -> Result<Session> {
        Ok(Session { handle: raw::fork(&mut self.handle)? })
    }

    /// History, keys and values as bytes, for a session with the same model and options.
    pub fn save(&mut self) -> Result<Vec<u8>> {
        raw::save(&mut self.handle)
    }

    /// Replaces the session's content by the bytes of [`save`](Self::save).
    pub fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        raw::restore(&mut self.handle, bytes)
    }

    /// Timings of the last generation so far.
    pub fn timings(&mut self) -> Result<Timings> {
        raw::timings(&mut self.handle)
    }
}

/// Iterator of tokens, generated on demand. Ends after a token with a finish reason, or after an error.
#[derive(Debug)]
pub struct Generation<'s> {
    session: &'s mut Session,
    failed: bool,
}

impl Generation<'_> {
    /// The raw logits \[vocabulary\] from which the last token was chosen. Errors: [`Error::State`](crate::Error::State)
    /// unless [`keep_logits`](GenerateOptions::keep_logits) was set and a token was read.
    pub fn logits(&mut self) -> Result<Vec<f32>> {
        raw::logits(&mut self.session.handle)
    }

    /// Ends this generation from another thread.
    pub fn canceller(&self) -> Canceller {
        self.session.canceller()
    }

    /// Reads on in the prompt, one pass of the model: how much of it has been read, in \[0, 1\]; `None` where nothing is
    /// left to read. Without it the first token waits for all of a long prompt.
    ///
    /// ```no_run
    /// # fn read(session: &mut tulle::Session, prompt: &str) -> tulle::Result<String> {
    /// let mut generation = session.generate(prompt, &Default::default())?;
    /// while let Some(fraction) = generation.read_prompt()? {
    ///     eprint!("\r{:3.0} %", 100.0 * fraction);
    /// }
    /// generation.into_text()
    /// # }
    /// ```
    pub fn read_prompt(&mut self) -> Result<Option<f64>> {
        raw::read_prompt(&mut self.session.handle)
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
