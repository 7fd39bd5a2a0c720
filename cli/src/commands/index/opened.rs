//! Which index a command uses, and that index when it is open.

use std::path::PathBuf;
use std::sync::Arc;

use alloquy::core::{Error, ErrorKind, Owner};
use alloquy::retrieval::Index;
use clap::Args;

use crate::arguments::{IndexArguments, StoreArguments};
use crate::context::Context;
use crate::failure::Failure;
use crate::indexes;

/// Which index a command uses.
#[derive(Args, Debug)]
pub(super) struct WhichIndex {
    #[command(flatten)]
    pub(super) index: IndexArguments,
    #[command(flatten)]
    pub(super) store: StoreArguments,
}

/// An index that is open, and whose documents in it are meant.
pub(super) struct Opened {
    pub(super) folder: PathBuf,
    pub(super) index: Arc<Index>,
    pub(super) owner: Owner,
}

impl WhichIndex {
    /// Opens the index, which exists.
    pub(super) fn open(&self, context: &Context) -> Result<Opened, Failure> {
        let arguments = context.settings.settle(&self.index)?;
        let store = context.settings.settle(&self.store)?;
        let folder = indexes::folder(&arguments, &store)?;
        let index = indexes::existing(&folder, &arguments).map_err(wrong)?;
        Ok(Opened { folder, index, owner: store.owner() })
    }
}

/// Returns the failure of an index that cannot be opened: an embedder or chunks that are not possible are wrong arguments.
pub(super) fn wrong(error: Error) -> Failure {
    if error.kind() == ErrorKind::Invalid { Failure::Arguments(error) } else { error.into() }
}
