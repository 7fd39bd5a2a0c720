//! `--draft`: answers are those without, the figures are printed, and a model with other tokens is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use program::Program;
use serde_json::Value;

#[test]
fn an_answer_with_a_draft_model_is_the_answer_without() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let draft = model.display().to_string();
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    let asked = ["complete", "--temperature", "0", "--max-tokens", "200", "Once upon a time"];
    let plain = program.run(&asked).ok().out;
    let drafted = [&["-v"], &asked[..], &["--draft", &draft]].concat();
    let with = program.run(&drafted).ok();
    assert_eq!(with.out, plain);
    assert!(with.err.contains("draft tokens accepted") || with.err.contains("switched off"), "{}", with.err);
    let json = program.run(&[&["--json"], &drafted[..]].concat()).ok().out;
    let done: Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!(done["event"], "done");
    let drafts = &done["drafts"];
    assert!(drafts["kept"].as_u64().unwrap() <= drafts["guessed"].as_u64().unwrap(), "{done}");
}

#[test]
fn a_draft_model_with_other_tokens_is_refused_by_name() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let draft = model.display().to_string();
    let ran = Program::new().run(&["ask", "--model", "pocket", "--draft", &draft, "Hello"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("cannot draft for model \"pocket\", because their tokens differ"),
        "{}",
        ran.err
    );
    let none = Program::new().run(&["ask", "--model", "pocket", "--draft", "no/such/folder", "Hello"]);
    assert_eq!(none.code, Some(1));
    assert!(none.err.contains("no/such/folder"), "{}", none.err);
}
