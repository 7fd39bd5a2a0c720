//! Links that lead somewhere pass, and each that does not is found.

#![allow(clippy::unwrap_used)] // a test may panic

mod planted;

use planted::assert_found;
use xtask::{Finding, broken_links};

fn with(text: &str) -> Vec<Finding> {
    let files = [
        ("docs/a.md", text),
        (
            "docs/b.md",
            "# The `code` of [others](a.md), again\n\n## Twice\n\n## Twice\n\n```\n# No heading\n```\n",
        ),
        ("core/src/lib.rs", "//! A.\n"),
    ];
    broken_links(&planted::tree(&files))
}

#[test]
fn links_that_lead_somewhere_pass() {
    let links = [
        "[b](b.md) and [b](./b.md), [core](../core/), [lib](../core/src/lib.rs#L1), ![b](../docs/b.md)",
        "[b](b.md#the-code-of-others-again) [b](b.md#twice) [b](b.md#twice-1) [b](<b.md> \"a title\")",
        "[web](https://example.org/nowhere#x) [mail](mailto:someone@example.org) [here](#here)",
        "`[b](c.md)`",
        "# Here",
        "[b]: b.md#twice",
        "```\n[b](c.md)\n```",
    ];
    for link in links {
        assert_eq!(with(&format!("# Here\n\n{link}\n")), [], "{link}");
    }
}

#[test]
fn links_that_lead_nowhere_are_found() {
    for (link, words) in [
        ("[c](c.md)", "does not exist"),
        ("a [b](b.md) and [c](../core/src/c.rs)", "does not exist"),
        ("![c](c.png)", "does not exist"),
        ("[c]: c.md", "does not exist"),
        ("[c](../../c.md)", "out of the repository"),
        ("[b](b.md#thrice)", "no heading"),
        ("[b](b.md#twice-2)", "no heading"),
        ("[b](b.md#no-heading)", "no heading"),
        ("[here](#nowhere)", "no heading"),
    ] {
        assert_found(&with(&format!("# Here\n\n{link}\n")), "docs/a.md:3", words);
    }
}
