// SPDX-License-Identifier: Apache-2.0
use std::fmt;

use tulle_sys as sys;

pub(crate) type Progress<'a> = Box<dyn FnMut(&str, f64) -> bool + 'a>;

/// How a model is loaded.
#[derive(Default)]
pub struct LoadOptions<'a> {
    pub(crate) assembly: String,
    pub(crate) progress: Option<Progress<'a>>,
    pub(crate) adapters: Vec<(String, f32)>,
    pub(crate) packed_cache: String,
    pub(crate) verify_packed: bool,
}

impl fmt::Debug for LoadOptions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LoadOptions")
            .field("assembly", &self.assembly)
            .field("adapters", &self.adapters)
            .field("packed_cache", &self.packed_cache)
            .field("verify_packed", &self.verify_packed)
            .finish_non_exhaustive()
    }
}

impl<'a> LoadOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// KERNEL\[/CACHE\[/SAMPLER\]\], such as `auto/paged_i8`; see [`choices`](crate::choices).
    pub fn assembly(mut self, name: &str) -> Self {
        self.assembly = name.to_owned();
        self
    }

    /// Adds a LoRA adapter (a directory that PEFT saved), which is merged into the weights; `scale` multiplies its own.
    /// For [`Model::load_with`](crate::Model::load_with).
    pub fn adapter(mut self, path: &str, scale: f32) -> Self {
        self.adapters.push((path.to_owned(), scale));
        self
    }

    /// Where packed weights are kept, so that the next start is quick: `off` (the default); `on`, a file of the user's
    /// cache folder; `auto`, the same for models of 200 MB and more; else a file that `tulle pack` made.
    /// For [`Model::load_with`](crate::Model::load_with).
    pub fn packed_cache(mut self, place: &str) -> Self {
        self.packed_cache = place.to_owned();
        self
    }

    /// Hashes all packed weights that were kept before they are used.
    pub fn verify_packed(mut self, on: bool) -> Self {
        self.verify_packed = on;
        self
    }

    /// Called with the work and the fraction that is done; false ends loading with
    /// [`Error::Cancelled`](crate::Error::Cancelled).
    pub fn progress(mut self, report: impl FnMut(&str, f64) -> bool + 'a) -> Self {
        self.progress = Some(Box::new(report));
        self
    }
}

/// Options of a session. A value that is not set keeps the library's default.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    pub(crate) cache: String,
    pub(crate) threads: u32,
    pub(crate) sequence_length: u64,
    pub(crate) prompt_sequence_length: Option<u64>,
    pub(crate) window: u64,
    pub(crate) sinks: Option<u64>,
}

impl SessionOptions {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// `contiguous`, `sliding` or `paged`, optionally with an element: `paged_i8`.
    pub fn cache(mut self, name: &str) -> Self {
        self.cache = name.to_owned();
        self
    }

    /// 0 is one per core.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    /// Tokens that the session can hold; 0 is the model's own, at most 4096.
    pub fn sequence_length(mut self, tokens: u64) -> Self {
        self.sequence_length = tokens;
        self
    }

    /// Prompt tokens in one pass.
    pub fn prompt_sequence_length(mut self, tokens: u64) -> Self {
        self.prompt_sequence_length = Some(tokens);
        self
    }

    /// Window and first positions that a sliding cache keeps.
    pub fn sliding_window(mut self, window: u64, sinks: u64) -> Self {
        self.window = window;
        self.sinks = Some(sinks);
        self
    }
}

/// Options of one generation. A value that is not set keeps the library's default: greedy, 100 tokens.
///
/// ```
/// use tulle::GenerateOptions;
/// let options = GenerateOptions::new().temperature(0.8).top_p(0.95).seed(7).stop(["\n\n"]);
/// ```
#[derive(Clone, Debug)]
pub struct GenerateOptions {
    pub(crate) numbers: sys_numbers::Numbers,
    pub(crate) sampler: String,
    pub(crate) eos: Vec<i32>,
    pub(crate) stop: Vec<String>,
    pub(crate) constraint: (i32, String),
}

pub(crate) mod sys_numbers {
    /// The settings that are plain numbers, by their names in the C ABI.
    #[derive(Clone, Debug)]
    pub struct Numbers {
        pub flags: u32,
        pub max_new_tokens: u64,
        pub seed: u64,
        pub temperature: f32,
        pub top_p: f32,
        pub min_p: f32,
        pub typical_p: f32,
        pub repetition_penalty: f32,
        pub presence_penalty: f32,
        pub frequency_penalty: f32,
        pub top_k: i32,
        pub no_repeat_ngram: i32,
        pub min_new_tokens: i32,
    }
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self {
            numbers: crate::raw::default_numbers(),
            sampler: String::new(),
            eos: Vec::new(),
            stop: Vec::new(),
            constraint: (sys::TULLE_UNCONSTRAINED, String::new()),
        }
    }
}

macro_rules! numbers {
    ($($(#[$text:meta])* $name:ident: $kind:ty;)*) => {
        $($(#[$text])* pub fn $name(mut self, $name: $kind) -> Self {
            self.numbers.$name = $name;
            self
        })*
    };
}

macro_rules! flags {
    ($($(#[$text:meta])* $name:ident: $flag:ident;)*) => {
        $($(#[$text])* pub fn $name(mut self, on: bool) -> Self {
            let flag = sys::$flag;
            self.numbers.flags = if on { self.numbers.flags | flag } else { self.numbers.flags & !flag };
            self
        })*
    };
}

impl GenerateOptions {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }

    numbers! {
        /// 0 only puts the text into the cache.
        max_new_tokens: u64;
        /// The same seed draws the same text.
        seed: u64;
        /// 0 is greedy.
        temperature: f32;
        /// 0 is off.
        top_k: i32;
        /// 1 is off.
        top_p: f32;
        /// 0 is off.
        min_p: f32;
        /// 1 is off.
        typical_p: f32;
        /// 1 is off; counts the whole history.
        repetition_penalty: f32;
        /// 0 is off; counts generated tokens.
        presence_penalty: f32;
        /// 0 is off; counts generated tokens.
        frequency_penalty: f32;
        /// 0 is off.
        no_repeat_ngram: i32;
        /// No eos before this number of new tokens.
        min_new_tokens: i32;
    }

    flags! {
        /// End at `max_new_tokens`, not at an eos token.
        ignore_eos: TULLE_IGNORE_EOS;
        /// Add no special tokens around the first text.
        no_special_tokens: TULLE_NO_SPECIAL_TOKENS;
        /// Special tokens have text too.
        show_special_tokens: TULLE_SHOW_SPECIAL_TOKENS;
        /// Of every token, under the raw logits.
        log_probabilities: TULLE_LOG_PROBABILITIES;
        /// For [`Generation::logits`](crate::Generation::logits).
        keep_logits: TULLE_KEEP_LOGITS;
    }

    /// `greedy`, or `hugging_face` or `llama_cpp` to draw. Without it that of the model's assembly, else `hugging_face`
    /// where `temperature`, `top_k`, `top_p`, `min_p` or `typical_p` is not its default.
    pub fn sampler(mut self, name: &str) -> Self {
        self.sampler = name.to_owned();
        self
    }

    /// Ids that end the text, in place of the model's own.
    pub fn eos(mut self, ids: impl Into<Vec<i32>>) -> Self {
        self.eos = ids.into();
        self
    }

    /// The text ends before the first of these.
    pub fn stop<Text: Into<String>>(mut self, texts: impl IntoIterator<Item = Text>) -> Self {
        self.stop = texts.into_iter().map(Into::into).collect();
        self
    }

    /// The text is JSON that this schema (a JSON text) accepts: compact, with the properties in the schema's order. Of
    /// this and the next three the last one counts. The text ends where it is complete.
    pub fn json_schema(self, schema: &str) -> Self {
        self.constrained(sys::TULLE_JSON_SCHEMA, schema)
    }

    /// The text is a JSON object.
    pub fn json_object(self) -> Self {
        self.constrained(sys::TULLE_JSON_OBJECT, "")
    }

    /// The text follows an EBNF grammar: `root ::= "yes" | "no"`.
    pub fn grammar(self, rules: &str) -> Self {
        self.constrained(sys::TULLE_GRAMMAR, rules)
    }

    /// The regular expression matches the text as a whole.
    pub fn regex(self, pattern: &str) -> Self {
        self.constrained(sys::TULLE_REGEX, pattern)
    }

    fn constrained(mut self, kind: i32, text: &str) -> Self {
        self.constraint = (kind, text.to_owned());
        self
    }
}
