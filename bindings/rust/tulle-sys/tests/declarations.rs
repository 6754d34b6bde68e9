// SPDX-License-Identifier: Apache-2.0
//! The declarations are those of the header, and Rust's struct layouts are those of C.
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

use tulle_sys::*;

#[test]
fn the_declarations_are_what_the_header_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = Command::new("python3").arg(folder.join("declare.py")).output().expect("this test needs python3");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let kept = std::fs::read_to_string(folder.join("src/declarations.rs")).unwrap();
    assert!(String::from_utf8_lossy(&made.stdout) == kept, "run declare.py > src/declarations.rs");
}

#[test]
fn structs_are_laid_out_as_in_c() {
    let golden =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../capi/tulle.layout")).unwrap();
    macro_rules! layout {
        ($($name:ident { $($member:ident),* })*) => {{
            let mut lines = String::new();
            $(
                lines += &format!("{} {}\n", stringify!($name), size_of::<$name>());
                $(lines += &format!("  {} {}\n", stringify!($member), offset_of!($name, $member));)*
            )*
            lines
        }};
    }
    let ours = layout! {
        tulle_error { struct_size, status, message }
        tulle_string { data, size }
        tulle_choice { struct_size, runs, name }
        tulle_load_options { struct_size, flags, assembly, progress, progress_context, packed_cache }
        tulle_model_info {
            struct_size, flags, weight_bytes, vocabulary, tokens, context_length, layers, hidden, bos, eos, reserved
        }
        tulle_message { role, content }
        tulle_session_options {
            struct_size, threads, cache, sequence_length, prompt_sequence_length, window, sinks
        }
        tulle_generate_options {
            struct_size, flags, sampler, max_new_tokens, seed, temperature, top_p, min_p, typical_p, repetition_penalty,
            presence_penalty, frequency_penalty, top_k, no_repeat_ngram, min_new_tokens, eos, eos_count, stop, stop_count
        }
        tulle_token { struct_size, id, log_probability, finish_reason, bytes, text }
        tulle_timings {
            struct_size, reserved, prompt_tokens, generated_tokens, prefill_seconds, decode_seconds, draft_tokens,
            accepted_draft_tokens
        }
        tulle_file { struct_size, reserved, name, size, read, context }
        tulle_adapter { struct_size, scale, path }
    };
    assert_eq!(ours, golden);
}

#[test]
fn the_library_has_the_version_of_the_declarations() {
    // SAFETY: takes nothing and always returns.
    assert_eq!(unsafe { tulle_abi_version() }, TULLE_ABI_VERSION);
}
