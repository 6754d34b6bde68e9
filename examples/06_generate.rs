// SPDX-License-Identifier: Apache-2.0
// Lesson 6: text in, text out, in Rust.     usage: 06_generate MODEL PROMPT
use std::io::Write;

fn main() -> tulle::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let mut session = tulle::Model::load(&arguments[1])?.session()?;
    let options = tulle::GenerateOptions::new().max_new_tokens(64);
    for token in session.generate(&arguments[2], &options)? {
        print!("{}", token?.text);
        std::io::stdout().flush().expect("stdout is open");
    }
    Ok(())
}
