//! The checks that are one command, or one call of another task.

use super::verdict::{Tests, Verdict};
use crate::{
    Api, Book, DocsRs, Error, Package, Result, Setup, Style, Totals, Tree, Web, command, report, root,
};
use crate::{
    breaches, broken_links, codegen as pages, command_named, imports, metadata, report_breaches,
    report_circles, totals, untidy,
};

pub(super) fn fmt(_: &mut Tests) -> Result<Verdict> {
    cargo(&["fmt", "--all", "--check"])
}

pub(super) fn clippy(_: &mut Tests) -> Result<Verdict> {
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// Builds the documentation without private items, so that a link from a public item to a private one fails.
pub(super) fn docs(_: &mut Tests) -> Result<Verdict> {
    for features in ["--all-features", "--no-default-features"] {
        let mut doc = command::cargo(&["doc", "--no-deps", "--workspace", features]);
        command::run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    Ok(Verdict::Passed)
}

pub(super) fn docs_rs(_: &mut Tests) -> Result<Verdict> {
    DocsRs {}.run()?;
    Ok(Verdict::Passed)
}

pub(super) fn api(_: &mut Tests) -> Result<Verdict> {
    Api { check: true }.run()?;
    Ok(Verdict::Passed)
}

/// Without building the packages, which takes many minutes: that is a step of a release.
pub(super) fn package(_: &mut Tests) -> Result<Verdict> {
    Package { no_verify: true }.run()?;
    Ok(Verdict::Passed)
}

pub(super) fn tidy(_: &mut Tests) -> Result<Verdict> {
    report("tidy", &untidy(&Tree::read(&root())?))?;
    Ok(Verdict::Passed)
}

pub(super) fn links(_: &mut Tests) -> Result<Verdict> {
    report("links", &broken_links(&Tree::read(&root())?))?;
    Ok(Verdict::Passed)
}

pub(super) fn style(_: &mut Tests) -> Result<Verdict> {
    Style::default().run()?;
    Ok(Verdict::Passed)
}

pub(super) fn book(_: &mut Tests) -> Result<Verdict> {
    Book {}.run()?;
    Ok(Verdict::Passed)
}

pub(super) fn layers(_: &mut Tests) -> Result<Verdict> {
    let metadata = metadata()?;
    report_breaches(&breaches(&metadata))?;
    report_circles(&imports(&metadata)?)?;
    Ok(Verdict::Passed)
}

pub(super) fn codegen(_: &mut Tests) -> Result<Verdict> {
    pages::check()?;
    Ok(Verdict::Passed)
}

/// Without Node, the page is served as it is committed.
pub(super) fn web(_: &mut Tests) -> Result<Verdict> {
    match Web::check_all()? {
        Some(reason) => Ok(Verdict::Skipped(reason)),
        None => Ok(Verdict::Passed),
    }
}

/// Runs the README's run command, which must print something.
pub(super) fn run(_: &mut Tests) -> Result<Verdict> {
    let (printed, ended) = command::tee(&mut command::shell(&readme_command("run")?))?;
    ended?;
    match printed.trim() {
        "" => Err(Error::new("the README's run command printed nothing")),
        _ => Ok(Verdict::Passed),
    }
}

/// Runs the README's test command, so that CI runs the documented text.
pub(super) fn tests(tests: &mut Tests) -> Result<Verdict> {
    let (printed, ended) = command::tee(&mut command::shell(&readme_command("test")?))?;
    summed(tests, &printed);
    ended?;
    match totals::result_lines(&printed).count() {
        0 => Err(Error::new("the README's test command gave no `test result:` line")),
        _ => Ok(Verdict::Passed),
    }
}

/// Runs the tests of tools with a command line that was built without MCP, which other tests have by default.
pub(super) fn without_mcp(tests: &mut Tests) -> Result<Verdict> {
    let package = ["test", "--package", "alloquy-cli", "--test", "tools"];
    let features = ["--no-default-features", "--features", "pocket"];
    let (printed, ended) = command::tee(&mut command::cargo(&[&package[..], &features].concat()))?;
    summed(tests, &printed);
    ended?;
    Ok(Verdict::Passed)
}

/// Arguments of a cargo command that leave out the examples in the documentation.
const WITHOUT_DOCTESTS: [&str; 5] = ["nextest", "--all-targets", "--bins", "--lib", "--tests"];

pub(super) fn doctests(tests: &mut Tests) -> Result<Verdict> {
    let command = readme_command("test")?;
    if !command.split_whitespace().any(|word| WITHOUT_DOCTESTS.contains(&word)) {
        return Ok(Verdict::Skipped("the tests include them"));
    }
    let (printed, ended) = command::tee(&mut command::cargo(&["test", "--workspace", "--doc"]))?;
    summed(tests, &printed);
    ended?;
    Ok(Verdict::Passed)
}

fn summed(tests: &mut Tests, printed: &str) {
    *tests.get_or_insert_default() += Totals::of_cargo_test(printed);
}

fn readme_command(name: &str) -> Result<String> {
    command_named(&Tree::read(&root())?, name)
}

fn cargo(arguments: &[&str]) -> Result<Verdict> {
    command::run(&mut command::cargo(arguments))?;
    Ok(Verdict::Passed)
}

/// Downloads ONNX Runtime before any check that runs a model, so that a failed download is not reported as a failed test.
pub(super) fn setup(_: &mut Tests) -> Result<Verdict> {
    Setup::default().run()?;
    Ok(Verdict::Passed)
}
