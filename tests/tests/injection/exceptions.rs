//! Breaches that are understood, each with its templates and its reason: `exceptions.json`.

use serde::Deserialize;

use crate::oracle::Breach;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/injection/exceptions.json");

/// Breaches with one reason.
#[derive(Debug, Deserialize)]
pub(crate) struct Exception {
    breach: Breach,
    /// The templates, by slug.
    templates: Vec<String>,
    /// What the conversation must say, one of these; nothing where any text will do.
    #[serde(default)]
    says: Vec<String>,
    pub(crate) reason: String,
}

pub(crate) fn read() -> Vec<Exception> {
    serde_json::from_str(&std::fs::read_to_string(FILE).unwrap()).unwrap()
}

impl Exception {
    pub(crate) fn covers(&self, slug: &str, breach: Breach, said: &str) -> bool {
        let says = self.says.is_empty() || self.says.iter().any(|word| said.contains(word.as_str()));
        breach == self.breach && says && self.templates.iter().any(|template| template == slug)
    }
}
