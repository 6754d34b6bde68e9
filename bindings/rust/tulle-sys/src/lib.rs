// SPDX-License-Identifier: Apache-2.0
//! Raw declarations of Tulle's C ABI, as `capi/include/tulle.h` and `tulle_experimental.h` document it. The crate `tulle` makes
//! them safe.
#![no_std]
#![allow(non_camel_case_types)]

#[rustfmt::skip]
mod declarations;
pub use declarations::*;
