//! Questions to the person at the terminal. What was typed before a question is no answer to it.

use std::io::{IsTerminal as _, Write as _, stdin};

use crate::{keyboard, screen};

/// Returns whether there is a person to answer.
pub(crate) fn can_ask() -> bool {
    stdin().is_terminal() && screen::is_err_a_terminal()
}

/// Shows a question and returns the line that is typed; `None` for Ctrl-C and where there is no line.
pub(crate) fn ask(question: &str) -> Option<String> {
    if keyboard::is_taken() {
        return keyboard::answer(|| put(question));
    }
    keyboard::forget_typed();
    put(question);
    let mut line = String::new();
    let read = stdin().read_line(&mut line).ok()?;
    (read > 0).then_some(line)
}

fn put(question: &str) {
    let mut err = screen::err();
    // Where standard error is closed, no person can answer.
    let _ = err.write_all(question.as_bytes());
    let _ = err.flush();
}
