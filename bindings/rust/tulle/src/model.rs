// SPDX-License-Identifier: Apache-2.0
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use tulle_sys as sys;

use crate::raw;
use crate::{Error, LoadOptions, Result, Session, SessionOptions};

/// A loaded model with its tokenizer and chat template: immutable, shared between threads, cheap to clone.
///
/// ```
/// fn shared<T: Send + Sync + Clone>() {}
/// shared::<tulle::Model>();
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) handle: Arc<raw::ModelHandle>,
}

/// The description of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// Of all matrices, as they are packed in memory.
    pub weight_bytes: u64,
    /// Logits of a position; input ids are below it.
    pub vocabulary: u32,
    /// Tokens of the tokenizer; generated ids are below it; 0 without a tokenizer.
    pub tokens: u32,
    /// Positions the model was trained for.
    pub context_length: u32,
    /// Layers of the decoder.
    pub layers: u32,
    /// Width of the decoder.
    pub hidden: u32,
    /// The token that begins a text.
    pub bos: Option<i32>,
    /// The first of the tokens that end one.
    pub eos: Option<i32>,
    /// Whether [`Model::chat_prompt`] works.
    pub has_chat_template: bool,
}

/// One turn of a conversation.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// `system`, `user`, `assistant`, or another role of the model's template.
    pub role: &'a str,
    /// The text of the turn.
    pub content: &'a str,
}

/// A kind of choices by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceKind {
    /// How weight matrices are stored and multiplied.
    Kernels,
    /// Where keys and values are stored.
    Caches,
    /// How logits become a token.
    Samplers,
    /// The instruction set of the inner loops.
    InstructionSets,
}

/// One built-in choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The name for options.
    pub name: String,
    /// Whether this machine can run it.
    pub runs: bool,
}

/// All built-in choices of one kind.
pub fn choices(kind: ChoiceKind) -> Result<Vec<Choice>> {
    raw::choices(match kind {
        ChoiceKind::Kernels => sys::TULLE_KERNELS,
        ChoiceKind::Caches => sys::TULLE_CACHES,
        ChoiceKind::Samplers => sys::TULLE_SAMPLERS,
        ChoiceKind::InstructionSets => sys::TULLE_INSTRUCTION_SETS,
    })
}

/// Sets the instruction set of the whole process, in place of the machine's best. Call it before a model is loaded.
pub fn use_instruction_set(name: &str) -> Result<()> {
    raw::use_instruction_set(name)
}

impl Model {
    /// From a Hugging Face directory (safetensors) or a GGUF file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::load_with(path, LoadOptions::new())
    }

    /// From a path, with options.
    pub fn load_with(path: impl AsRef<Path>, options: LoadOptions<'_>) -> Result<Self> {
        let path = path.as_ref();
        let text = path.to_str().ok_or_else(|| Error::InvalidArgument(format!("the path {path:?} is not UTF-8")))?;
        Self::of(raw::load_path(text, options)?)
    }

    /// From the bytes of a GGUF file.
    pub fn from_bytes(bytes: &[u8], options: LoadOptions<'_>) -> Result<Self> {
        Self::of(raw::load_bytes(bytes, options)?)
    }

    /// From a GGUF file of `size` bytes that `reader` gives. An error of the reader is in the message of
    /// [`Error::Io`](crate::Error::Io).
    pub fn from_reader<'a>(reader: &'a mut dyn Read, size: u64, options: LoadOptions<'a>) -> Result<Self> {
        Self::of(raw::load_reader(reader, size, options)?)
    }

    fn of(handle: raw::ModelHandle) -> Result<Self> {
        Ok(Self { handle: Arc::new(handle) })
    }

    /// Describes the model.
    pub fn info(&self) -> Result<ModelInfo> {
        let info = raw::describe(&self.handle)?;
        Ok(ModelInfo {
            weight_bytes: info.weight_bytes,
            vocabulary: info.vocabulary,
            tokens: info.tokens,
            context_length: info.context_length,
            layers: info.layers,
            hidden: info.hidden,
            bos: (info.bos >= 0).then_some(info.bos),
            eos: (info.eos >= 0).then_some(info.eos),
            has_chat_template: info.flags & sys::TULLE_HAS_CHAT_TEMPLATE != 0,
        })
    }

    /// The ids of a text, without special tokens around it.
    pub fn encode(&self, text: &str) -> Result<Vec<i32>> {
        raw::encode(&self.handle, text, 0)
    }

    /// The ids of a text with the tokenizer's tokens around it (`<s>` and the like).
    pub fn encode_with_special_tokens(&self, text: &str) -> Result<Vec<i32>> {
        raw::encode(&self.handle, text, sys::TULLE_ADD_SPECIAL_TOKENS)
    }

    /// The text of ids, with U+FFFD where their bytes are not UTF-8.
    pub fn decode(&self, tokens: &[i32], skip_special_tokens: bool) -> Result<String> {
        raw::decode(&self.handle, tokens, if skip_special_tokens { sys::TULLE_SKIP_SPECIAL_TOKENS } else { 0 })
    }

    /// The prompt for messages by the model's own chat template, ending with the beginning of the answer. Its special
    /// tokens are in the text: generate from it with [`no_special_tokens`](crate::GenerateOptions::no_special_tokens).
    pub fn chat_prompt(&self, messages: &[Message<'_>]) -> Result<String> {
        raw::chat_prompt(&self.handle, messages, sys::TULLE_ADD_GENERATION_PROMPT)
    }

    /// An empty text with all defaults.
    pub fn session(&self) -> Result<Session> {
        self.session_with(&SessionOptions::new())
    }

    /// An empty text.
    pub fn session_with(&self, options: &SessionOptions) -> Result<Session> {
        Ok(Session { handle: raw::open_session(&self.handle, options)? })
    }
}
