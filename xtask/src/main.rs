//! `cargo xtask NAME`: picks the chore.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a chore talks to a terminal

use std::process::ExitCode;

use clap::Parser;
use xtask::{
    Api, Bench, Book, Ci, Codegen, Conformance, Dist, DocsRs, Fuzz, Layers, Package, Pocket, Result, Semver,
    Setup, Style, Torture, Tree, Web, report, root, untidy,
};

/// Chores of the workspace.
#[derive(Debug, clap::Parser)]
#[command(name = "cargo xtask")]
enum Chore {
    Api(Api),
    Bench(Bench),
    Book(Book),
    Ci(Ci),
    Codegen(Codegen),
    Conformance(Conformance),
    Dist(Dist),
    DocsRs(DocsRs),
    Fuzz(Fuzz),
    Layers(Layers),
    Package(Package),
    Pocket(Pocket),
    Semver(Semver),
    Setup(Setup),
    Style(Style),
    /// Finds what breaks the house rules that no compiler checks.
    Tidy,
    Torture(Torture),
    Web(Web),
}

impl Chore {
    fn run(self) -> Result<ExitCode> {
        match self {
            Chore::Api(api) => api.run()?,
            Chore::Bench(bench) => bench.run()?,
            Chore::Book(book) => book.run()?,
            Chore::Ci(ci) => return ci.run(),
            Chore::Codegen(codegen) => codegen.run()?,
            Chore::Conformance(conformance) => conformance.run()?,
            Chore::Dist(dist) => dist.run()?,
            Chore::DocsRs(docs_rs) => docs_rs.run()?,
            Chore::Fuzz(fuzz) => fuzz.run()?,
            Chore::Layers(layers) => layers.run()?,
            Chore::Package(package) => package.run()?,
            Chore::Pocket(pocket) => pocket.run()?,
            Chore::Semver(semver) => semver.run()?,
            Chore::Setup(setup) => setup.run()?,
            Chore::Style(style) => style.run()?,
            Chore::Torture(torture) => torture.run()?,
            Chore::Web(web) => {
                if let Some(reason) = web.run()? {
                    println!("skipped: {reason}");
                }
            }
            Chore::Tidy => report("tidy", &untidy(&Tree::read(&root())?))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn main() -> ExitCode {
    Chore::parse().run().unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}
