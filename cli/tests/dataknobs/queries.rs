//! Tables of lists, counts, searches and deletions over stored conversations.

use std::collections::HashSet;
use std::ops::Bound;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloquy_core::archive::{self, ArchiveFormat, ArchiveLimits};
use alloquy_core::{
    ConversationStore, ConversationStoreExt, ConversationSummary, Filter, MemoryStore, MetadataKey, Owner,
    Query, Scalar, Sort, SortKey,
};
use pollster::block_on;
use serde_json::{Map, Value, json};

use crate::outcome::Outcome;
use crate::session::{Result, said};
use crate::state::{compare, list};

/// Runs every row: its name, whether it is a quirk, and what came of it.
pub(crate) fn run(case: &Value) -> Vec<(String, bool, Outcome)> {
    let table = Table::new(list(case, "conversations"));
    let rows = if case["queries"].is_array() { list(case, "queries") } else { list(case, "steps") };
    let whole = case["conformance"] == "quirk";
    let row = |(index, row): (usize, &Value)| {
        let name = format!("row {index} {} {}", row["call"].as_str().unwrap(), row["args"]);
        (name, whole || row.get("quirk").is_some(), table.judge(row))
    };
    rows.iter().enumerate().map(row).collect()
}

struct Table {
    store: MemoryStore,
    owner: Owner,
}

/// What stands in a page: `None` is no limit.
struct Slice {
    limit: Option<usize>,
    offset: usize,
}

impl Table {
    fn new(states: &[Value]) -> Self {
        let (store, owner) = (MemoryStore::default(), Owner::local());
        let states = Value::from(states.to_vec()).to_string();
        for read in archive::read(ArchiveFormat::Dataknobs, &states, &ArchiveLimits::default()).unwrap() {
            block_on(store.import(&owner, &read.unwrap().archive)).unwrap();
        }
        Self { store, owner }
    }

    fn judge(&self, row: &Value) -> Outcome {
        let found = self.perform(row["call"].as_str().unwrap(), &row["args"]);
        let mut differences = Vec::new();
        match (&found, row.get("error")) {
            (Err(_), Some(_)) => {}
            (Err(error), None) => differences.push(error.clone()),
            (Ok(found), Some(error)) => differences.push(format!("expected {error}, found {found}")),
            (Ok(found), None) => differences.extend(compare("result", &row["result"], found)),
        }
        if let Some(remaining) = row.get("remaining") {
            let found =
                self.named(&Value::Null, None, Some(Sort::ascending(SortKey::Created))).map(Value::from);
            differences.extend(compare("remaining", remaining, &found.unwrap_or_default()));
        }
        match differences.is_empty() {
            true => Outcome::Agrees,
            false => Outcome::Differs { how: differences.join("\n   "), why: vec!["pages"] },
        }
    }

    fn perform(&self, call: &str, args: &Value) -> Result<Value> {
        let slice = |default: usize| Slice {
            limit: Some(args["limit"].as_u64().map_or(default, |limit| limit as usize)),
            offset: args["offset"].as_u64().unwrap_or_default() as usize,
        };
        match call {
            "list_conversations" => self.named(args, Some(slice(100)), sort(args, None)?).map(Value::from),
            "search_conversations" => {
                self.named(args, Some(slice(100)), sort(args, Some("updated_at"))?).map(Value::from)
            }
            "count_conversations" => Ok(self.matching(args, None)?.len().into()),
            "delete_conversations" => self.delete(args),
            "delete_conversation" => {
                let id = args["conversation_id"].as_str().unwrap().parse().map_err(said)?;
                match block_on(self.store.delete(&self.owner, &id)) {
                    Err(error) if error.is_not_found() => Ok(false.into()),
                    deleted => deleted.map(|()| true.into()).map_err(said),
                }
            }
            "update_metadata" => {
                let id = args["conversation_id"].as_str().unwrap().parse().map_err(said)?;
                let metadata: &Map<_, _> = args["metadata"].as_object().unwrap();
                let change = self.store.change_metadata(&self.owner, &id, |kept| kept.clone_from(metadata));
                block_on(change).map(|_| Value::Null).map_err(said)
            }
            other => Err(format!("there is no call {other}")),
        }
    }

    fn named(&self, args: &Value, slice: Option<Slice>, sort: Option<Sort>) -> Result<Vec<String>> {
        let names = self.matching(args, sort)?.into_iter().map(|summary| summary.record.id.to_string());
        let slice = slice.unwrap_or(Slice { limit: None, offset: 0 });
        Ok(names.skip(slice.offset).take(slice.limit.unwrap_or(usize::MAX)).collect())
    }

    /// The conversations that a query means; those with one sort key stand in the order they were made. Whole lists and
    /// objects, and parts of words, are compared here: the store looks for single values and for words.
    fn matching(&self, args: &Value, sort: Option<Sort>) -> Result<Vec<ConversationSummary>> {
        let sort = sort.unwrap_or(Sort::ascending(SortKey::Created));
        let page = block_on(self.store.list(&self.owner, &query(args)?.sort(sort.clone()))).map_err(said)?;
        let mut found: Vec<ConversationSummary> = Vec::new();
        for summary in page.conversations {
            if self.holds(&summary, args)? {
                found.push(summary);
            }
        }
        let key = |summary: &ConversationSummary| Query::sort_key(&sort, summary);
        for equal in found.chunk_by_mut(|one, other| key(one) == key(other)) {
            equal.sort_by_key(|summary| summary.record.created);
        }
        one_type(&found, args)?;
        Ok(found)
    }

    fn holds(&self, summary: &ConversationSummary, args: &Value) -> Result<bool> {
        let metadata = &summary.record.metadata;
        let wanted = args["filter_metadata"].as_object().into_iter().flatten();
        let mut composite = wanted.filter(|(_, value)| value.is_array() || value.is_object());
        if !composite.all(|(key, value)| metadata.get(key) == Some(value)) {
            return Ok(false);
        }
        let Some(text) = args["content_contains"].as_str().filter(|text| !text.is_empty()) else {
            return Ok(true);
        };
        let (_, tree) = block_on(self.store.load(&self.owner, &summary.record.id)).map_err(said)?;
        let text = text.to_lowercase();
        Ok(tree.nodes().any(|node| crate::model::text(&node.message).to_lowercase().contains(&text)))
    }

    fn delete(&self, args: &Value) -> Result<Value> {
        let searches = args["content_contains"].as_str().is_some_and(|text| !text.is_empty());
        if !searches {
            let sorted = query(args)?.sort(Sort::ascending(SortKey::Created));
            let deleted = block_on(self.store.delete_matching(&self.owner, &sorted)).map_err(said)?;
            return Ok(deleted.into_iter().map(|id| id.to_string()).collect::<Vec<_>>().into());
        }
        let found = self.matching(args, None)?;
        for summary in &found {
            block_on(self.store.delete(&self.owner, &summary.record.id)).map_err(said)?;
        }
        Ok(found.into_iter().map(|summary| summary.record.id.to_string()).collect::<Vec<_>>().into())
    }
}

/// The order that is asked for; a time of update is what the state said, which is not when the last node was made.
fn sort(args: &Value, default: Option<&str>) -> Result<Option<Sort>> {
    let ascending = match args["sort_order"].as_str().unwrap_or("desc").to_lowercase().as_str() {
        "asc" => true,
        "desc" => false,
        other => return Err(format!("there is no order {other}")),
    };
    let Some(by) = args["sort_by"].as_str().or(default) else { return Ok(None) };
    let key = match (by, by.strip_prefix("metadata.")) {
        ("created_at", _) => SortKey::Created,
        ("updated_at", _) => SortKey::Metadata(MetadataKey::of(["dataknobs", "updated_at"])),
        ("conversation_id", _) => SortKey::Id,
        (_, Some(key)) => SortKey::Metadata(key.into()),
        (other, None) => SortKey::Metadata(MetadataKey::of(["dataknobs", other])),
    };
    Ok(Some(if ascending { Sort::ascending(key) } else { Sort::descending(key) }))
}

fn query(args: &Value) -> Result<Query> {
    let mut query = Query::default().limit(usize::MAX);
    for (key, value) in args["filter_metadata"].as_object().into_iter().flatten() {
        if !value.is_array() && !value.is_object() {
            query = query.filter(Filter::one_of(key.as_str(), equal_in_python(value)));
        }
    }
    let time = |name: &str| args[name].as_str().map(time);
    let from = time("created_after").map_or(Bound::Unbounded, Bound::Included);
    let to = time("created_before").map_or(Bound::Unbounded, Bound::Included);
    Ok(query.created((from, to)))
}

/// An order over values of several types is an error there; the store has one.
fn one_type(found: &[ConversationSummary], args: &Value) -> Result<()> {
    let key = args["sort_by"].as_str().and_then(|by| by.strip_prefix("metadata."));
    let values = key.map(|key| found.iter().filter_map(|summary| summary.record.metadata.get(key)));
    let types: HashSet<_> = values.into_iter().flatten().map(std::mem::discriminant).collect();
    if types.len() > 1 { Err("values of several types have no order".to_owned()) } else { Ok(()) }
}

/// Python's `None` equals nothing in a filter, and its numbers equal truth values.
fn equal_in_python(value: &Value) -> Vec<Scalar> {
    match value {
        Value::Bool(value) => vec![Scalar::Bool(*value), Scalar::Number(u64::from(*value).into())],
        Value::Number(number) => {
            let truth = [(0.0, false), (1.0, true)].into_iter().find(|(of, _)| number.as_f64() == Some(*of));
            let truth = truth.map(|(_, truth)| Scalar::Bool(truth));
            [Scalar::Number(number.clone())].into_iter().chain(truth).collect()
        }
        Value::String(text) => vec![Scalar::Text(text.clone())],
        _ => Vec::new(),
    }
}

/// A time of the tables, read as an import reads it.
fn time(text: &str) -> SystemTime {
    let state = json!({"conversation_id": "t", "nodes": [], "edges": [], "created_at": text}).to_string();
    let read = archive::read(ArchiveFormat::Dataknobs, &state, &ArchiveLimits::default()).unwrap().remove(0);
    read.map_or(UNIX_EPOCH + Duration::ZERO, |read| read.archive.record.created)
}
