//! Development tasks of the workspace, one file each, on the tree of files and the metadata of cargo.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a chore talks to a terminal

mod api;
mod bench;
mod book;
mod ci;
mod codegen;
mod command;
mod conformance;
mod dist;
mod docs_rs;
mod error;
mod finding;
mod fuzz;
mod imports;
mod layers;
mod links;
mod package;
mod pocket;
mod published;
mod readme;
mod semver;
mod setup;
mod style;
mod tidy;
mod torture;
mod totals;
mod tree;
mod web;
mod workspace;

pub use api::Api;
pub use bench::{Bench, merged_architectures};
pub use book::Book;
pub use ci::Ci;
pub use codegen::{
    Codegen, architecture_with_layers, conversation_templates, families_page, help_with_models,
    page_with_architectures, page_with_dataknobs_differences, page_with_differences, page_with_models,
    page_with_template_names, readme_with_examples, readme_with_models,
};
pub use conformance::Conformance;
pub use dist::Dist;
pub use docs_rs::DocsRs;
pub use error::{Error, Result};
pub use finding::{Finding, report};
pub use fuzz::Fuzz;
pub use imports::{Circle, Imports, circles, imports, report_circles};
pub use layers::{Layers, breaches, report_breaches};
pub use links::broken_links;
pub use package::Package;
pub use pocket::Pocket;
pub use readme::command_named;
pub use semver::Semver;
pub use setup::Setup;
pub use style::{Count, Figures, Measure, Place, Style};
pub use tidy::untidy;
pub use torture::Torture;
pub use totals::Totals;
pub use tree::{File, Tree};
pub use web::{Web, page_differences};
pub use workspace::{metadata, root};
