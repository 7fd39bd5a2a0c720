//! The drawings in the documentation are those that the code draws. `ALLOQUY_WRITE_DRAWINGS=1` writes them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use alloquy_flows::Flow;

#[test]
fn the_drawings_of_the_claim_are_those_of_the_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let flow = Flow::from_yaml(&fs::read_to_string(folder.join("examples/claim.yaml")).unwrap()).unwrap();
    assert_eq!(flow.problems(), []);
    let drawing = folder.join("../docs/flows-claim.svg");
    let page = folder.join("../docs/flows.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once("```mermaid\n").expect("the page has a diagram");
    let (_, after) = rest.split_once("```\n").expect("the diagram ends");
    let drawn = format!("{before}```mermaid\n{}```\n{after}", flow.mermaid(None));
    if std::env::var_os("ALLOQUY_WRITE_DRAWINGS").is_some() {
        fs::write(&drawing, flow.svg(None)).unwrap();
        fs::write(&page, &drawn).unwrap();
    }
    let how = "write it with ALLOQUY_WRITE_DRAWINGS=1 cargo test -p alloquy-flows --test documents";
    assert!(fs::read_to_string(&drawing).unwrap_or_default() == flow.svg(None), "the drawing is old; {how}");
    assert!(text == drawn || drawn == fs::read_to_string(&page).unwrap(), "the diagram is old; {how}");
}
