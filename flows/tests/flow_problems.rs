//! What is wrong with a flow: each file of `problems` has its problems in comments at the end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use alloquy_flows::{Flow, Known};

#[test]
fn each_problem_is_found_at_its_place() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/problems");
    let mut count = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let expected: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("#! ")).collect();
        let hosts = ["is_open".to_owned()];
        let known = Known::default().tools(["price".to_owned()]).hosts(&hosts);
        let problems = match Flow::from_yaml(&text) {
            Ok(flow) => flow.problems_with(&known).iter().map(ToString::to_string).collect(),
            Err(error) => vec![error.to_string()],
        };
        if problems != expected {
            wrong.push(format!("{}:\n#! {}", path.display(), problems.join("\n#! ")));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 5, "{count} files");
}
