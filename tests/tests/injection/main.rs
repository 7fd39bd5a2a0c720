//! Text of users, systems, tools and documents never becomes a control token: hostile conversations through every
//! public chat template and tokenizers of three kinds, each compared with a benign twin.
//!
//! `ALLOQUY_FUZZ_MESSAGES` says how many messages (`cargo xtask fuzz injection --messages N` sets it), and `ALLOQUY_FUZZ_VALUES` how many
//! messages of prompts (`fuzz values`);
//! `ALLOQUY_FUZZ_TEMPLATE` names one template to look at alone.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::print_stderr)]

mod conversation;
mod corpus;
mod draws;
mod exceptions;
mod oracle;
mod prompts;
mod run;
mod setting;
#[path = "../shared/mod.rs"]
mod shared;
mod tally;
mod writer;

/// Messages of the plain test run.
const MESSAGES: usize = 10_000;

/// Messages of prompts in the plain test run.
const VALUES: usize = 4_000;

#[test]
fn no_text_becomes_a_control_token() {
    let Some(templates) = corpus::read() else { return };
    let messages = std::env::var("ALLOQUY_FUZZ_MESSAGES").map_or(MESSAGES, |count| count.parse().unwrap());
    let tally = run::fuzz(&templates, messages, conversation::Conversation::write);
    tally.report();
    assert!(tally.messages >= messages && tally.compared > 0);
    assert_eq!(tally.unexpected(), 0, "breaches that no exception names");
}

#[test]
fn no_value_of_a_prompt_becomes_a_control_token() {
    let Some(templates) = corpus::read() else { return };
    let messages = std::env::var("ALLOQUY_FUZZ_VALUES").map_or(VALUES, |count| count.parse().unwrap());
    let tally = run::fuzz(&templates, messages, prompts::filled);
    tally.report();
    assert!(tally.messages >= messages && tally.compared > 0);
    assert_eq!(tally.unexpected(), 0, "breaches that no exception names");
}
