//! The public chat templates, and the control tokens that each names.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};

/// A chat template that somebody published.
#[derive(Debug)]
pub(crate) struct PublicTemplate {
    pub(crate) slug: String,
    pub(crate) source: String,
    /// The special tokens by the names that templates know them by.
    pub(crate) variables: Map<String, Value>,
    /// What the source spells that looks like a control token, the start and end of text first.
    pub(crate) tokens: Vec<String>,
}

/// Reads the corpus; `None`, said aloud, where it is absent.
pub(crate) fn read() -> Option<Vec<PublicTemplate>> {
    let folder = crate::shared::find("cases/templates")?;
    let index = std::fs::read_to_string(folder.join("index.json")).unwrap();
    let index: Value = serde_json::from_str(&index).unwrap();
    Some(index["templates"].as_array().unwrap().iter().map(|entry| template(&folder, entry)).collect())
}

fn template(folder: &Path, entry: &Value) -> PublicTemplate {
    let source = std::fs::read_to_string(folder.join(entry["file"].as_str().unwrap())).unwrap();
    let mut variables = Map::new();
    let mut tokens = Vec::new();
    for (name, default) in [("bos_token", "<s>"), ("eos_token", "</s>")] {
        let text = entry[name].as_str().filter(|text| !text.is_empty()).unwrap_or(default);
        tokens.push(text.to_owned());
        variables.insert(name.to_owned(), entry[name].as_str().unwrap_or(default).into());
    }
    let named: BTreeSet<_> =
        named_tokens(&source).filter(|named| !tokens.iter().any(|token| token == named)).collect();
    tokens.extend(named.into_iter().map(str::to_owned));
    PublicTemplate { slug: entry["slug"].as_str().unwrap().to_owned(), source, variables, tokens }
}

/// Finds `<…>` without white space or quotes inside, and `[…]` in capitals.
fn named_tokens(source: &str) -> impl Iterator<Item = &str> {
    const LONGEST: usize = 48;
    source.match_indices(['<', '[']).filter_map(|(start, open)| {
        let rest = &source[start..];
        let end = rest.find(if open == "<" { '>' } else { ']' })? + 1;
        let found = &rest[..end];
        let inner = &rest[1..end - 1];
        let angled = |symbol: char| !symbol.is_whitespace() && !"<>'\"{}=()%,".contains(symbol);
        let squared = |symbol: char| symbol.is_ascii_uppercase() || "_/".contains(symbol);
        let named = if open == "<" { inner.chars().all(angled) } else { inner.chars().all(squared) };
        (named && inner.chars().any(char::is_alphabetic) && end <= LONGEST && inner.len() > 1
            || found == "<s>")
            .then_some(found)
    })
}
