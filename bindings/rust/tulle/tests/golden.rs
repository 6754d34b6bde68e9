// SPDX-License-Identifier: Apache-2.0
//! The contract that every binding keeps: the golden tokens of tests/golden/contract.txt and prompts.txt.
mod common;

use common::{golden_folder, Golden};
use tulle::{FinishReason, GenerateOptions, LoadOptions, Model, SessionOptions};

#[test]
fn every_model_of_the_contract_gives_the_golden_tokens() {
    let contract = std::fs::read_to_string(golden_folder().join("contract.txt")).unwrap();
    let mut models = 0;
    for line in contract.lines() {
        let golden = Golden::read(line);
        let model = golden.load();
        let mut session = model.session_with(&SessionOptions::new().threads(1).sequence_length(128)).unwrap();
        let options = GenerateOptions::new().max_new_tokens(golden.greedy.len() as u64).ignore_eos(true);
        let tokens: Vec<_> =
            session.generate_tokens(&golden.prompt, &options).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(tokens.iter().filter_map(|token| token.id).collect::<Vec<_>>(), golden.greedy, "{line}");
        assert_eq!(tokens.last().unwrap().finish_reason, Some(FinishReason::Length));
        models += 1;
    }
    assert!(models > 5);
}

#[test]
#[ignore = "needs the default model: TULLE_TEST_MODEL=FILE cargo test -- --ignored"]
fn the_real_model_says_what_transformers_says() {
    let path = std::env::var("TULLE_TEST_MODEL").expect("TULLE_TEST_MODEL names SmolLM2-135M-Instruct.Q4_1.gguf");
    let model = Model::load_with(path, LoadOptions::new().assembly("dense_f32/contiguous_f32")).unwrap();
    let mut session = model.session_with(&SessionOptions::new().sequence_length(256)).unwrap();
    let prompts = std::fs::read_to_string(golden_folder().join("prompts.txt")).unwrap();
    assert_eq!(prompts.lines().count(), 5);
    // All of them: tests/real_model.
    for line in prompts.lines().take(1) {
        let (text, ids) = line.split_once('\t').expect("TEXT tab IDS");
        let greedy: Vec<i32> = ids.split(' ').map(|id| id.parse().unwrap()).collect();
        let options = GenerateOptions::new().max_new_tokens(greedy.len() as u64).ignore_eos(true);
        session.truncate(0).unwrap();
        let tokens = session.generate(&text.replace("\\n", "\n"), &options).unwrap();
        assert_eq!(tokens.map(|token| token.unwrap().id.unwrap()).collect::<Vec<_>>(), greedy, "{text}");
    }
}
