// SPDX-License-Identifier: Apache-2.0
//! Loading, errors, text, sessions that are saved, truncated and forked, and cancelling.
mod common;

use std::cell::Cell;
use std::io::{self, Read};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::thread;
use std::time::Duration;

use common::{golden_folder, Golden};
use tulle::{choices, ChoiceKind, Error, FinishReason, GenerateOptions, LoadOptions, Message, Model, SessionOptions};

fn model() -> Model {
    Golden::read("gguf/f32.gguf auto").load()
}

fn small() -> SessionOptions {
    SessionOptions::new().threads(1).sequence_length(128)
}

fn fixed(tokens: u64) -> GenerateOptions {
    GenerateOptions::new().max_new_tokens(tokens).ignore_eos(true)
}

struct Locked;

impl Read for Locked {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the archive is locked"))
    }
}

#[test]
fn a_model_loads_from_a_path_bytes_and_a_reader_alike() {
    let golden = Golden::read("gguf/f32.gguf auto");
    let bytes = std::fs::read(&golden.path).unwrap();
    let size = bytes.len() as u64;
    let fractions = Cell::new(0);
    let options = LoadOptions::new().progress(|what, fraction| {
        fractions.set(fractions.get() + 1);
        !what.is_empty() && (0.0..=1.0).contains(&fraction)
    });
    let models = [
        golden.load(),
        Model::from_bytes(&bytes, LoadOptions::new()).unwrap(),
        Model::from_reader(&mut bytes.as_slice(), size, options).unwrap(),
    ];
    assert!(fractions.get() > 1);
    for model in models {
        let mut session = model.session_with(&small()).unwrap();
        let tokens = session.generate_tokens(&golden.prompt, &fixed(8)).unwrap();
        let ids: Vec<_> = tokens.map(|token| token.unwrap().id.unwrap()).collect();
        assert_eq!(ids, golden.greedy[..8]);
    }
    assert!(matches!(Model::from_reader(&mut &bytes[..100], size, LoadOptions::new()), Err(Error::Io(_))));
    let locked = Model::from_reader(&mut Locked, 1000, LoadOptions::new()).unwrap_err();
    assert!(matches!(locked, Error::Io(message) if message.contains("1000 bytes at 0: the archive is locked")));
}

#[test]
fn adapters_change_a_model() {
    let folder = golden_folder();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let adapted = || LoadOptions::new().adapter(&path("lora/two/first"), 0.5).adapter(&path("lora/two/second"), -1.5);
    let [plain, changed] = [LoadOptions::new(), adapted()].map(|options| {
        let mut session =
            Model::load_with(path("models/llama-tiny-gqa"), options).unwrap().session_with(&small()).unwrap();
        let tokens = session.generate_tokens(&[5, 6, 7], &fixed(8)).unwrap();
        tokens.map(|token| token.unwrap().id.unwrap()).collect::<Vec<_>>()
    });
    assert_ne!(plain, changed);
    assert!(matches!(Model::load_with(path("models/gpt2-tiny"), adapted()), Err(Error::NotFound(_))));
    assert!(matches!(Model::from_bytes(&[], adapted()), Err(Error::InvalidArgument(_))));
}

#[test]
fn errors_say_what_is_wrong() {
    let missing = Model::load("/nowhere").unwrap_err();
    assert!(matches!(&missing, Error::NotFound(message) if message.contains("/nowhere")), "{missing}");
    let stopped =
        Model::load_with(golden_folder().join("models/gguf/f32.gguf"), LoadOptions::new().progress(|_, _| false));
    assert!(matches!(stopped, Err(Error::Cancelled(_))));
    let kernel = Model::load_with(golden_folder().join("models/gguf/f32.gguf"), LoadOptions::new().assembly("fast"));
    assert!(matches!(kernel, Err(Error::InvalidArgument(message)) if message.contains("dense_f32")));
    let mut session = model().session_with(&small()).unwrap();
    assert!(matches!(session.generate_tokens(&[288], &fixed(1)), Err(Error::InvalidArgument(_))));
    assert!(matches!(session.generate_tokens(&[5; 200], &fixed(1)), Err(Error::Capacity(_))));
    assert!(matches!(session.restore(b"short"), Err(Error::Malformed(_))));
    let mut generation = session.generate("the", &fixed(2)).unwrap();
    assert!(matches!(generation.logits(), Err(Error::State(_))));
}

#[test]
fn everything_can_be_printed_for_debugging() {
    let options = LoadOptions::new().assembly("auto").progress(|_, _| true);
    assert!(format!("{options:?}").starts_with(r#"LoadOptions { assembly: "auto""#));
    let model = model();
    let mut session = model.session_with(&small()).unwrap();
    assert!(format!("{model:?} {session:?}").contains("} Session {"));
    assert!(format!("{:?}", session.generate("the", &fixed(2)).unwrap()).starts_with("Generation { session: Session {"));
}

#[test]
fn a_panic_in_a_callback_comes_out_of_the_call() {
    let path = golden_folder().join("models/gguf/f32.gguf");
    let loading = || Model::load_with(&path, LoadOptions::new().progress(|_, _| panic!("stop"))).map(|_| ());
    let panic = catch_unwind(AssertUnwindSafe(loading)).unwrap_err();
    assert_eq!(*panic.downcast::<&str>().unwrap(), "stop");
}

#[test]
fn text_is_made_of_tokens() {
    let model = model();
    let text = "the answer is € 42";
    let tokens = model.encode(text).unwrap();
    assert_eq!(model.decode(&tokens, false).unwrap(), text);
    let prompt = model.chat_prompt(&[Message { role: "user", content: "hello" }]).unwrap();
    assert!(prompt.contains("hello"));
    let mut session = model.session_with(&small()).unwrap();
    let options = fixed(12).show_special_tokens(true).log_probabilities(true).keep_logits(true);
    let mut text = String::new();
    let mut ids = Vec::new();
    let mut generation = session.generate("the answer", &options).unwrap();
    while let Some(token) = generation.next() {
        let token = token.unwrap();
        let logits = generation.logits().unwrap();
        let best = (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap();
        assert_eq!(token.id, Some(best as i32));
        assert!(token.log_probability < 0.0);
        text += &token.text;
        ids.extend(token.id);
    }
    assert_eq!(model.decode(&ids, false).unwrap(), text);
    assert_eq!(session.timings().unwrap().generated_tokens, 12);
    assert_eq!(session.history().unwrap()[session.history().unwrap().len() - 12..], ids);
}

#[test]
fn a_long_prompt_is_read_pass_by_pass() {
    let model = model();
    let prompt = "the answer ".repeat(8);
    let options = fixed(5);
    let whole = model.session_with(&small()).unwrap().generate(&prompt, &options).unwrap().into_text().unwrap();
    let mut session = model.session_with(&small().prompt_sequence_length(8)).unwrap();
    let mut generation = session.generate(&prompt, &options).unwrap();
    let mut fractions = Vec::new();
    while let Some(fraction) = generation.read_prompt().unwrap() {
        fractions.push(fraction);
    }
    assert!(fractions.len() > 2 && fractions.windows(2).all(|pair| pair[0] < pair[1]), "{fractions:?}");
    assert_eq!(fractions.last(), Some(&1.0));
    assert_eq!(generation.read_prompt().unwrap(), None);
    assert_eq!(generation.into_text().unwrap(), whole);
}

#[test]
fn copies_of_a_session_go_on_alike() {
    let model = model();
    let mut session = model.session_with(&small()).unwrap();
    let draw = fixed(10).sampler("hugging_face").temperature(1.5).seed(3);
    session.generate("once upon", &draw).unwrap().next().unwrap().unwrap();
    let mut copy = session.fork().unwrap();
    copy.draft("self:i8", 4).unwrap(); // drafts change no text
    let mut restored = model.session_with(&small()).unwrap();
    restored.restore(&session.save().unwrap()).unwrap();
    let text = session.generate_tokens(&[], &draw).unwrap().into_text().unwrap();
    assert_eq!(copy.generate_tokens(&[], &draw).unwrap().into_text().unwrap(), text);
    assert!(copy.timings().unwrap().draft_tokens > 0 && session.timings().unwrap().draft_tokens == 0);
    assert_eq!(restored.generate_tokens(&[], &draw).unwrap().into_text().unwrap(), text);
    let length = session.history().unwrap().len();
    session.truncate(length - 10).unwrap();
    assert_eq!(session.generate_tokens(&[], &draw).unwrap().into_text().unwrap(), text);
    let stop: String = text.chars().skip(4).take(3).collect();
    session.truncate(length - 10).unwrap();
    let cut = session.generate_tokens(&[], &draw.clone().stop([stop.as_str()])).unwrap().into_text().unwrap();
    assert_eq!(cut, text[..text.find(&stop).unwrap()]);
}

#[test]
fn a_text_is_what_the_options_say() {
    let mut session = model().session_with(&small()).unwrap();
    let mut text = |options: GenerateOptions| session.generate("the", &options)?.into_text();
    let digits = match text(GenerateOptions::new().regex("[0-9]{3}")) {
        Err(Error::Unsupported(_)) => return, // a library without grammars
        other => other.unwrap(),
    };
    assert!(digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()), "{digits}");
    let answer = text(GenerateOptions::new().grammar(r#"root ::= "yes" | "no""#)).unwrap();
    assert!(["yes", "no"].contains(&answer.as_str()), "{answer}");
    let schema = r#"{"type": "object", "properties": {"b": {"const": 1}, "a": {"type": "boolean"}},
                     "required": ["b", "a"]}"#;
    let json = text(GenerateOptions::new().json_object().json_schema(schema)).unwrap();
    assert!([r#"{"b":1,"a":true}"#, r#"{"b":1,"a":false}"#].contains(&json.as_str()), "{json}");
    assert!(text(GenerateOptions::new().max_new_tokens(5).json_object()).unwrap().starts_with('{'));
    assert!(matches!(text(GenerateOptions::new().json_schema("false")), Err(Error::InvalidArgument(_))));
    assert!(!text(fixed(8)).unwrap().starts_with('{'));
}

#[test]
fn a_long_prompt_is_cancelled_from_another_thread() {
    let options = SessionOptions::new().threads(1).sequence_length(20_000).prompt_sequence_length(64);
    let mut session = model().session_with(&options).unwrap();
    let generation = session.generate_tokens(&[7; 19_000], &fixed(50)).unwrap();
    let canceller = generation.canceller();
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(10));
        canceller.cancel();
    });
    let last = generation.last().unwrap().unwrap();
    assert_eq!(last.finish_reason, Some(FinishReason::Cancelled));
    other.join().unwrap();
    session.truncate(0).unwrap();
    assert_eq!(session.generate("the", &fixed(3)).unwrap().count(), 3);
    drop(session);
    canceller.cancel(); // of a session that is gone
}

#[test]
fn sessions_of_one_model_run_beside_each_other() {
    let model = model();
    let alone = model.session_with(&small()).unwrap().generate("the", &fixed(20)).unwrap().into_text().unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mut session = model.session_with(&small()).unwrap();
            thread::spawn(move || session.generate("the", &fixed(20)).unwrap().into_text().unwrap())
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), alone);
    }
}

#[test]
fn what_is_built_in_has_a_name() {
    let names = |kind| choices(kind).unwrap().into_iter().map(|choice| choice.name).collect::<Vec<_>>();
    assert!(names(ChoiceKind::Kernels).contains(&"auto".to_owned()));
    assert!(names(ChoiceKind::Caches).contains(&"paged_i8".to_owned()));
    assert!(names(ChoiceKind::Samplers).contains(&"hugging_face".to_owned()));
    assert!(choices(ChoiceKind::InstructionSets).unwrap()[0].runs);
    assert!(!tulle::version().is_empty());
    let info = model().info().unwrap();
    assert_eq!((info.vocabulary, info.eos, info.has_chat_template), (288, Some(2), true));
}
