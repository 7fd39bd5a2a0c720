//! Messages that are piped in: in any dialect, or as conversations are stored.

use alloquy::core::{Error, ErrorKind, Message, Preface, Request, Result};
use alloquy::formats::messages::{self, Dialect, MediaRules, Transcript};
use serde_json::Value;

/// An example of messages, for errors.
const SHAPE: &str = r#"[{"role": "user", "content": "Hello"}]"#;

/// Reads a dialect's name.
pub(crate) fn dialect(name: &str) -> Result<Dialect> {
    name.parse()
}

/// Reads a request: messages, and where the dialect has them instructions, tools and variables of the template. The
/// messages of `preface` come first.
///
/// # Errors
/// Those of [`messages::read_text`]; without a dialect [`ErrorKind::Invalid`] for what is neither OpenAI's nor stored,
/// showing the shape.
pub(crate) fn request(
    from: Option<Dialect>,
    text: &str,
    preface: Preface,
    rules: &MediaRules<'_>,
) -> Result<Request> {
    let transcript = match from {
        Some(dialect) => messages::read_text(dialect, text, rules)?,
        None => usual(text, rules)?,
    };
    let (read, path) = transcript.into_preface();
    Ok(Request::new(joined(preface, read), path))
}

/// Reads a conversation that ends with a question. The messages of `preface` come first.
///
/// # Errors
/// Those of [`messages::read_text`] and of [`Transcript::into_request`].
pub(crate) fn question(
    dialect: Dialect,
    text: &str,
    preface: Preface,
    rules: &MediaRules<'_>,
) -> Result<Request> {
    let mut request = messages::read_text(dialect, text, rules)?.into_request()?;
    request.preface = joined(preface, std::mem::take(&mut request.preface));
    Ok(request)
}

/// Reads OpenAI's messages or stored ones; the latter have `parts`, and no `content`.
fn usual(text: &str, rules: &MediaRules<'_>) -> Result<Transcript> {
    let document: Value = serde_json::from_str(text).map_err(|source| {
        let message = format!("standard input is no JSON, such as {SHAPE}; --from names a dialect");
        Error::new(ErrorKind::Invalid, message).with_source(source)
    })?;
    let messages = document.as_array().map(Vec::as_slice).unwrap_or_default();
    if messages.iter().any(|message| message.get("parts").is_some()) {
        return stored(document).map(Transcript::new);
    }
    messages::read(Dialect::OpenAi, &document, rules).map_err(|error| {
        error.context(format_args!(
            "standard input is no conversation of OpenAI's, such as {SHAPE}; --from names another dialect"
        ))
    })
}

fn stored(document: Value) -> Result<Vec<Message>> {
    serde_json::from_value(document).map_err(|source| {
        let message = "the messages on standard input have \"parts\" and are not as conversations store them";
        Error::new(ErrorKind::Invalid, message).with_source(source)
    })
}

fn joined(mut preface: Preface, read: Preface) -> Preface {
    preface.messages.extend(read.messages);
    preface.tools.extend(read.tools);
    preface.arguments.extra.extend(read.arguments.extra);
    preface
}

#[cfg(test)]
mod tests {
    use alloquy::core::{Content, Role};

    use super::*;

    fn read(from: Option<Dialect>, text: &str) -> Result<Request> {
        request(from, text, Preface::system("Obey."), &MediaRules::default())
    }

    #[test]
    fn without_a_dialect_messages_are_openais_or_stored() {
        let openai = r#"[{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi", "mood": 1}]"#;
        let openai = read(None, openai).unwrap();
        assert_eq!(
            openai.preface.messages.iter().map(Message::text).collect::<Vec<_>>(),
            ["Obey.", "Be brief."]
        );
        assert_eq!((openai.path[0].text().as_str(), openai.path[0].extra["mood"].as_i64()), ("Hi", Some(1)));
        let stored =
            read(None, r#"[{"role": "assistant", "parts": [{"text": "Hi"}], "name": "Ada"}]"#).unwrap();
        assert_eq!(
            stored.path,
            [Message::new(Role::Assistant, vec![Content::Text("Hi".into())]).named("Ada")]
        );
    }

    #[test]
    fn a_request_brings_its_tools_and_variables() {
        let text = r#"{"contents": [{"parts": [{"text": "Hi"}]}], "tools": [{"functionDeclarations": [{"name": "now"}]}],
            "systemInstruction": {"parts": [{"text": "Be brief."}]}, "enable_thinking": false}"#;
        let request = read(Some(Dialect::Gemini), text).unwrap();
        assert_eq!((request.preface.messages.len(), request.preface.tools[0].name.as_str()), (2, "now"));
        assert_eq!(request.preface.arguments.extra["enable_thinking"], false);
        assert_eq!(request.path, [Message::user("Hi")]);
    }

    #[test]
    fn anything_else_is_told_what_is_wrong() {
        let errors = [
            "{}",
            "[",
            r#"[{"role": "bot", "content": "Hi"}]"#,
            r#"[{"role": "user", "parts": [{"txt": "Hi"}]}]"#,
        ]
        .map(|text| format!("{:#}", read(None, text).unwrap_err()));
        insta::assert_snapshot!(errors.join("\n"));
        let error = read(Some(Dialect::ChatMl), "Hi").unwrap_err();
        insta::assert_snapshot!(error, @"messages[0]: a message begins with <|im_start|>, not \"Hi\"");
    }
}
