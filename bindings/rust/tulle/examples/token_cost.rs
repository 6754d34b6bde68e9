// SPDX-License-Identifier: Apache-2.0
//! Microseconds per token in a session of one thread; the minimum of several runs. bindings/overhead.py compares it.
//! usage: token_cost MODEL TOKENS
use std::time::Instant;

use tulle::{GenerateOptions, Model, Result, SessionOptions};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let tokens: u64 = arguments[2].parse().expect("a number of tokens");
    let mut session = Model::load(&arguments[1])?.session_with(&SessionOptions::new().threads(1))?;
    let options = GenerateOptions::new().max_new_tokens(tokens).ignore_eos(true);
    let mut least = f64::MAX;
    for _ in 0..5 {
        session.truncate(0)?;
        let mut generation = session.generate("Once upon a time", &options)?;
        generation.next().expect("a first token")?;
        let first = Instant::now();
        for token in generation {
            token?;
        }
        least = least.min(first.elapsed().as_secs_f64() * 1e6 / (tokens - 1) as f64);
    }
    println!("{least:.3}");
    Ok(())
}
