//! Types every command of docs/first-ten-minutes.md in an empty home folder, and compares the page with what is shown.
//!
//! With `ALLOQUY_UPDATE_DOCS=1` the page is rewritten: the commands and the lines that are typed stay, what is shown is new.
#![cfg(all(unix, feature = "pocket"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod terminal;
mod transcript;

use transcript::Home;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/first-ten-minutes.md");

#[test]
fn the_page_shows_what_a_newcomer_sees() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let made = Home::new().page(&page);
    if std::env::var_os("ALLOQUY_UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, made).unwrap();
        return;
    }
    for (line, (shown, expected)) in made.lines().zip(page.lines()).enumerate() {
        assert_eq!(shown, expected, "line {}: ALLOQUY_UPDATE_DOCS=1 rewrites the page", line + 1);
    }
    assert_eq!(made.lines().count(), page.lines().count());
}
