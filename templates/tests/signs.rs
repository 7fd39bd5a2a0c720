//! A source of nothing but signs: refused before a parser goes down them one by one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::ErrorKind;
use alloquy_templates::JinjaTemplate;
use serde_json::Map;

#[test]
fn many_signs_are_an_error_with_and_without_an_operand() {
    for sign in ["- ", "+ ", "not "] {
        for operand in ["", "1"] {
            let source = format!("{{{{ {}{operand} }}}}", sign.repeat(200_000));
            let error = JinjaTemplate::from_source(source, Map::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Template, "{sign:?}{operand:?}: {error}");
        }
    }
}
