//! The checks that are one command, or one call of another chore.

use super::verdict::{Tests, Verdict};
use crate::{Error, Result, Setup, Totals, Tree, command, report, root};
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

/// Private items are not documented, so that a public text that links to one is found.
pub(super) fn docs(_: &mut Tests) -> Result<Verdict> {
    let mut doc = command::cargo(&["doc", "--no-deps", "--workspace"]);
    command::run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
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

/// The README's run command, which must print something: an example that says nothing shows nothing.
pub(super) fn run(_: &mut Tests) -> Result<Verdict> {
    let (printed, ended) = command::tee(&mut command::shell(&readme_command("run")?))?;
    ended?;
    match printed.trim() {
        "" => Err(Error::new("the README's run command printed nothing")),
        _ => Ok(Verdict::Passed),
    }
}

/// The README's test command, so that what people read and what CI runs are one text.
pub(super) fn tests(tests: &mut Tests) -> Result<Verdict> {
    let (printed, ended) = command::tee(&mut command::shell(&readme_command("test")?))?;
    summed(tests, &printed);
    ended?;
    match totals::result_lines(&printed).count() {
        0 => Err(Error::new("the README's test command gave no `test result:` line")),
        _ => Ok(Verdict::Passed),
    }
}

/// The tests of the command line that need servers of tools: what is tested without features has none.
pub(super) fn servers(tests: &mut Tests) -> Result<Verdict> {
    let arguments = ["test", "--package", "alloquy-cli", "--features", "mcp", "--test", "tools"];
    let (printed, ended) = command::tee(&mut command::cargo(&arguments))?;
    summed(tests, &printed);
    ended?;
    Ok(Verdict::Passed)
}

/// Words of a cargo command that leave the examples in the documentation out.
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

/// Comes before whatever runs a model, so that a fetch that fails is told apart from a test that fails.
pub(super) fn setup(_: &mut Tests) -> Result<Verdict> {
    Setup::default().run()?;
    Ok(Verdict::Passed)
}
