// SPDX-License-Identifier: Apache-2.0
//! The golden models (tests/golden/README.md).
use std::path::{Path, PathBuf};

use tulle::{LoadOptions, Model};

pub fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/golden")
}

pub struct Golden {
    pub path: PathBuf,
    pub assembly: String,
    pub prompt: Vec<i32>,
    pub greedy: Vec<i32>,
}

impl Golden {
    /// A line of the contract: "gguf/f32.gguf auto".
    pub fn read(line: &str) -> Self {
        let (name, assembly) = line.split_once(' ').expect("NAME ASSEMBLY");
        let path = golden_folder().join("models").join(name);
        let facts = if path.is_dir() { path.join("golden.json") } else { path.with_extension("golden.json") };
        let json = std::fs::read_to_string(&facts).unwrap_or_else(|error| panic!("{}: {error}", facts.display()));
        let prompt_tokens = numbers(&json, "greedy_prompt_tokens")[0] as usize;
        Self {
            path,
            assembly: assembly.to_owned(),
            prompt: numbers(&json, "tokens")[..prompt_tokens].to_vec(),
            greedy: numbers(&json, "greedy"),
        }
    }

    pub fn load(&self) -> Model {
        Model::load_with(&self.path, LoadOptions::new().assembly(&self.assembly)).unwrap()
    }
}

/// The whole numbers of the list, or the one number, behind a key of a JSON text.
fn numbers(json: &str, key: &str) -> Vec<i32> {
    let quoted = format!("\"{key}\": ");
    let begin = json.find(&quoted).unwrap_or_else(|| panic!("no {key}")) + quoted.len();
    let end = if json[begin..].starts_with('[') { ']' } else { ',' };
    let inside = json[begin..].split(end).next().unwrap().trim_start_matches('[');
    inside.split(',').map(|number| number.trim().parse().unwrap()).collect()
}
