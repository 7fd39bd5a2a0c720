//! Finds the shared library of ONNX Runtime, or fetches it with a pinned digest.
//!
//! A [`Locator`] looks, in this order: at a path it was given, at `ORT_DYLIB_PATH`, beside the executable and in
//! its `../lib`, in the user's cache, in an installed Python package; and only then fetches the pinned wheel with
//! the machine's own `pip`, which knows the user's index, proxy and certificates.
//!
//! ```no_run
//! use alloquy_onnx_runtime::Locator;
//!
//! let library = Locator::new().locate(|event| eprintln!("{event}"))?;
//! assert!(library.path.is_absolute());
//! # Ok::<(), alloquy_onnx_runtime::LocateError>(())
//! ```
//!
//! What the cache has is compared with what was installed there, and is refused where others may change it.
//!
//! This crate does not load the library and does not know `ort`: a chore can set up a machine without either.

mod error;
mod event;
mod gpu;
mod install;
mod installed;
mod library;
mod locator;
mod python;
mod rights;
mod wheel;
mod whole;

pub use error::LocateError;
pub use event::Event;
pub use gpu::Gpu;
pub use library::{Library, Origin};
pub use locator::{Locator, Policy, Presence, cache_folder};
pub use wheel::{PINNED, Wheel, WheelFile};
