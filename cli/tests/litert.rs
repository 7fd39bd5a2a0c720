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

#[path = "litert/budget.rs"]
mod budget;
#[path = "litert/calls.rs"]
mod calls;
#[path = "litert/cancels.rs"]
mod cancels;
#[path = "litert/channels.rs"]
mod channels;
#[path = "litert/constraints.rs"]
mod constraints;
#[path = "litert/counters.rs"]
mod counters;
#[path = "litert/cut.rs"]
mod cut;
#[path = "litert/demands.rs"]
mod demands;
#[path = "litert/deviations.rs"]
mod deviations;
#[path = "litert/dialects.rs"]
mod dialects;
#[path = "litert/draws.rs"]
mod draws;
#[path = "litert/factory.rs"]
mod factory;
#[path = "litert/failures.rs"]
mod failures;
#[path = "litert/families.rs"]
mod families;
#[path = "litert/formatters.rs"]
mod formatters;
#[path = "litert/inputs.rs"]
mod inputs;
#[path = "litert/kinds.rs"]
mod kinds;
#[path = "litert/logits.rs"]
mod logits;
#[path = "litert/matching.rs"]
mod matching;
#[path = "litert/messages.rs"]
mod messages;
#[path = "litert/options.rs"]
mod options;
#[path = "litert/outcome.rs"]
mod outcome;
#[path = "litert/recorder.rs"]
mod recorder;
#[path = "litert/replies.rs"]
mod replies;
#[path = "litert/report.rs"]
mod report;
#[path = "litert/row.rs"]
mod row;
#[path = "litert/rules.rs"]
mod rules;
#[path = "litert/scripts.rs"]
mod scripts;
mod shared;
#[path = "litert/shares.rs"]
mod shares;
#[path = "litert/spelling.rs"]
mod spelling;
#[path = "litert/stops.rs"]
mod stops;
#[path = "litert/symbols.rs"]
mod symbols;
#[path = "litert/templates.rs"]
mod templates;
#[path = "litert/tokens.rs"]
mod tokens;
#[path = "litert/units.rs"]
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
