//! What a flow waits for: how it is shown, and how its answer is read.

use std::time::SystemTime;

use alloquy::core::{ConversationId, Error, ErrorKind, Result};
use alloquy::flows::{Answer, Progress, Wait};
use serde_json::{Value, json};

use crate::asking;
use crate::failure::{self, Failure};
use crate::times;

/// Returns what a flow waits for.
pub(super) fn waits_of(progress: &Progress) -> &[Wait] {
    match progress {
        Progress::Waiting { waits, .. } => waits,
        _ => &[],
    }
}

/// Says what answer a state expects.
pub(super) fn expected(wait: &Wait) -> String {
    let mut text = match &wait.expects {
        _ if wait.is_approval => "a decision, yes or no, of another person".to_owned(),
        Some(schema) => format!("an answer that fits {schema}"),
        None => "any text".to_owned(),
    };
    if let Some(due) = wait.due {
        text += &format!(", until {}", times::local(due));
    }
    text
}

pub(super) fn resume_line(id: &ConversationId, wait: &Wait) -> String {
    let branch =
        wait.branch.as_ref().map(|branch| format!(" --branch {}", quoted(branch))).unwrap_or_default();
    let conversation = quoted(id.as_str());
    if wait.is_approval {
        format!("alloquy flow resume {conversation} yes --by NAME{branch}")
    } else {
        format!("alloquy flow resume {conversation} ANSWER{branch}")
    }
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}

/// Returns a wait for programs, with its times.
pub(super) fn wait_json(wait: &Wait) -> Value {
    let mut value = json!(wait);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("since".to_owned(), time_json(wait.since));
        fields.insert("due".to_owned(), time_json(wait.due));
    }
    value
}

fn time_json(time: Option<SystemTime>) -> Value {
    time.map_or(Value::Null, |time| times::utc(time).into())
}

/// Asks the person at the terminal until the answer can be read; `None` if there is none.
pub(super) fn asked(wait: &Wait, by: Option<&str>) -> Result<Option<Answer>, Failure> {
    loop {
        let question = if wait.is_approval { "[y]es or [n]o: " } else { "> " };
        let Some(line) = asking::ask(question) else { return Ok(None) };
        let by = match by {
            None if wait.is_approval => match asking::ask("your name: ") {
                Some(name) => Some(name.trim().to_owned()),
                None => return Ok(None),
            },
            by => by.map(str::to_owned),
        };
        match answer(wait, line.trim_end_matches(['\r', '\n']), by.as_deref()) {
            Ok(answer) => return Ok(Some(answer)),
            Err(error) => failure::print(&error),
        }
    }
}

/// Reads an answer as a state expects it.
///
/// # Errors
/// [`ErrorKind::Invalid`] for a decision that is neither yes nor no, or that has no name.
pub(super) fn answer(wait: &Wait, text: &str, by: Option<&str>) -> Result<Answer> {
    let answer = wait.read(text)?;
    match by.filter(|by| !by.is_empty()) {
        Some(by) => Ok(answer.by(by)),
        None if wait.is_approval => {
            let message = "a decision needs the name of who decides: add --by NAME";
            Err(Error::new(ErrorKind::Invalid, message))
        }
        None => Ok(answer),
    }
}
