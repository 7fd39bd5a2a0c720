//! Drawings: nothing in a flow breaks out of them, and they are always the same.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use alloquy_flows::{Action, Condition, Flow, State};
use proptest::prelude::*;

fn drawn(name: &str, condition: &str) -> Flow {
    let state = State::new(name, Action::wait()).to_if(Condition::keyword([condition]), "end").to(name);
    Flow::new(condition).state(state).state(State::new("end", Action::say(name)))
}

proptest! {
    #[test]
    fn a_drawing_cannot_be_broken_out_of(name in ".{1,60}", condition in ".{1,60}") {
        let flow = drawn(&name, &condition);
        let plain = drawn("x", "x");
        // The same number of lines and of elements as that of a harmless flow.
        let mermaid = flow.mermaid(None);
        prop_assert_eq!(mermaid.lines().count(), plain.mermaid(None).lines().count(), "{}", &mermaid);
        for line in mermaid.lines().skip(1) {
            prop_assert!(line.matches('"').count() == 0 || line.matches('"').count() == 2, "{}", line);
            prop_assert!(!line.contains(';') && !line.contains('<') && !line.contains("%%"), "{}", line);
        }
        let svg = flow.svg(None);
        prop_assert_eq!(svg.matches('<').count(), plain.svg(None).matches('<').count(), "{}", &svg);
        prop_assert_eq!(&svg, &flow.svg(None));
    }
}

#[test]
fn known_attempts_to_break_out_fail() {
    for name in [
        "a\"]; click x",
        "</text><script>alert(1)</script>",
        "a\n    [*] --> b",
        "%%{init: {}}%%",
        "end",
        "--> s1",
    ] {
        let flow = drawn(name, name);
        assert!(!flow.svg(None).contains("<script"), "{name}");
        assert!(!flow.mermaid(None).contains("%%"), "{name}");
        assert_eq!(
            flow.mermaid(None).lines().count(),
            drawn("x", "x").mermaid(None).lines().count(),
            "{name}"
        );
    }
}
