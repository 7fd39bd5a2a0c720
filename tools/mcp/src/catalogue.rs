//! The tools that a server lists: which of them are offered, and why the others are not.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use rmcp::model::Tool;
use serde_json::Value;

/// How many characters a name may have according to the protocol.
const LONGEST_NAME: usize = 128;

/// How deep a schema may nest. Those of published servers stay below ten.
const DEEPEST_SCHEMA: usize = 64;

/// A tool that a server lists and that is not offered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedTool {
    /// Its name, or the first characters of it.
    pub name: String,
    /// Why it is not offered.
    pub reason: String,
}

/// The tools that a server last listed. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue(Arc<RwLock<List>>);

#[derive(Debug, Default)]
struct List {
    offered: Vec<Tool>,
    refused: Vec<RefusedTool>,
}

impl Catalogue {
    pub(crate) fn offered(&self) -> Vec<Tool> {
        // A list is replaced whole, so it is whole whatever happened to the thread that held the lock.
        self.0.read().unwrap_or_else(PoisonError::into_inner).offered.clone()
    }

    pub(crate) fn refused(&self) -> Vec<RefusedTool> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).refused.clone()
    }

    /// Replaces the list.
    pub(crate) fn set(&self, tools: Vec<Tool>) {
        let list = sorted_out(tools);
        for RefusedTool { name, reason } in &list.refused {
            tracing::warn!("tool {name:?} is not offered: {reason}");
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = list;
    }
}

/// Separates the tools that can be offered from those that cannot.
fn sorted_out(tools: Vec<Tool>) -> List {
    let mut list = List::default();
    let mut names = HashSet::new();
    for tool in tools {
        let mut reason = defect(&tool);
        if reason.is_none() && !names.insert(tool.name.clone()) {
            reason = Some("another tool of the server has that name".to_owned());
        }
        match reason {
            Some(reason) => {
                let name = tool.name.chars().take(LONGEST_NAME).collect();
                list.refused.push(RefusedTool { name, reason });
            }
            None => list.offered.push(tool),
        }
    }
    list
}

/// Returns why a tool cannot be offered.
fn defect(tool: &Tool) -> Option<String> {
    let length = tool.name.chars().count();
    if !(1..=LONGEST_NAME).contains(&length) {
        return Some(format!("its name has {length} characters, and 1 to {LONGEST_NAME} are allowed"));
    }
    if let Some(character) = tool.name.chars().find(|character| !is_allowed(*character)) {
        return Some(format!(
            "its name holds {character:?}, and only letters, digits and _ - . / : are allowed"
        ));
    }
    if tool.input_schema.values().any(|value| is_deeper(value, DEEPEST_SCHEMA - 1)) {
        return Some(format!("its schema nests more than {DEEPEST_SCHEMA} deep"));
    }
    None
}

fn is_allowed(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | ':')
}

/// Returns whether a value nests deeper than `levels`.
fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => true,
        Value::Array(values) => values.iter().any(|value| is_deeper(value, levels - 1)),
        Value::Object(fields) => fields.values().any(|value| is_deeper(value, levels - 1)),
        _ => false,
    }
}
