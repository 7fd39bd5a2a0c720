//! The prompts, the flows and the prices of the server.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy::core::prompt_library::PromptLibrary;
use alloquy::core::{Error, ErrorKind, Result};
use alloquy::cost::PriceTable;
use alloquy::flows::Flow;
use alloquy::prompts::FolderLibrary;
use alloquy_server::{CheckedLibrary, ServerBuilder, ServerHandle};
use clap::Args;

use crate::arguments::{LibraryArguments, PriceArguments};
use crate::file;
use crate::prices;
use crate::settings::Settings;

/// The endings of files with flows.
const ENDINGS: [&str; 2] = ["yaml", "yml"];

/// The prompts, the flows and the prices.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServedLibrary {
    #[command(flatten)]
    library: LibraryArguments,
    #[command(flatten)]
    prices: PriceArguments,
}

/// What was read for a server.
pub(crate) struct OpenedLibrary {
    prompts: Option<FolderLibrary>,
    flows: Vec<Flow>,
    prices: PriceTable,
    /// What it is, by its kind, for people.
    summaries: Vec<(&'static str, String)>,
}

impl ServedLibrary {
    /// Reads the prompts, the flows of a folder, and the prices.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a flow or a table with an error, and for a folder that cannot be read. [`OpenedLibrary::check`] finds prompts
    /// with errors.
    pub(crate) fn open(&self, settings: &Settings, flows: Option<&Path>) -> Result<OpenedLibrary> {
        let library = settings.settle(&self.library)?;
        let table = settings.settle(&self.prices)?;
        let mut summaries = Vec::new();
        let prompts = match &library.prompts {
            Some(folder) => {
                let opened = FolderLibrary::open(folder)?;
                summaries.push(("prompts", format!("{} in {}", opened.names().len(), folder.display())));
                Some(opened)
            }
            None => None,
        };
        let flows = match flows {
            Some(folder) => {
                let read = flows_of(folder)?;
                let names: Vec<&str> = read.iter().map(|flow| flow.name.as_str()).collect();
                summaries.push(("flows", format!("{} in {}", names.join(", "), folder.display())));
                read
            }
            None => Vec::new(),
        };
        if let Some(file) = &table.prices {
            summaries.push(("prices", file.display().to_string()));
        }
        Ok(OpenedLibrary { prompts, flows, prices: prices::table(&table)?, summaries })
    }
}

impl OpenedLibrary {
    /// Returns what was read, by its kind.
    pub(crate) fn summaries(&self) -> &[(&'static str, String)] {
        &self.summaries
    }

    /// Checks that all prompts can be used. Those that can are served even so.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a file that is no prompt.
    pub(crate) fn check(&self) -> Result<()> {
        let Some(library) = &self.prompts else { return Ok(()) };
        let problems = library.problems();
        let Some(first) = problems.first() else { return Ok(()) };
        let message = format!(
            "{} of the files of prompts need correcting, such as {first}: `alloquy prompt check` lists them",
            problems.len()
        );
        Err(Error::new(ErrorKind::Invalid, message))
    }

    /// Checks it for a server that runs.
    ///
    /// # Errors
    /// Those of the flows, and of prompts for a server that began without them.
    pub(crate) fn checked(self, server: &ServerHandle) -> Result<CheckedLibrary> {
        let prompts = self.prompts.map(|library| Arc::new(library) as Arc<dyn PromptLibrary>);
        let flows = self.flows.into_iter().map(|flow| (flow.name.clone(), flow)).collect();
        server.check_library(prompts, flows)
    }

    /// Adds it to a server.
    pub(crate) fn add_to(self, mut builder: ServerBuilder) -> ServerBuilder {
        if let Some(library) = self.prompts {
            builder = builder.prompts(Arc::new(library));
        }
        for flow in self.flows {
            builder = builder.flow(flow.name.clone(), flow);
        }
        builder.prices(self.prices)
    }
}

/// Reads the flows of a folder, in the order of their files.
fn flows_of(folder: &Path) -> Result<Vec<Flow>> {
    let mut flows = Vec::new();
    for path in files_of(folder)? {
        let text = file::any_text(&path).map_err(|source| {
            Error::new(ErrorKind::Invalid, format!("flow {path:?} cannot be read")).with_source(source)
        })?;
        flows.push(Flow::from_yaml(&text).map_err(|error| error.context(format_args!("flow {path:?}")))?);
    }
    if flows.is_empty() {
        let message = format!("there is no flow in {folder:?}: write one into a file that ends in .yaml");
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    Ok(flows)
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |source| {
        Error::new(ErrorKind::Invalid, format!("the folder of flows {folder:?} cannot be read"))
            .with_source(source)
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
