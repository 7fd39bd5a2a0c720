//! The turns of the conversation: messages, edits, branches, second replies and a tool.

/// How many turns the conversation has.
pub(crate) const TURNS: usize = 50;

/// What happens in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A message after the head.
    Send(&'static str),
    /// Another version of the question before the last one.
    Edit(&'static str),
    /// A message after the third last reply.
    Branch(&'static str),
    /// A second reply to the last question.
    Regenerate,
    /// A question, a call and its result, which the program adds, and the reply to them.
    Tool(&'static str),
}

const TEXTS: [&str; 12] = [
    "Tom ran.",
    "Mia saw a cat.",
    "The dog was big.",
    "It was hot.",
    "Lily had a red ball.",
    "Ben sat.",
    "They went home.",
    "The sun was up.",
    "Mom said no.",
    "He found a box.",
    "She was sad.",
    "Then what?",
];

/// Returns what happens in a turn.
pub(crate) fn step(turn: usize) -> Step {
    let text = TEXTS[turn * 5 % TEXTS.len()];
    match turn % 10 {
        2 => Step::Tool(text),
        4 => Step::Edit(text),
        7 if turn > 10 => Step::Branch(text),
        9 => Step::Regenerate,
        _ => Step::Send(text),
    }
}
