// SPDX-License-Identifier: Apache-2.0
//! Raw declarations of Tulle's C ABI, documented in `capi/include/tulle.h` and `tulle_experimental.h`. The crate `tulle`
//! is the safe interface.
#![no_std]
#![allow(non_camel_case_types)]

#[rustfmt::skip]
mod declarations;
pub use declarations::*;
