// SPDX-License-Identifier: Apache-2.0
// Made by declare.py from tulle.h and tulle_experimental.h.

use core::ffi::{c_char, c_void};

pub const TULLE_ABI_VERSION: u32 = 1;
pub const TULLE_OK: i32 = 0;
pub const TULLE_INVALID_ARGUMENT: i32 = 1;
pub const TULLE_STATE: i32 = 2;
pub const TULLE_INVALID_HANDLE: i32 = 3;
pub const TULLE_BUSY: i32 = 4;
pub const TULLE_IO: i32 = 10;
pub const TULLE_MALFORMED: i32 = 11;
pub const TULLE_UNSUPPORTED: i32 = 12;
pub const TULLE_NOT_FOUND: i32 = 13;
pub const TULLE_CAPACITY: i32 = 20;
pub const TULLE_OUT_OF_MEMORY: i32 = 21;
pub const TULLE_BUFFER_TOO_SMALL: i32 = 22;
pub const TULLE_CANCELLED: i32 = 30;
pub const TULLE_END: i32 = 31;
pub const TULLE_INTERNAL: i32 = 99;
pub const TULLE_KERNELS: i32 = 1;
pub const TULLE_CACHES: i32 = 2;
pub const TULLE_SAMPLERS: i32 = 3;
pub const TULLE_INSTRUCTION_SETS: i32 = 4;
pub const TULLE_VERIFY_PACKED: u32 = 1;
pub const TULLE_HAS_TOKENIZER: u32 = 1;
pub const TULLE_HAS_CHAT_TEMPLATE: u32 = 2;
pub const TULLE_ADD_SPECIAL_TOKENS: u32 = 1;
pub const TULLE_PLAIN_TEXT: u32 = 2;
pub const TULLE_SKIP_SPECIAL_TOKENS: u32 = 4;
pub const TULLE_ADD_GENERATION_PROMPT: u32 = 1;
pub const TULLE_IGNORE_EOS: u32 = 1;
pub const TULLE_NO_SPECIAL_TOKENS: u32 = 2;
pub const TULLE_SHOW_SPECIAL_TOKENS: u32 = 4;
pub const TULLE_LOG_PROBABILITIES: u32 = 8;
pub const TULLE_KEEP_LOGITS: u32 = 16;
pub const TULLE_FINISH_NONE: i32 = 0;
pub const TULLE_FINISH_STOP: i32 = 1;
pub const TULLE_FINISH_LENGTH: i32 = 2;
pub const TULLE_FINISH_CAPACITY: i32 = 3;
pub const TULLE_FINISH_CANCELLED: i32 = 5;

/// Opaque.
#[repr(C)]
pub struct tulle_model {
    _private: [u8; 0],
}

/// Opaque.
#[repr(C)]
pub struct tulle_session {
    _private: [u8; 0],
}

pub type tulle_progress = Option<unsafe extern "C" fn(context: *mut c_void, what: *const c_char, what_size: usize, fraction: f64) -> i32>;

pub type tulle_read = Option<unsafe extern "C" fn(context: *mut c_void, offset: u64, buffer: *mut c_void, size: usize) -> i32>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tulle_error {
    pub struct_size: u32,
    pub status: i32,
    pub message: [c_char; 1016],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tulle_string {
    pub data: *const c_char,
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tulle_choice {
    pub struct_size: u32,
    pub runs: u32,
    pub name: tulle_string,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tulle_load_options {
    pub struct_size: u32,
    pub flags: u32,
    pub assembly: tulle_string,
    pub progress: tulle_progress,
    pub progress_context: *mut c_void,
    pub packed_cache: tulle_string,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tulle_model_info {
    pub struct_size: u32,
    pub flags: u32,
    pub weight_bytes: u64,
    pub vocabulary: u32,
    pub tokens: u32,
    pub context_length: u32,
    pub layers: u32,
    pub hidden: u32,
    pub bos: i32,
    pub eos: i32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tulle_message {
    pub role: tulle_string,
    pub content: tulle_string,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tulle_session_options {
    pub struct_size: u32,
    pub threads: u32,
    pub cache: tulle_string,
    pub sequence_length: u64,
    pub prompt_sequence_length: u64,
    pub window: u64,
    pub sinks: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tulle_generate_options {
    pub struct_size: u32,
    pub flags: u32,
    pub sampler: tulle_string,
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
    pub eos: *const i32,
    pub eos_count: usize,
    pub stop: *const tulle_string,
    pub stop_count: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tulle_token {
    pub struct_size: u32,
    pub id: i32,
    pub log_probability: f32,
    pub finish_reason: i32,
    pub bytes: tulle_string,
    pub text: tulle_string,
}

extern "C" {
    pub fn tulle_abi_version() -> u32;
    pub fn tulle_version() -> *const c_char;
    pub fn tulle_status_name(status: i32) -> *const c_char;
    pub fn tulle_choice_at(kind: i32, index: u32, choice: *mut tulle_choice, error: *mut tulle_error) -> i32;
    pub fn tulle_use_instruction_set(name: *const c_char, name_size: usize, error: *mut tulle_error) -> i32;
    pub fn tulle_load_options_init(options: *mut tulle_load_options, struct_size: u32) -> i32;
    pub fn tulle_model_load(path: *const c_char, path_size: usize, options: *const tulle_load_options, model: *mut *mut tulle_model, error: *mut tulle_error) -> i32;
    pub fn tulle_model_load_memory(data: *const c_void, size: usize, options: *const tulle_load_options, model: *mut *mut tulle_model, error: *mut tulle_error) -> i32;
    pub fn tulle_model_load_reader(read: tulle_read, context: *mut c_void, size: u64, options: *const tulle_load_options, model: *mut *mut tulle_model, error: *mut tulle_error) -> i32;
    pub fn tulle_model_free(model: *mut tulle_model) -> i32;
    pub fn tulle_model_describe(model: *const tulle_model, info: *mut tulle_model_info, error: *mut tulle_error) -> i32;
    pub fn tulle_encode(model: *const tulle_model, text: *const c_char, text_size: usize, flags: u32, tokens: *mut i32, capacity: usize, size: *mut usize, error: *mut tulle_error) -> i32;
    pub fn tulle_decode(model: *const tulle_model, tokens: *const i32, count: usize, flags: u32, text: *mut c_char, capacity: usize, size: *mut usize, error: *mut tulle_error) -> i32;
    pub fn tulle_chat_prompt(model: *const tulle_model, messages: *const tulle_message, count: usize, flags: u32, text: *mut c_char, capacity: usize, size: *mut usize, error: *mut tulle_error) -> i32;
    pub fn tulle_session_options_init(options: *mut tulle_session_options, struct_size: u32) -> i32;
    pub fn tulle_session_new(model: *const tulle_model, options: *const tulle_session_options, session: *mut *mut tulle_session, error: *mut tulle_error) -> i32;
    pub fn tulle_session_free(session: *mut tulle_session) -> i32;
    pub fn tulle_generate_options_init(options: *mut tulle_generate_options, struct_size: u32) -> i32;
    pub fn tulle_session_generate(session: *mut tulle_session, text: *const c_char, text_size: usize, options: *const tulle_generate_options, error: *mut tulle_error) -> i32;
    pub fn tulle_session_generate_tokens(session: *mut tulle_session, tokens: *const i32, count: usize, options: *const tulle_generate_options, error: *mut tulle_error) -> i32;
    pub fn tulle_session_next(session: *mut tulle_session, token: *mut tulle_token, error: *mut tulle_error) -> i32;
    pub fn tulle_session_cancel(session: *mut tulle_session) -> i32;
    pub fn tulle_session_logits(session: *mut tulle_session, logits: *mut f32, capacity: usize, size: *mut usize, error: *mut tulle_error) -> i32;
    pub fn tulle_session_history(session: *mut tulle_session, tokens: *mut i32, capacity: usize, size: *mut usize, error: *mut tulle_error) -> i32;
    pub fn tulle_session_truncate(session: *mut tulle_session, length: usize, error: *mut tulle_error) -> i32;
    pub fn tulle_session_fork(session: *mut tulle_session, copy: *mut *mut tulle_session, error: *mut tulle_error) -> i32;
    pub fn tulle_session_save(session: *mut tulle_session, bytes: *mut c_void, capacity: usize, size: *mut usize, error: *mut tulle_error) -> i32;
    pub fn tulle_session_restore(session: *mut tulle_session, bytes: *const c_void, size: usize, error: *mut tulle_error) -> i32;
}
pub const TULLE_UNCONSTRAINED: i32 = 0;
pub const TULLE_JSON_OBJECT: i32 = 1;
pub const TULLE_JSON_SCHEMA: i32 = 2;
pub const TULLE_GRAMMAR: i32 = 3;
pub const TULLE_REGEX: i32 = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tulle_timings {
    pub struct_size: u32,
    pub reserved: u32,
    pub prompt_tokens: u64,
    pub generated_tokens: u64,
    pub prefill_seconds: f64,
    pub decode_seconds: f64,
    pub draft_tokens: u64,
    pub accepted_draft_tokens: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tulle_file {
    pub struct_size: u32,
    pub reserved: u32,
    pub name: tulle_string,
    pub size: u64,
    pub read: tulle_read,
    pub context: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tulle_adapter {
    pub struct_size: u32,
    pub scale: f32,
    pub path: tulle_string,
}

extern "C" {
    pub fn tulle_session_timings(session: *mut tulle_session, timings: *mut tulle_timings, error: *mut tulle_error) -> i32;
    pub fn tulle_session_read_prompt(session: *mut tulle_session, fraction: *mut f64, error: *mut tulle_error) -> i32;
    pub fn tulle_model_load_files(files: *const tulle_file, count: usize, options: *const tulle_load_options, model: *mut *mut tulle_model, error: *mut tulle_error) -> i32;
    pub fn tulle_model_load_adapted(path: *const c_char, path_size: usize, adapters: *const tulle_adapter, count: usize, options: *const tulle_load_options, model: *mut *mut tulle_model, error: *mut tulle_error) -> i32;
    pub fn tulle_session_draft(session: *mut tulle_session, drafter: *const c_char, size: usize, max_tokens: u32, error: *mut tulle_error) -> i32;
    pub fn tulle_session_constrain(session: *mut tulle_session, kind: i32, text: *const c_char, size: usize, error: *mut tulle_error) -> i32;
    pub fn tulle_live_handles() -> u64;
}
