//! Compares the tokenizer of a server with that of the folder.

use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput};
use alloquy_core::{Error, ErrorKind, Result};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::description::TokenizerCheck;
use crate::dialect::Dialect;
use crate::http::Http;
use crate::wire::{ids, quoted};

/// Texts that tokenizers split in different ways: words, numbers, spaces, scripts, code, emoji.
const TEXTS: [&str; 20] = [
    "Once upon a time",
    "Hello, world!",
    "the quick brown fox jumps over the lazy dog",
    "Supercalifragilisticexpialidocious",
    "1234567890 3.14159 1,000,000",
    "two  spaces   three",
    "a\nb\n\nc",
    "tab\tand\ttab",
    "don't can't I'll we've",
    "snake_case camelCase kebab-case",
    "fn main() { show(\"{}\", 1 + 2); }",
    "https://example.com/a?b=c&d=e",
    "{\"name\": \"value\", \"list\": [1, 2, 3]}",
    "naïve café déjà vu Ärger",
    "Привет, как дела?",
    "你好，世界",
    "こんにちは世界",
    "مرحبا بالعالم",
    "😀👩‍🚀",
    "x = y ** 2 - (z / 3) % 4;",
];

/// Compares the ids of texts.
///
/// # Errors
/// [`ErrorKind::Model`] when the server has other ids for a text, with both. Those of a server that wants a key.
pub(crate) async fn compare(
    http: &Http,
    dialect: Dialect,
    model: &str,
    texts: Vec<(&'static str, Vec<TokenId>)>,
) -> Result<TokenizerCheck> {
    let first = texts.first().map_or("a", |(text, _)| *text);
    let answer = match http.post(path(dialect), &body(dialect, model, first)).await {
        Ok(answer) => answer,
        Err(fault) if fault.is_passing || fault.is_about_key() => return Err(fault.error),
        Err(fault) => return Ok(TokenizerCheck::Unchecked { reason: fault.error.to_string() }),
    };
    if answer.get("tokens").is_none_or(|tokens| !tokens.is_array()) {
        let reason = format!("{} of the server returns no token ids", path(dialect));
        return Ok(TokenizerCheck::Unchecked { reason });
    }
    let answers = texts.iter().map(|(text, ours)| async move {
        let answer =
            http.post(path(dialect), &body(dialect, model, text)).await.map_err(|fault| fault.error)?;
        let theirs = ids(answer.get("tokens").unwrap_or(&Value::Null))?;
        if theirs == *ours { Ok(()) } else { Err(differs(text, ours, &theirs)) }
    });
    // The first text that differs is reported, whichever answer comes first.
    for compared in join_all(answers).await {
        compared?;
    }
    Ok(TokenizerCheck::Equal { texts: texts.len() })
}

/// Encodes the texts that contain no control token.
///
/// # Errors
/// [`ErrorKind::Tokenize`].
pub(crate) fn encoded(tokenizer: &dyn Tokenizer) -> Result<Vec<(&'static str, Vec<TokenId>)>> {
    let mut texts = Vec::with_capacity(TEXTS.len());
    for text in TEXTS {
        // A tokenizer may have words or spaces as added tokens. What servers do with them depends on their settings.
        if tokenizer.specials().iter().any(|special| text.contains(&special.text)) {
            continue;
        }
        texts.push((text, tokenizer.encode(&[TokenizerInput::Literal(text)])?));
    }
    Ok(texts)
}

fn path(dialect: Dialect) -> &'static str {
    if dialect == Dialect::TensorRtLlm { "/_internal/tokenize" } else { "/tokenize" }
}

fn body(dialect: Dialect, model: &str, text: &str) -> Value {
    match dialect {
        Dialect::LlamaCpp => json!({"content": text, "add_special": false, "parse_special": false}),
        Dialect::TensorRtLlm => json!({"model": model, "prompt": text}),
        _ => json!({"model": model, "prompt": text, "add_special_tokens": false}),
    }
}

fn differs(text: &str, ours: &[TokenId], theirs: &[TokenId]) -> Error {
    let theirs = quoted(&format!("{theirs:?}"));
    let message = format!(
        "the server has another tokenizer: {text:?} is {theirs} there and {ours:?} in the folder; use the folder of the \
         server's model"
    );
    Error::new(ErrorKind::Model, message)
}
