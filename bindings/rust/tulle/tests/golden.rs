// SPDX-License-Identifier: Apache-2.0
//! The contract that every binding keeps: the golden tokens of tests/golden/contract.txt.
mod common;

use common::{golden_folder, Golden};
use tulle::{FinishReason, GenerateOptions, SessionOptions};

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
