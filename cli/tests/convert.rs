//! `alloquy convert`: what is printed, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use program::Program;

const AKI: &str = r#"[
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"text": "What is this?"}, {"image": "data:image/png;base64,iVBORw0KGgo="}]},
    {"role": "assistant", "content": "A picture of nothing."}
]"#;

#[test]
fn a_document_is_printed_in_another_dialect() {
    let program = Program::new();
    for to in ["openai", "litert", "gemini", "aki"] {
        let ran = program.run_with(&["convert", "--from", "aki", "--to", to], AKI).ok();
        insta::assert_snapshot!(to, ran.out);
    }
}

#[test]
fn there_and_back_is_the_same_document() {
    let program = Program::new();
    let there = program.run_with(&["convert", "--from", "aki", "--to", "openai"], AKI).ok().out;
    let back = program.run_with(&["convert", "--json", "--from", "openai", "--to", "aki"], &there).ok().out;
    let [wanted, back] =
        [AKI, back.as_str()].map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap());
    assert_eq!(back, wanted);
}

#[test]
fn what_cannot_be_said_names_the_place() {
    let program = Program::new();
    let refused = [
        (["convert", "--from", "aki", "--to", "chatml"], AKI),
        (
            ["convert", "--from", "openai", "--to", "aki"],
            r#"[{"role": "tool", "content": "4", "tool_call_id": "a"}]"#,
        ),
        (["convert", "--from", "litert", "--to", "aki"], "not json"),
    ];
    let errors: Vec<_> = refused
        .map(|(arguments, document)| {
            let ran = program.run_with(&arguments, document);
            assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
            ran.err
        })
        .into();
    insta::assert_snapshot!(errors.concat());
    assert_eq!(program.run(&["convert", "--from", "word", "--to", "aki"]).code, Some(2));
}
