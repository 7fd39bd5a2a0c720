//! Fetches ahead of time what a first run would fetch: the shared library of ONNX Runtime.

use std::path::PathBuf;

use alloquy_onnx_runtime::{Gpu, Locator};

use crate::{Error, Result};

/// Fetches ONNX Runtime, unless it is there already.
#[derive(Debug, Default, clap::Args)]
pub struct Setup {
    /// An accelerator to support; its libraries are large and are never fetched unasked.
    #[arg(long)]
    gpu: Option<Accelerator>,
    /// The folder to put it into instead of the user's cache.
    #[arg(long, value_name = "DIR")]
    dest: Option<PathBuf>,
}

/// An accelerator.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Accelerator {
    Cuda,
}

impl Setup {
    /// Looks for the library, fetches it where there is none, and prints where it is.
    ///
    /// # Errors
    /// When there is none for this machine, or it cannot be fetched.
    pub fn run(&self) -> Result {
        let library = self.locator().locate(|event| println!("{event}"))?;
        println!("ONNX Runtime: {} ({:?})", library.path.display(), library.origin);
        match &self.dest {
            Some(dest) if !library.path.starts_with(std::path::absolute(dest)?) => {
                Err(Error::new(format!("a library was found elsewhere, so nothing was put into {dest:?}")))
            }
            _ => Ok(()),
        }
    }

    fn locator(&self) -> Locator {
        let mut locator = Locator::new();
        if let Some(Accelerator::Cuda) = self.gpu {
            locator = locator.gpu(Gpu::Cuda);
        }
        match &self.dest {
            Some(dest) => locator.cache(dest),
            None => locator,
        }
    }
}
