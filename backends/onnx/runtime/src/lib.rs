//! Finds the shared library of ONNX Runtime, or fetches it with a pinned digest.
//!
//! `alloquy-onnx` loads ONNX Runtime while the program runs, so the program needs the library on the machine where it
//! runs, not where it is built. This crate finds it there. It does not load the library and does not use `ort`, so a
//! setup tool can prepare a machine with this crate alone.
//!
//! # Find it, or fetch it
//!
//! A [`Locator`] searches these places, in this order:
//!
//! | place | [`LibraryOrigin`] |
//! |---|---|
//! | the path given to [`Locator::library`] | [`Option`](LibraryOrigin::Option) |
//! | the path in the variable `ORT_DYLIB_PATH` | [`Variable`](LibraryOrigin::Variable) |
//! | the folder of the executable, then `../lib/NAME` and `../lib` from there | [`Executable`](LibraryOrigin::Executable) |
//! | the cache: [`Locator::cache`], else [`cache_folder`] | [`Cache`](LibraryOrigin::Cache) |
//! | the package `onnxruntime` of the machine's Python, from 1.23 on | [`Python`](LibraryOrigin::Python) |
//!
//! `NAME` is the name of the executable, so that a package installs `bin/alloquy` and `lib/alloquy/libonnxruntime.so.1.31.1`. An
//! executable that is a symbolic link is looked for where the link leads.
//!
//! Only when none of them has the library, the pinned wheel is downloaded and unpacked into the cache
//! ([`Fetched`](LibraryOrigin::Fetched)). The download is done by the machine's own `pip`, which has the settings for
//! the package index, the proxy and the certificates.
//!
//! ```no_run
//! use alloquy_onnx_runtime::Locator;
//!
//! let library = Locator::new().locate(|event| eprintln!("{event}"))?;
//! assert!(library.path.is_absolute());
//! # Ok::<(), alloquy_onnx_runtime::LocateError>(())
//! ```
//!
//! # Decide what may happen
//!
//! A path that the caller or the environment names is either used or an error; the search does not continue after it.
//! [`DownloadPolicy::Never`] and the variable `ALLOQUY_OFFLINE` forbid the download. The error then lists every place that was
//! searched, and the command that installs the library. The method [`Locator::look`] only searches, and returns the wheel that
//! would be fetched, with its size, so that a program can ask its user first.
//!
//! ```
//! use alloquy_onnx_runtime::{DownloadPolicy, LocateError, Locator};
//!
//! let locator = Locator::new().library("/nowhere/libonnxruntime.so").policy(DownloadPolicy::Never);
//! let error = locator.locate(|_| {}).unwrap_err();
//! assert!(matches!(error, LocateError::NotAFile { .. }));
//! ```
//!
//! [`Gpu`] chooses between the library for the processor alone and the one with CUDA. [`PINNED`] lists the wheel of every
//! supported machine, and [`Wheel::pinned`] returns the one for this machine.
//!
//! # What is checked
//!
//! * A wheel must have the pinned SHA-256 digest; [`Locator::digest`] pins another one, for mirrors that rebuild wheels.
//! * A wheel is unpacked into the cache completely or not at all, also when several processes fetch it at once.
//! * A library in the cache must be the one that was installed there: its length and its digest are compared.
//! * On Unix, a library in the cache or beside the executable is refused ([`LocateError::Exposed`]) where other users
//!   may change it or a folder above it.
//! * A truncated library is refused ([`LocateError::Truncated`]); Linux would end the process with a signal otherwise.
//!
//! # Limits
//!
//! * A library that the caller, `ORT_DYLIB_PATH` or Python names is trusted: its digest and its owner are not checked.
//! * Nothing is built from source, and nothing outside the cache is ever written to.
//! * CUDA and cuDNN are not installed; the machine must have them.
//!
//! How the library is used is described in `docs/onnx.md` of the repository.

mod elf;
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

pub use error::LocateError;
pub use event::DownloadEvent;
pub use gpu::Gpu;
pub use library::{Library, LibraryOrigin};
pub use locator::{DownloadPolicy, Locator, Presence, cache_folder};
pub use wheel::{PINNED, Wheel, WheelFile};
