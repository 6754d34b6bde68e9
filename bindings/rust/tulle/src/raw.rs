// SPDX-License-Identifier: Apache-2.0
//! All calls into the C ABI, and all `unsafe` of this crate. They are sound by the promises of the ABI (`tulle.h`): it
//! looks every handle up before use, checks every argument, copies the data that it keeps, and never throws.
use std::any::Any;
use std::ffi::{c_char, c_void, CStr};
use std::io::{self, Read};
use std::mem::size_of;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::{ptr, slice};

use tulle_sys as sys;

use crate::options::{sys_numbers::Numbers, Progress};
use crate::{
    Choice, Error, FinishReason, GenerateOptions, LoadOptions, Message, Result, SessionOptions, Timings, Token,
};

/// Owns a `tulle_model`.
#[derive(Debug)]
pub struct ModelHandle(*mut sys::tulle_model);
// SAFETY: by the ABI a model is immutable and may be used from any number of threads at once.
unsafe impl Send for ModelHandle {}
// SAFETY: as above.
unsafe impl Sync for ModelHandle {}

impl Drop for ModelHandle {
    fn drop(&mut self) {
        // SAFETY: frees this handle's own reference, once.
        unsafe { sys::tulle_model_free(self.0) };
    }
}

/// Owns a `tulle_session`.
#[derive(Debug)]
pub struct SessionHandle(*mut sys::tulle_session);
// SAFETY: a session belongs to no thread; `&mut` ensures that one thread at a time uses it.
unsafe impl Send for SessionHandle {}

impl SessionHandle {
    pub fn cancel_target(&self) -> CancelTarget {
        CancelTarget(self.0)
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        // SAFETY: frees this handle's own reference, once.
        unsafe { sys::tulle_session_free(self.0) };
    }
}

/// A session's handle that does not keep it alive.
#[derive(Clone, Copy, Debug)]
pub struct CancelTarget(*mut sys::tulle_session);
// SAFETY: it is only used to cancel, which the ABI allows from any thread and after the session was freed.
unsafe impl Send for CancelTarget {}
// SAFETY: as above.
unsafe impl Sync for CancelTarget {}

pub fn cancel(target: CancelTarget) {
    // SAFETY: a freed handle gives a status: there is nothing to cancel.
    unsafe { sys::tulle_session_cancel(target.0) };
}

fn new_error() -> sys::tulle_error {
    sys::tulle_error { struct_size: size_of::<sys::tulle_error>() as u32, status: 0, message: [0; 1016] }
}

fn message_of(error: &sys::tulle_error) -> String {
    // SAFETY: the library ends every message with 0, and `new_error` begins with one.
    unsafe { CStr::from_ptr(error.message.as_ptr()) }.to_string_lossy().into_owned()
}

/// Runs one call with room for its message.
fn check(call: impl FnOnce(*mut sys::tulle_error) -> i32) -> Result<()> {
    let mut error = new_error();
    match call(&mut error) {
        sys::TULLE_OK => Ok(()),
        status => Err(Error::new(status, message_of(&error))),
    }
}

fn string(text: &str) -> sys::tulle_string {
    sys::tulle_string { data: text.as_ptr().cast(), size: text.len() }
}

fn bytes_of(view: &sys::tulle_string) -> &[u8] {
    if view.size == 0 {
        return &[];
    }
    // SAFETY: the library wrote a pointer to `size` bytes, valid until the next call on the session; callers copy first.
    unsafe { slice::from_raw_parts(view.data.cast(), view.size) }
}

/// Gets the size first, then fills a vector of that size: `call(buffer, capacity, &mut size, error)`.
fn sized<T: Clone + Default>(call: impl Fn(*mut T, usize, *mut usize, *mut sys::tulle_error) -> i32) -> Result<Vec<T>> {
    let mut size = 0;
    check(|error| call(ptr::null_mut(), 0, &mut size, error))?;
    let mut values = vec![T::default(); size];
    check(|error| call(values.as_mut_ptr(), values.len(), &mut size, error))?;
    Ok(values)
}

fn text_of(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::Internal("the library gave text that is not UTF-8".to_owned()))
}

pub fn version() -> &'static str {
    // SAFETY: a text terminated by 0 and valid for ever.
    unsafe { CStr::from_ptr(sys::tulle_version()) }.to_str().unwrap_or("unknown")
}

fn check_abi() -> Result<()> {
    // SAFETY: takes nothing.
    match unsafe { sys::tulle_abi_version() } {
        sys::TULLE_ABI_VERSION => Ok(()),
        other => Err(Error::AbiMismatch(format!(
            "libtulle speaks version {other} of the C ABI and this crate {}; install the one that belongs to it",
            sys::TULLE_ABI_VERSION
        ))),
    }
}

pub fn choices(kind: i32) -> Result<Vec<Choice>> {
    let mut all = Vec::new();
    loop {
        let mut choice =
            sys::tulle_choice { struct_size: size_of::<sys::tulle_choice>() as u32, runs: 0, name: string("") };
        let mut error = new_error();
        // SAFETY: both structs say their size.
        match unsafe { sys::tulle_choice_at(kind, all.len() as u32, &mut choice, &mut error) } {
            sys::TULLE_OK => {
                all.push(Choice { name: text_of(bytes_of(&choice.name).to_vec())?, runs: choice.runs != 0 })
            }
            sys::TULLE_END => return Ok(all),
            status => return Err(Error::new(status, message_of(&error))),
        }
    }
}

pub fn use_instruction_set(name: &str) -> Result<()> {
    // SAFETY: a text with its length.
    check(|error| unsafe { sys::tulle_use_instruction_set(name.as_ptr().cast(), name.len(), error) })
}

/// The state of the callbacks of one load call, and the panic of one of them or the error of the reader.
struct Callbacks<'a> {
    progress: Option<Progress<'a>>,
    reader: Option<&'a mut dyn Read>,
    read_error: Option<io::Error>,
    panic: Option<Box<dyn Any + Send>>,
}

impl Callbacks<'_> {
    /// 0 for true, 1 for false and for a panic, which must not unwind through C.
    fn run(&mut self, call: impl FnOnce(&mut Self) -> bool) -> i32 {
        match catch_unwind(AssertUnwindSafe(|| call(self))) {
            Ok(good) => i32::from(!good),
            Err(panic) => {
                self.panic = Some(panic);
                1
            }
        }
    }
}

unsafe extern "C" fn report(context: *mut c_void, what: *const c_char, what_size: usize, fraction: f64) -> i32 {
    // SAFETY: `context` is the Callbacks of the load call that is running, on the same thread.
    let callbacks = unsafe { &mut *context.cast::<Callbacks<'_>>() };
    let view = sys::tulle_string { data: what, size: what_size };
    let what = String::from_utf8_lossy(bytes_of(&view));
    callbacks.run(|seen| seen.progress.as_mut().map_or(true, |report| report(&what, fraction)))
}

unsafe extern "C" fn read(context: *mut c_void, _offset: u64, buffer: *mut c_void, size: usize) -> i32 {
    // SAFETY: as in `report`.
    let callbacks = unsafe { &mut *context.cast::<Callbacks<'_>>() };
    // SAFETY: the library gives a buffer of `size` bytes, which it has set to 0.
    let buffer = unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>(), size) };
    callbacks.run(|seen| {
        let Some(reader) = seen.reader.as_mut() else { return false };
        seen.read_error = reader.read_exact(buffer).err();
        seen.read_error.is_none()
    })
}

type LoadCall<'c> = dyn FnOnce(*mut c_void, *const sys::tulle_load_options, *mut *mut sys::tulle_model, *mut sys::tulle_error) -> i32
    + 'c;

/// Runs one of the load functions: `call(context, options, model, error)`.
fn load<'a>(
    options: LoadOptions<'a>,
    reader: Option<&'a mut dyn Read>,
    call: Box<LoadCall<'_>>,
) -> Result<ModelHandle> {
    check_abi()?;
    if !options.adapters.is_empty() {
        return Err(Error::InvalidArgument("adapters are merged by Model::load_with alone".to_owned()));
    }
    let mut callbacks = Callbacks { progress: options.progress, reader, read_error: None, panic: None };
    let context: *mut c_void = (&mut callbacks as *mut Callbacks<'_>).cast();
    let raw = sys::tulle_load_options {
        struct_size: size_of::<sys::tulle_load_options>() as u32,
        flags: if options.verify_packed { sys::TULLE_VERIFY_PACKED } else { 0 },
        assembly: string(&options.assembly),
        progress: Some(report),
        progress_context: context,
        packed_cache: string(&options.packed_cache),
    };
    let mut model = ptr::null_mut();
    let result = check(|error| call(context, &raw, &mut model, error));
    if let Some(panic) = callbacks.panic {
        resume_unwind(panic);
    }
    match (result, callbacks.read_error) {
        (Ok(()), _) => Ok(ModelHandle(model)),
        (Err(Error::Io(message)), Some(cause)) => Err(Error::Io(format!("{message}: {cause}"))),
        (Err(error), _) => Err(error),
    }
}

pub fn load_path(path: &str, options: LoadOptions<'_>) -> Result<ModelHandle> {
    let paths = options.adapters.clone();
    let size = size_of::<sys::tulle_adapter>() as u32;
    let adapters: Vec<_> = paths
        .iter()
        .map(|(path, scale)| sys::tulle_adapter { struct_size: size, scale: *scale, path: string(path) })
        .collect();
    // SAFETY: a text and an array with their lengths, and the pointers of `load`.
    let call = |_, options, model, error| unsafe {
        let (data, count) = (adapters.as_ptr(), adapters.len());
        sys::tulle_model_load_adapted(path.as_ptr().cast(), path.len(), data, count, options, model, error)
    };
    load(LoadOptions { adapters: Vec::new(), ..options }, None, Box::new(call))
}

pub fn load_bytes(bytes: &[u8], options: LoadOptions<'_>) -> Result<ModelHandle> {
    // SAFETY: bytes with their length, and the pointers of `load`.
    let call = |_, options, model, error| unsafe {
        sys::tulle_model_load_memory(bytes.as_ptr().cast(), bytes.len(), options, model, error)
    };
    load(options, None, Box::new(call))
}

pub fn load_reader<'a>(reader: &'a mut dyn Read, size: u64, options: LoadOptions<'a>) -> Result<ModelHandle> {
    // SAFETY: `read` is called with the context of `load` only while this call runs.
    let call = move |context, options, model, error| unsafe {
        sys::tulle_model_load_reader(Some(read), context, size, options, model, error)
    };
    load(options, Some(reader), Box::new(call))
}

pub fn describe(model: &ModelHandle) -> Result<sys::tulle_model_info> {
    let mut info = sys::tulle_model_info {
        struct_size: size_of::<sys::tulle_model_info>() as u32,
        flags: 0,
        weight_bytes: 0,
        vocabulary: 0,
        tokens: 0,
        context_length: 0,
        layers: 0,
        hidden: 0,
        bos: 0,
        eos: 0,
        reserved: 0,
    };
    // SAFETY: the struct says its size.
    check(|error| unsafe { sys::tulle_model_describe(model.0, &mut info, error) })?;
    Ok(info)
}

pub fn encode(model: &ModelHandle, text: &str, flags: u32) -> Result<Vec<i32>> {
    // SAFETY: a text with its length, a buffer with its capacity.
    sized(|tokens, capacity, size, error| unsafe {
        sys::tulle_encode(model.0, text.as_ptr().cast(), text.len(), flags, tokens, capacity, size, error)
    })
}

pub fn decode(model: &ModelHandle, tokens: &[i32], flags: u32) -> Result<String> {
    // SAFETY: tokens with their number, a buffer with its capacity.
    text_of(sized(|text: *mut u8, capacity, size, error| unsafe {
        sys::tulle_decode(model.0, tokens.as_ptr(), tokens.len(), flags, text.cast(), capacity, size, error)
    })?)
}

pub fn chat_prompt(model: &ModelHandle, messages: &[Message<'_>], flags: u32) -> Result<String> {
    let raw: Vec<_> = messages
        .iter()
        .map(|each| sys::tulle_message { role: string(each.role), content: string(each.content) })
        .collect();
    // SAFETY: messages with their number, whose texts outlive the call; a buffer with its capacity.
    text_of(sized(|text: *mut u8, capacity, size, error| unsafe {
        sys::tulle_chat_prompt(model.0, raw.as_ptr(), raw.len(), flags, text.cast(), capacity, size, error)
    })?)
}

pub fn open_session(model: &ModelHandle, options: &SessionOptions) -> Result<SessionHandle> {
    let mut raw = sys::tulle_session_options {
        struct_size: 0,
        threads: 0,
        cache: string(""),
        sequence_length: 0,
        prompt_sequence_length: 0,
        window: 0,
        sinks: 0,
    };
    // SAFETY: the size is the struct's.
    unsafe { sys::tulle_session_options_init(&mut raw, size_of::<sys::tulle_session_options>() as u32) };
    raw.threads = options.threads;
    raw.cache = string(&options.cache);
    raw.sequence_length = options.sequence_length;
    raw.prompt_sequence_length = options.prompt_sequence_length.unwrap_or(raw.prompt_sequence_length);
    raw.window = options.window;
    raw.sinks = options.sinks.unwrap_or(raw.sinks);
    let mut session = ptr::null_mut();
    // SAFETY: the struct says its size and its texts outlive the call.
    check(|error| unsafe { sys::tulle_session_new(model.0, &raw, &mut session, error) })?;
    Ok(SessionHandle(session))
}

fn default_options() -> sys::tulle_generate_options {
    // SAFETY: zeros are a value of every member: numbers and null pointers.
    let mut raw: sys::tulle_generate_options = unsafe { std::mem::zeroed() };
    // SAFETY: the size is the struct's.
    unsafe { sys::tulle_generate_options_init(&mut raw, size_of::<sys::tulle_generate_options>() as u32) };
    raw
}

pub fn default_numbers() -> Numbers {
    let raw = default_options();
    Numbers {
        flags: raw.flags,
        max_new_tokens: raw.max_new_tokens,
        seed: raw.seed,
        temperature: raw.temperature,
        top_p: raw.top_p,
        min_p: raw.min_p,
        typical_p: raw.typical_p,
        repetition_penalty: raw.repetition_penalty,
        presence_penalty: raw.presence_penalty,
        frequency_penalty: raw.frequency_penalty,
        top_k: raw.top_k,
        no_repeat_ngram: raw.no_repeat_ngram,
        min_new_tokens: raw.min_new_tokens,
    }
}

/// Constrains the session as the options say, and calls with the others as C has them.
fn with_options(
    session: &SessionHandle,
    options: &GenerateOptions,
    call: impl FnOnce(*const sys::tulle_generate_options, *mut sys::tulle_error) -> i32,
) -> Result<()> {
    let stop: Vec<_> = options.stop.iter().map(|text| string(text)).collect();
    let numbers = &options.numbers;
    let raw = sys::tulle_generate_options {
        flags: numbers.flags,
        sampler: string(&options.sampler),
        max_new_tokens: numbers.max_new_tokens,
        seed: numbers.seed,
        temperature: numbers.temperature,
        top_p: numbers.top_p,
        min_p: numbers.min_p,
        typical_p: numbers.typical_p,
        repetition_penalty: numbers.repetition_penalty,
        presence_penalty: numbers.presence_penalty,
        frequency_penalty: numbers.frequency_penalty,
        top_k: numbers.top_k,
        no_repeat_ngram: numbers.no_repeat_ngram,
        min_new_tokens: numbers.min_new_tokens,
        eos: options.eos.as_ptr(),
        eos_count: options.eos.len(),
        stop: stop.as_ptr(),
        stop_count: stop.len(),
        ..default_options()
    };
    let (kind, text) = &options.constraint;
    // SAFETY: a text with its length.
    check(|error| unsafe { sys::tulle_session_constrain(session.0, *kind, text.as_ptr().cast(), text.len(), error) })?;
    check(|error| call(&raw, error))
}

pub fn generate_text(session: &mut SessionHandle, text: &str, options: &GenerateOptions) -> Result<()> {
    // SAFETY: a text with its length, and options whose arrays outlive the call.
    with_options(session, options, |raw, error| unsafe {
        sys::tulle_session_generate(session.0, text.as_ptr().cast(), text.len(), raw, error)
    })
}

pub fn generate_tokens(session: &mut SessionHandle, tokens: &[i32], options: &GenerateOptions) -> Result<()> {
    // SAFETY: tokens with their number, and options whose arrays outlive the call.
    with_options(session, options, |raw, error| unsafe {
        sys::tulle_session_generate_tokens(session.0, tokens.as_ptr(), tokens.len(), raw, error)
    })
}

pub fn next(session: &mut SessionHandle) -> Result<Option<Token>> {
    let mut token = sys::tulle_token {
        struct_size: size_of::<sys::tulle_token>() as u32,
        id: 0,
        log_probability: 0.0,
        finish_reason: 0,
        bytes: string(""),
        text: string(""),
    };
    let mut error = new_error();
    // SAFETY: both structs say their size.
    match unsafe { sys::tulle_session_next(session.0, &mut token, &mut error) } {
        sys::TULLE_OK => Ok(Some(Token {
            id: (token.id >= 0).then_some(token.id),
            bytes: bytes_of(&token.bytes).to_vec(),
            text: text_of(bytes_of(&token.text).to_vec())?,
            log_probability: token.log_probability,
            finish_reason: FinishReason::new(token.finish_reason),
        })),
        sys::TULLE_END => Ok(None),
        status => Err(Error::new(status, message_of(&error))),
    }
}

pub fn logits(session: &mut SessionHandle) -> Result<Vec<f32>> {
    // SAFETY: a buffer with its capacity.
    sized(|logits, capacity, size, error| unsafe {
        sys::tulle_session_logits(session.0, logits, capacity, size, error)
    })
}

pub fn history(session: &mut SessionHandle) -> Result<Vec<i32>> {
    // SAFETY: a buffer with its capacity.
    sized(|tokens, capacity, size, error| unsafe {
        sys::tulle_session_history(session.0, tokens, capacity, size, error)
    })
}

pub fn truncate(session: &mut SessionHandle, length: usize) -> Result<()> {
    // SAFETY: takes no memory of ours but the error, which says its size.
    check(|error| unsafe { sys::tulle_session_truncate(session.0, length, error) })
}

pub fn draft(session: &mut SessionHandle, drafter: &str, max_tokens: u32) -> Result<()> {
    // SAFETY: a text with its length.
    check(|error| unsafe {
        sys::tulle_session_draft(session.0, drafter.as_ptr().cast(), drafter.len(), max_tokens, error)
    })
}

pub fn fork(session: &mut SessionHandle) -> Result<SessionHandle> {
    let mut copy = ptr::null_mut();
    // SAFETY: a place for the handle.
    check(|error| unsafe { sys::tulle_session_fork(session.0, &mut copy, error) })?;
    Ok(SessionHandle(copy))
}

pub fn save(session: &mut SessionHandle) -> Result<Vec<u8>> {
    // SAFETY: a buffer with its capacity.
    sized(|bytes: *mut u8, capacity, size, error| unsafe {
        sys::tulle_session_save(session.0, bytes.cast(), capacity, size, error)
    })
}

pub fn restore(session: &mut SessionHandle, bytes: &[u8]) -> Result<()> {
    // SAFETY: bytes with their length.
    check(|error| unsafe { sys::tulle_session_restore(session.0, bytes.as_ptr().cast(), bytes.len(), error) })
}

pub fn read_prompt(session: &mut SessionHandle) -> Result<Option<f64>> {
    let mut fraction = 0.0;
    let mut error = new_error();
    // SAFETY: the library writes one number.
    match unsafe { sys::tulle_session_read_prompt(session.0, &mut fraction, &mut error) } {
        sys::TULLE_OK => Ok(Some(fraction)),
        sys::TULLE_END => Ok(None),
        status => Err(Error::new(status, message_of(&error))),
    }
}

pub fn timings(session: &mut SessionHandle) -> Result<Timings> {
    let mut raw = sys::tulle_timings {
        struct_size: size_of::<sys::tulle_timings>() as u32,
        reserved: 0,
        prompt_tokens: 0,
        generated_tokens: 0,
        prefill_seconds: 0.0,
        decode_seconds: 0.0,
        draft_tokens: 0,
        accepted_draft_tokens: 0,
    };
    // SAFETY: the struct says its size.
    check(|error| unsafe { sys::tulle_session_timings(session.0, &mut raw, error) })?;
    Ok(Timings {
        prompt_tokens: raw.prompt_tokens,
        generated_tokens: raw.generated_tokens,
        prefill_seconds: raw.prefill_seconds,
        decode_seconds: raw.decode_seconds,
        draft_tokens: raw.draft_tokens,
        accepted_draft_tokens: raw.accepted_draft_tokens,
    })
}
