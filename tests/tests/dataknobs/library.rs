//! The library of prompts of a case.

use std::sync::Arc;

use alloquy_core::prompt_library::Values;
use alloquy_prompts::ConfigLibrary;
use serde_json::{Value, json};

/// What begins a placeholder, a conditional part, a statement or a comment of a template.
pub(crate) const MARKS: [&str; 4] = ["{{", "((", "{%", "{#"];

/// The library of a setup, which is empty if the setup has none.
pub(crate) fn of(setup: &Value) -> Arc<ConfigLibrary> {
    let library = if setup["library"].is_object() { setup["library"].clone() } else { json!({}) };
    Arc::new(ConfigLibrary::from_json(&library).unwrap())
}

/// The values that a template is filled in with.
pub(crate) fn values(params: &Value) -> Values {
    params.as_object().cloned().unwrap_or_default().into()
}
