//! Cases made from LiteRT-LM's own tests, each run through the crates' public interface.
//!
//! `ALLOQUY_CASES` names a folder of JSON files, each a list of rows `{source, test, kind, input, expected}`; without it
//! the folder `cases/litert` of `ALLOQUY_SHARED` is taken. The last line is `N passed, M failed, K skipped`. A row that
//! differs on purpose stands in `litert/deviations.json` with its reason and the digest of what is found instead; it is
//! run all the same, and counts as skipped.

// Helpers of tests count as tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

mod budget;
mod calls;
mod cancels;
mod channels;
mod constraints;
mod counters;
mod cut;
mod demands;
mod deviations;
mod dialects;
mod draws;
mod factory;
mod failures;
mod families;
mod formatters;
mod inputs;
mod kinds;
mod logits;
mod matching;
mod messages;
mod options;
mod outcome;
mod recorder;
mod replies;
mod report;
mod row;
mod rules;
mod scripts;
#[path = "../shared/mod.rs"]
mod shared;
mod shares;
mod spelling;
mod stops;
mod symbols;
mod templates;
mod tokens;
mod units;

use std::path::PathBuf;

#[test]
fn every_row_does_as_litert_lm_or_differs_on_purpose() {
    let named = std::env::var_os("ALLOQUY_CASES").map(PathBuf::from);
    let Some(folder) = named.or_else(|| shared::find("cases/litert")) else { return };
    let mut report = report::Report::of(&folder);
    for row in row::read(&folder) {
        report.count(&row, kinds::run(&row));
    }
    assert!(report.finish(), "rows failed, or none passed");
}

#[test]
fn the_page_lists_exactly_the_rows_that_differ() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/differences-from-litert-lm.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, generated) = page.split_once("<!-- Generated").unwrap();
    let rows = generated.lines().filter_map(|line| line.strip_prefix("- `")?.strip_suffix('`'));
    let listed: std::collections::BTreeSet<&str> = rows.collect();
    let deviations = deviations::Deviations::read();
    let differing: std::collections::BTreeSet<&str> = deviations.rows().map(String::as_str).collect();
    assert_eq!(listed, differing, "run `cargo xtask codegen differences`");
}
