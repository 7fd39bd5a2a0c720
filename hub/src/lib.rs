//! Models of the Hugging Face Hub on this machine.
//!
//! A repository of the Hub often has a model several times: with weights of 32, 16, 8 and 4 bits, for processors and for GPUs. This
//! crate lists these [variants], [chooses](choose) the one that fits a machine, and [fetches](Hub::pull) only the files that it needs.
//! It knows exports for ONNX: those of optimum and transformers.js (`onnx/model_q4.onnx`) and those of ONNX Runtime GenAI
//! (`cpu_and_mobile/cpu-int4-…/genai_config.json`).
//!
//! ```no_run
//! use alloquy_hub::{Hub, ModelName, PullEvent};
//! use std::ops::ControlFlow;
//!
//! let hub = Hub::from_env()?;
//! let name: ModelName = "onnx-community/Qwen3-0.6B-ONNX".parse()?;
//! let model = hub.pull(&name, &mut |event| {
//!     if let PullEvent::Checked { path } = event {
//!         eprintln!("{path} is here");
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! println!("{} is at {}", model.name, model.path.display());
//! # Ok::<(), alloquy_hub::HubError>(())
//! ```
//!
//! # The cache
//!
//! Files are kept in the [cache of huggingface_hub](HubCache), where Python's programs find them too: a model that `hf download` has
//! fetched is not fetched again. [`HubCache::find`] needs no network.
//!
//! # What a pull does
//!
//! 1. It asks the Hub for the files of the revision, with their sizes and digests. All files come from that one commit.
//! 2. It chooses a variant, and refuses to begin where the disk has too little room.
//! 3. It fetches one file after the other. A connection that is cut is continued at the byte where it ended, in this process or in the
//!    next one. Where the server asks to wait, it waits; it gives up after six tries in succession that brought nothing.
//! 4. It compares the digest of each file with the Hub's. A damaged file is not kept.
//! 5. It makes the revision mean that commit when everything is there, so that an older state is used until then.
//!
//! # Settings
//!
//! | variable | meaning |
//! |---|---|
//! | `HF_ENDPOINT` | the server; `https://huggingface.co` unless set |
//! | `HF_TOKEN` | a token for gated and private models; else the file that `HF_TOKEN_PATH` names, else `token` in `HF_HOME` |
//! | `HF_HUB_CACHE` | the folder of the cache; else `hub` in `HF_HOME` |
//! | `HF_HOME` | the folder of Hugging Face; else `.cache/huggingface` in the home folder |
//! | `HF_HUB_OFFLINE` | `1` forbids fetching |
//! | `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` | a proxy |
//!
//! The token is sent to the Hub alone: not to the servers of large files, to which the Hub redirects.
//!
//! # Security
//!
//! The listing of a repository may come from strangers. Paths that lead out of the repository, and digests that are no digests, are
//! refused before anything is written. No file is executed.

mod cache;
mod choice;
mod error;
mod event;
mod http;
mod hub;
mod listing;
mod pull;
mod repository;
mod size;
mod variant;

pub use cache::{CachedModel, HubCache};
pub use choice::{Choice, Machine, Reason, choose, choose_description};
pub use error::{HubError, Result};
pub use event::PullEvent;
pub use hub::{Hub, HubBuilder};
pub use listing::{FileDigest, HubFile, Listing};
pub use repository::{ModelName, Repository};
pub use size::human;
pub use variant::{Target, Variant, Weights, variants};
