//! Messages as JSON, as people have them: a list of objects with a role and a content.

use alloquy_core::{Error, ErrorKind, Message, Part, Result, Role};
use serde::Deserialize;
use serde_json::{Map, Value};

/// What a message looks like.
const SHAPE: &str = r#"[{"role": "user", "content": "Hello"}]"#;

/// A message whose content is one text. What else it carries is handed to the chat template.
#[derive(Deserialize)]
struct Plain {
    role: Role,
    content: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

/// Either form of a message.
#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    /// As conversations are stored.
    Stored(Message),
    Plain(Plain),
}

/// Reads a list of messages.
///
/// # Errors
/// [`ErrorKind::Invalid`] for anything else, showing the shape.
pub(crate) fn messages(text: &str) -> Result<Vec<Message>> {
    let forms: Vec<Form> = serde_json::from_str(text).map_err(|source| {
        let message = format!("standard input holds no list of messages such as {SHAPE}");
        Error::new(ErrorKind::Invalid, message).with_source(source)
    })?;
    Ok(forms.into_iter().map(Form::message).collect())
}

impl Form {
    fn message(self) -> Message {
        match self {
            Form::Stored(message) => message,
            Form::Plain(Plain { role, content, name, extra }) => {
                Message { role, parts: vec![Part::Text(content).into()], name, extra }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let read =
            messages(r#"[{"role": "user", "content": "Hi", "mood": 1}, {"role": "assistant", "parts": []}]"#);
        let read = read.unwrap();
        assert_eq!((read[0].text().as_str(), read[0].extra["mood"].as_i64()), ("Hi", Some(1)));
        assert_eq!(read[1], Message::new(Role::Assistant, Vec::<Part>::new()));
    }

    #[test]
    fn anything_else_is_told_the_shape() {
        insta::assert_snapshot!(format!("{:#}", messages("{}").unwrap_err()));
    }
}
