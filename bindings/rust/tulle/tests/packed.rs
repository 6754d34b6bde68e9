// SPDX-License-Identifier: Apache-2.0
//! Packed weights that are kept in the user's cache folder: in a process of its own, which names that folder.
mod common;

use common::Golden;
use tulle::{Error, GenerateOptions, LoadOptions, Model, SessionOptions};

#[test]
fn packed_weights_are_kept_and_verified() {
    let cache = std::env::temp_dir().join(format!("tulle-packed-{}", std::process::id()));
    std::env::set_var("XDG_CACHE_HOME", &cache);
    let golden = Golden::read("gguf/f32.gguf auto");
    let greedy_of = |model: Model| {
        let mut session = model.session_with(&SessionOptions::new().threads(1).sequence_length(128)).unwrap();
        let fixed = GenerateOptions::new().max_new_tokens(8).ignore_eos(true);
        let tokens = session.generate_tokens(&golden.prompt, &fixed).unwrap();
        tokens.map(|token| token.unwrap().id.unwrap()).collect::<Vec<_>>()
    };
    let greedy = |options| greedy_of(Model::load_with(&golden.path, options).unwrap());
    let kept = || match std::fs::read_dir(cache.join("tulle/packed")) {
        Ok(files) => files.map(|file| file.unwrap().path()).collect(),
        Err(_) => Vec::new(),
    };
    assert_eq!(greedy_of(golden.load()), golden.greedy[..8]);
    for place in ["off", "auto"] {
        assert_eq!(greedy(LoadOptions::new().packed_cache(place)), golden.greedy[..8]);
    }
    assert!(kept().is_empty());
    let on = || LoadOptions::new().packed_cache("on");
    assert_eq!(greedy(on()), golden.greedy[..8]);
    let files = kept();
    assert_eq!(files.len(), 1);
    let mut bytes = std::fs::read(&files[0]).unwrap();
    let half = bytes.len() / 2;
    bytes[64..half].fill(0);
    std::fs::write(&files[0], bytes).unwrap();
    assert_ne!(greedy(on()), golden.greedy[..8]);
    assert_eq!(greedy(on().verify_packed(true)), golden.greedy[..8]);
    let missing = Model::load_with(&golden.path, LoadOptions::new().packed_cache("/nowhere/model.packed"));
    assert!(matches!(missing, Err(Error::NotFound(_))));
    let bytes = Model::from_bytes(&std::fs::read(&golden.path).unwrap(), on());
    assert!(matches!(bytes, Err(Error::InvalidArgument(_))));
    std::fs::remove_dir_all(cache).unwrap();
}
