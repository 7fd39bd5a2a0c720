//! What is reused of what was computed: long chats through real templates, with calls, thinking, edits, further answers,
//! other branches and cancels, each prompt compared with every sequence of tokens that any session ever held.
//!
//! `ALLOQUY_REUSE_TURNS` says how many turns a chat has, `ALLOQUY_REUSE_SESSIONS` how many sessions are kept,
//! `ALLOQUY_REUSE_TEMPLATE` names one template to look at alone. `cargo xtask conformance reuse` runs it at full length. The
//! last line is `N passed, M failed`.

// Helpers of tests count as tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod chat;
#[path = "../injection/corpus.rs"]
mod corpus;
#[allow(dead_code)] // another test shuffles
#[path = "../injection/draws.rs"]
mod draws;
mod engine;
mod figures;
mod model;
mod setting;
#[path = "../shared/mod.rs"]
mod shared;
mod spelling;
mod trie;
mod writer;

use figures::Table;

/// Turns of a chat in the plain test run.
const TURNS: usize = 12;

#[test]
fn what_was_computed_is_reused_or_the_report_says_why_not() {
    let Some(corpus) = corpus::read() else { return };
    let turns = std::env::var("ALLOQUY_REUSE_TURNS").map_or(TURNS, |turns| turns.parse().unwrap());
    let only = std::env::var("ALLOQUY_REUSE_TEMPLATE").ok();
    let wanted = |slug: &str| only.as_ref().is_none_or(|only| only == slug);
    let mut table = Table::default();
    for (index, (slug, model_type)) in
        setting::TEMPLATES.iter().enumerate().filter(|(_, (slug, _))| wanted(slug))
    {
        let public = corpus.iter().find(|public| public.slug == *slug);
        let public = public.unwrap_or_else(|| panic!("no template {slug:?} among the cases"));
        let setting = setting::Setting::new(public, model_type, index);
        table.push(pollster::block_on(chat::hold(setting, index as u64, turns)));
    }
    println!("{table}");
    let (passed, failed) = table.verdict();
    println!("{passed} passed, {failed} failed");
    assert_eq!(failed, 0, "tokens were computed again without a reason, or too many");
}
