//! Cases recorded from dataknobs, each run through the crates' public interface.
//!
//! `ALLOQUY_CASES` names a folder with `tree`, `storage`, `import` and further folders of JSON; without it the folder
//! `cases/dataknobs` of `ALLOQUY_SHARED` is taken. The last line is `N passed, M failed, K skipped`. A case that must
//! agree passes when the whole of what comes out agrees, or when `dataknobs/differences.json` lists it by its name; one that is
//! marked as a quirk passes when it agrees, or when one of the differences in that file says why it does not and what is done
//! instead.

// Helpers of tests count as tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

mod compaction;
mod costs;
mod documents;
mod flows;
mod instead;
mod library;
mod model;
mod needs;
mod outcome;
mod prompts;
mod queries;
mod rag;
mod session;
#[path = "../shared/mod.rs"]
mod shared;
mod stack;
mod state;
mod stores;
mod trees;

use std::fs;
use std::path::{Path, PathBuf};

use outcome::{Named, Outcome, Report};
use serde_json::Value;
use state::list;

#[test]
fn every_case_does_as_dataknobs_or_differs_on_purpose() {
    let named = std::env::var_os("ALLOQUY_CASES").map(PathBuf::from);
    let Some(folder) = named.or_else(|| shared::find("cases/dataknobs")) else { return };
    let mut report = Report::default();
    for path in files(&folder) {
        let name = path.strip_prefix(&folder).unwrap().display().to_string();
        if let Some(case) =
            fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
        {
            run(&name, &path, &case, &mut report);
        }
    }
    report.print();
    assert!(report.passes(), "cases failed, or none passed");
}

#[test]
fn the_page_lists_every_difference() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/differences-from-dataknobs.md");
    let page = fs::read_to_string(page).unwrap();
    for difference in outcome::differences() {
        assert!(
            page.contains(&format!("### {}\n\n{}\n", difference.title, difference.reason)),
            "{difference:?}"
        );
        difference.cases.keys().for_each(|case| assert!(page.contains(&format!("`{case}`")), "{case}"));
    }
}

#[test]
fn a_quirk_that_was_recorded_anew_fails() {
    let case = |name| Named { name, recorded: &Value::Null, is_quirk: true };
    let report = Report::default();
    assert!(report.changed(case("import/e14_no_nodes.json")).is_some());
    assert!(report.changed(case("storage/s01_queries_memory.json row 38 search_conversations {}")).is_some());
    assert_eq!(report.changed(case("tree/another.json")), None);
}

#[test]
fn a_case_that_must_agree_differs_only_where_it_is_listed_itself() {
    let report = Report::default();
    for (name, is_quirk, is_listed) in [
        ("middleware/another.json", false, false),
        ("middleware/m10_rate_limit.json", false, true),
        ("prompts/p01_template_render.json row 53 {}", false, true),
        ("prompts/p01_template_render.json row 52 {}", false, false),
        ("middleware/another.json", true, true),
    ] {
        let case = Named { name, recorded: &Value::Null, is_quirk };
        assert_eq!(report.listed(&["middleware", "limits", "values"], case).is_some(), is_listed, "{case:?}");
    }
}

/// Every JSON file below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Runs a case by what it holds, whatever it is called.
fn run(name: &str, path: &Path, case: &Value, report: &mut Report) {
    let is_quirk = case["conformance"] == "quirk";
    let whole = Named { name, recorded: case, is_quirk };
    match case["category"].as_str() {
        Some("rag") if list(case, "cases").iter().any(|row| row["hash"].is_string()) => {
            rag::hashes(name, case, report);
        }
        Some("flow") if case["cases"].is_array() || case["construction"].is_array() => {
            flows::tables(name, case, report);
        }
        Some("tree" | "middleware" | "rag" | "flow") => report.count(whole, trees::run(case)),
        Some("import") => report.count(whole, documents::run(case)),
        Some("storage") if case["queries"].is_array() || case["steps"].is_array() => {
            queries::run(name, case, report);
        }
        Some("storage") => report.count(whole, stores::run(case)),
        Some("misc") if list(case, "cases").iter().any(|row| row.get("usage").is_some()) => {
            costs::run(name, case, report);
        }
        Some("misc") if case["assignments"].is_object() => report.count(whole, prompts::assignments(case)),
        Some("misc") if case["steps"].is_array() => report.count(whole, prompts::versions(case)),
        Some("prompts") => prompts::run(name, case, report),
        Some(other) => {
            report.count(whole, Outcome::Skipped(format!("{other:?} is no category that the runner knows")));
        }
        None if case["file"].is_string() && case["conversations"].is_array() => {
            report.count(whole, documents::run_database(path, case));
        }
        // A database that another file is about, or a file of a prompt library.
        None => {}
    }
}
