//! The passages in a message, as dataknobs notes them below `rag_metadata`.

use alloquy_core::media::Digest;
use alloquy_core::tree::Tree;
use alloquy_core::{Content, Node, NodeId, Source};
use serde_json::{Map, Value, json};

use super::time::Timestamp;

/// The entry of a state's metadata.
pub(super) const RAG: &str = "rag_metadata";

/// The entry of a node's metadata, which `alloquy-retrieval` writes.
const RETRIEVAL: &str = "retrieval";

/// Returns the entry for a node whose metadata says which passages its message shows.
pub(super) fn rag_metadata(node: &Node, tree: &Tree) -> Option<Value> {
    let retrievals = node.metadata.get(RETRIEVAL)?.as_object()?;
    let mut written = Map::new();
    for (placeholder, facts) in retrievals {
        written.insert(placeholder.clone(), entry(node, placeholder, facts.as_object()?, tree)?);
    }
    Some(written.into())
}

fn entry(node: &Node, placeholder: &str, facts: &Map<String, Value>, tree: &Tree) -> Option<Value> {
    let outcome = facts.get("outcome")?.as_object()?;
    let timestamp = Timestamp::of_milliseconds(facts.get("at")?.as_u64()?).to_string();
    if let Some(error) = outcome.get("failed") {
        return Some(json!({"error": error, "timestamp": timestamp}));
    }
    let retriever = facts.get("retriever")?.as_str()?;
    let query = facts.get("query")?.as_str()?;
    let results: Vec<_> = passages(facts, outcome, tree).iter().map(result).collect();
    Some(json!({
        "adapter_name": retriever,
        "query": query,
        "query_hash": query_hash(retriever, query),
        "k": facts.get("limit"),
        "filters": facts.get("filters"),
        "timestamp": timestamp,
        "results": results,
        "formatted_content": shown(node, placeholder),
        "item_template": facts.get("item"),
        "header": facts.get("header"),
    }))
}

/// The hash by which dataknobs finds a query again.
pub(super) fn query_hash(retriever: &str, query: &str) -> String {
    Digest::of(format!("{retriever}:{query}").as_bytes()).to_string()
}

/// The passages of a node, which may be those of another one. Of long ones the tree has names only.
fn passages(facts: &Map<String, Value>, outcome: &Map<String, Value>, tree: &Tree) -> Vec<Value> {
    if let Some(found) = outcome.get("found").or_else(|| outcome.get("names")).and_then(Value::as_array) {
        return found.clone();
    }
    let other = outcome.get("as").and_then(Value::as_str).and_then(|id| id.parse::<NodeId>().ok());
    let other = other.and_then(|id| tree.node(id).ok());
    let others = other.and_then(|node| node.metadata.get(RETRIEVAL)?.as_object());
    for other in others.into_iter().flat_map(Map::values) {
        if other.get("key") == facts.get("key")
            && let Some(found) = other.pointer("/outcome/found").and_then(Value::as_array)
        {
            return found.clone();
        }
    }
    Vec::new()
}

fn result(passage: &Value) -> Value {
    let mut result = Map::new();
    result.insert("content".to_owned(), passage.get("text").cloned().unwrap_or_default());
    for name in ["score", "metadata"] {
        if let Some(value) = passage.get(name) {
            result.insert(name.to_owned(), value.clone());
        }
    }
    result.into()
}

/// The text of the passages as the message has it.
fn shown(node: &Node, placeholder: &str) -> String {
    for part in &node.message.parts {
        if let (Some(Source::Retrieved { id }), Content::Text(text)) = (&part.source, &part.content)
            && id == placeholder
        {
            return text.clone();
        }
    }
    String::new()
}
