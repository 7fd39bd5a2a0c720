//! The page in a real browser: each file of `web/browser` is a test, over the program with its built-in model.
//!
//! `ALLOQUY_BROWSER` names the browser, and `web/node_modules` has the packages; `.ci/browser` installs both. Without them, the tests are
//! listed as ignored. So are those that judge times or take screenshots, unless `ALLOQUY_PAGE_TESTS` is `all`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic
#![allow(clippy::print_stderr)] // what is skipped is said

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};

/// Where the tests of the page are.
const WEB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../web");

/// The tests that run only where they are chosen: their figures are worth something on a machine that does nothing else, or they take screenshots.
const CHOSEN: [&str; 4] = ["frames", "long", "screenshots", "speed"];

/// Returns the names of the tests: those of the files that end so.
fn names() -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(Path::new(WEB).join("browser")).into_iter().flatten() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        if name.ends_with(".test.ts") || name.ends_with(".test.tsx") {
            names.push(name);
        }
    }
    names.sort();
    names
}

/// Drives the page of servers that the test starts.
fn drive(name: &str, browser: &OsString) -> Result<(), Failed> {
    let mut npm = Command::new("npm");
    npm.args(["run", "browser", "--", &format!("browser/{name}")]);
    npm.current_dir(WEB).stdin(Stdio::null()).env("CI", "true");
    npm.env("ALLOQUY_CHROMIUM", browser).env("ALLOQUY_PROGRAM", env!("CARGO_BIN_EXE_alloquy"));
    npm.env_remove("ALLOQUY_PAGE_URL");
    let output = npm.output()?;
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Err(printed.concat().into())
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // A browser takes all of a machine.
    arguments.test_threads.get_or_insert(1);
    let browser =
        std::env::var_os("ALLOQUY_BROWSER").filter(|_| PathBuf::from(WEB).join("node_modules").is_dir());
    let names = names();
    if browser.is_none() || names.is_empty() {
        eprintln!("skipped: source .ci/browser, which installs a browser and the packages of web/");
    }
    let takes_all = std::env::var_os("ALLOQUY_PAGE_TESTS").is_some_and(|chosen| chosen == "all");
    if browser.is_some() && !takes_all {
        eprintln!(
            "skipped: {}; ALLOQUY_PAGE_TESTS=all runs them too, on a machine that does nothing else",
            CHOSEN.join(", ")
        );
    }
    let mut trials = Vec::new();
    for name in names {
        let title =
            name.trim_end_matches(".tsx").trim_end_matches(".ts").trim_end_matches(".test").to_owned();
        let is_chosen = takes_all || !CHOSEN.contains(&title.as_str());
        let is_ignored = browser.is_none() || !is_chosen;
        let browser = browser.clone().unwrap_or_default();
        trials.push(Trial::test(title, move || drive(&name, &browser)).with_ignored_flag(is_ignored));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
