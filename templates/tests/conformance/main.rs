//! Cases from outside the repository: what Hugging Face, run, made of hundreds of public templates.
//!
//! `ALLOQUY_CASES` names a folder with `index.json`, `golden.json`, `snippets_golden.json` and `caps.json`; without it
//! the folder `cases/templates` of `ALLOQUY_SHARED` is taken. The last line is `N passed, M failed`; what is known to
//! differ stands in `deviations.json`, with its reason.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, missing_docs)]

mod capabilities;
mod cases;
mod renders;
mod report;
#[path = "../shared/mod.rs"]
mod shared;
mod snippets;

use std::process::ExitCode;

use report::Report;

fn main() -> ExitCode {
    let folder = std::env::var_os("ALLOQUY_CASES").map(std::path::PathBuf::from);
    let Some(folder) = folder.or_else(|| shared::find("cases/templates")) else {
        return ExitCode::SUCCESS;
    };
    let mut report = Report::default();
    renders::run(&folder, &mut report);
    capabilities::run(&folder, &mut report);
    snippets::run(&folder, &mut report);
    report.finish()
}
