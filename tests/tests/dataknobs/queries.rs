//! Tables of lists, counts, searches and deletions over stored conversations.

use std::collections::HashSet;
use std::ops::Bound;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloquy_core::query::{Filter, MetadataKey, MetadataValue, Sort, SortKey};
use alloquy_core::store::{ConversationStoreExt, ConversationSummary};
use alloquy_core::{ConversationId, ConversationManager, Manager, Query};
use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits};
use pollster::block_on;
use serde_json::{Map, Value, json};

use crate::model::Provider;
use crate::outcome::{Named, Outcome, Report};
use crate::session::{Result, said};
use crate::state::{compare, list};

/// Runs every row.
pub(crate) fn run(name: &str, case: &Value, report: &mut Report) {
    let table = Table::new(list(case, "conversations"));
    let rows = if case["queries"].is_array() { list(case, "queries") } else { list(case, "steps") };
    let whole = case["conformance"] == "quirk";
    for (index, row) in rows.iter().enumerate() {
        let name = format!("{name} row {index} {} {}", row["call"].as_str().unwrap(), row["args"]);
        let is_quirk = whole || row.get("quirk").is_some();
        report.count(Named { name: &name, recorded: row, is_quirk }, table.judge(row));
    }
}

struct Table {
    manager: Manager,
}

/// How many conversations a page of ours holds while all of them are read.
const PAGE: usize = 3;

impl Table {
    fn new(states: &[Value]) -> Self {
        let manager = Manager::new(Provider::new(&Value::Null));
        let states = Value::from(states.to_vec()).to_string();
        for read in archive::read(ArchiveFormat::Dataknobs, &states, &ArchiveLimits::default()).unwrap() {
            block_on(manager.store().import(manager.owner(), &read.unwrap().archive)).unwrap();
        }
        Self { manager }
    }

    fn judge(&self, row: &Value) -> Outcome {
        let found = self.perform(row["call"].as_str().unwrap(), &row["args"]);
        let mut differences = Vec::new();
        match (&found, row.get("error")) {
            (Err(broken), _) if broken.starts_with(BROKEN) => {
                return Outcome::Differs { how: broken.clone(), why: Vec::new() };
            }
            (Err(_), Some(_)) => {}
            (Err(error), None) => differences.push(error.clone()),
            (Ok(found), Some(error)) => differences.push(format!("expected {error}, found {found}")),
            (Ok(found), None) => differences.extend(compare("result", &row["result"], found)),
        }
        if let Some(remaining) = row.get("remaining") {
            let found = self.matching(&Value::Null, &Sort::ascending(SortKey::Created)).unwrap();
            differences.extend(compare("remaining", remaining, &names(&found).into()));
        }
        if differences.is_empty() {
            Outcome::Agrees
        } else {
            Outcome::Differs { how: differences.join("\n   "), why: vec!["pages"] }
        }
    }

    fn perform(&self, call: &str, args: &Value) -> Result<Value> {
        let id =
            || -> Result<ConversationId> { args["conversation_id"].as_str().unwrap().parse().map_err(said) };
        match call {
            "list_conversations" => self.slice(args, sort(args, None)?),
            "search_conversations" => self.slice(args, sort(args, Some("updated_at"))?),
            "count_conversations" => self.count(args),
            "delete_conversations" => self.delete(args),
            "delete_conversation" => match block_on(self.manager.delete(&id()?)) {
                Err(error) if error.is_not_found() => Ok(false.into()),
                deleted => deleted.map(|()| true.into()).map_err(said),
            },
            "update_metadata" => self.update(&id()?, args["metadata"].as_object().unwrap()),
            other => Err(format!("there is no call {other}")),
        }
    }

    fn update(&self, id: &ConversationId, metadata: &Map<String, Value>) -> Result<Value> {
        block_on(async {
            let chat = self.manager.open(id).await?;
            for gone in chat.metadata().await?.keys() {
                chat.remove_metadata(gone).await?;
            }
            for (name, value) in metadata {
                chat.set_metadata(name, value.clone()).await?;
            }
            Ok(Value::Null)
        })
        .map_err(said)
    }

    fn count(&self, args: &Value) -> Result<Value> {
        let counted =
            block_on(self.manager.store().count(self.manager.owner(), &query(args)?)).map_err(said)?;
        let found = self.matching(args, &Sort::ascending(SortKey::Created))?.len();
        must(counted >= found, || format!("counted {counted}, but found {found}"))?;
        Ok(found.into())
    }

    /// A page as dataknobs cuts it: so many from so many on. Where no two conversations are equal in the order that is
    /// asked for, ours has to be the same.
    fn slice(&self, args: &Value, sort: Sort) -> Result<Value> {
        let number = |name: &str| args[name].as_u64().map(|number| number as usize);
        let limit = number("limit").unwrap_or(100);
        let offset = number("offset").unwrap_or_default();
        let found = self.matching(args, &sort)?;
        let keys: HashSet<_> = found.iter().map(|summary| Query::sort_key(&sort, summary)).collect();
        let page: Vec<_> = found.iter().skip(offset).take(limit).cloned().collect();
        let is_plain = !searches(args) && composites(args).next().is_none();
        if is_plain && (keys.len() == found.len() || sort.by == SortKey::Id) {
            let ours = self.page(query(args)?.sort(sort), limit, offset)?;
            must(names(&ours) == names(&page), || format!("our page is {:?}", names(&ours)))?;
        }
        Ok(names(&page).into())
    }

    fn page(&self, query: Query, limit: usize, offset: usize) -> Result<Vec<ConversationSummary>> {
        let list = |query| block_on(self.manager.list(&query)).map_err(said);
        let query = match offset {
            0 => query,
            offset => match list(query.clone().limit(offset))?.next {
                Some(cursor) => query.after(cursor),
                None => return Ok(Vec::new()),
            },
        };
        Ok(list(query.limit(limit))?.conversations)
    }

    /// The conversations that a query means, read page by page; equal ones stand in the order they were made. Whole lists
    /// and objects, and parts of words, are compared here: stores look for single values and for words.
    fn matching(&self, args: &Value, sort: &Sort) -> Result<Vec<ConversationSummary>> {
        let query = query(args)?.sort(sort.clone());
        let mut found = Vec::new();
        let mut page = block_on(self.manager.list(&query.clone().limit(PAGE))).map_err(said)?;
        loop {
            must(page.conversations.len() <= PAGE, || "a page is longer than it may be".to_owned())?;
            for summary in page.conversations {
                if self.holds(&summary, args)? {
                    found.push(summary);
                }
            }
            let Some(next) = page.next else { break };
            page = block_on(self.manager.list(&query.clone().limit(PAGE).after(next))).map_err(said)?;
        }
        let key = |summary: &ConversationSummary| Query::sort_key(sort, summary);
        for equal in found.chunk_by_mut(|one, other| key(one) == key(other)) {
            equal.sort_by_key(|summary| summary.record.created);
        }
        one_type(&found, args)?;
        Ok(found)
    }

    fn holds(&self, summary: &ConversationSummary, args: &Value) -> Result<bool> {
        let metadata = &summary.record.metadata;
        if !composites(args).all(|(key, value)| metadata.get(key) == Some(value)) {
            return Ok(false);
        }
        if !searches(args) {
            return Ok(true);
        }
        let tree =
            block_on(async { self.manager.open(&summary.record.id).await?.tree().await }).map_err(said)?;
        let text = args["content_contains"].as_str().unwrap().to_lowercase();
        let texts: Vec<_> =
            tree.nodes().map(|node| crate::model::text(&node.message).to_lowercase()).collect();
        let is_word = |said: &String| said.split(|c: char| !c.is_alphanumeric()).any(|word| word == text);
        if texts.iter().any(is_word) {
            let ours = names(&self.by_word(args)?);
            must(ours.contains(&summary.record.id.to_string()), || {
                format!("the word {text:?} finds {ours:?}")
            })?;
        }
        Ok(texts.iter().any(|said| said.contains(&text)))
    }

    /// What the store finds by the words of the text.
    fn by_word(&self, args: &Value) -> Result<Vec<ConversationSummary>> {
        let query = query(args)?.text(args["content_contains"].as_str().unwrap()).map_err(said)?;
        Ok(block_on(self.manager.list(&query)).map_err(said)?.conversations)
    }

    fn delete(&self, args: &Value) -> Result<Value> {
        let sorted = query(args)?.sort(Sort::ascending(SortKey::Created));
        if searches(args) {
            let found = self.matching(args, &Sort::ascending(SortKey::Created))?;
            for summary in &found {
                block_on(self.manager.delete(&summary.record.id)).map_err(said)?;
            }
            return Ok(names(&found).into());
        }
        let store = self.manager.store();
        let owner = self.manager.owner();
        let previewed = block_on(store.preview_deletion(owner, &sorted)).map_err(said)?;
        let deleted = block_on(store.delete_matching(owner, &sorted)).map_err(said)?;
        must(previewed == deleted, || format!("{previewed:?} was to be deleted, {deleted:?} is"))?;
        Ok(deleted.into_iter().map(|id| id.to_string()).collect::<Vec<_>>().into())
    }
}

/// How the error begins of something that is promised here and was not kept.
const BROKEN: &str = "not kept:";

fn must(holds: bool, otherwise: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(format!("{BROKEN} {}", otherwise())) }
}

fn names(found: &[ConversationSummary]) -> Vec<String> {
    found.iter().map(|summary| summary.record.id.to_string()).collect()
}

fn searches(args: &Value) -> bool {
    args["content_contains"].as_str().is_some_and(|text| !text.is_empty())
}

/// The filters by lists and objects.
fn composites(args: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let wanted = args["filter_metadata"].as_object().into_iter().flatten();
    wanted.filter(|(_, value)| value.is_array() || value.is_object())
}

/// The order that is asked for; a time of update is what the state said, which is not when the last node was made.
fn sort(args: &Value, default: Option<&str>) -> Result<Sort> {
    let ascending = match args["sort_order"].as_str().unwrap_or("desc").to_lowercase().as_str() {
        "asc" => true,
        "desc" => false,
        other => return Err(format!("there is no order {other}")),
    };
    let Some(by) = args["sort_by"].as_str().or(default) else { return Ok(Sort::ascending(SortKey::Created)) };
    let key = match (by, by.strip_prefix("metadata.")) {
        ("created_at", _) => SortKey::Created,
        ("updated_at", _) => SortKey::Metadata(MetadataKey::of(["dataknobs", "updated_at"])),
        ("conversation_id", _) => SortKey::Id,
        (_, Some(key)) => SortKey::Metadata(key.into()),
        (other, None) => SortKey::Metadata(MetadataKey::of(["dataknobs", other])),
    };
    Ok(if ascending { Sort::ascending(key) } else { Sort::descending(key) })
}

fn query(args: &Value) -> Result<Query> {
    let mut query = Query::default();
    for (key, value) in args["filter_metadata"].as_object().into_iter().flatten() {
        query = query.filter(match value {
            Value::Array(_) | Value::Object(_) => Filter::exists(key.as_str()),
            value => Filter::one_of(key.as_str(), equal_in_python(value)),
        });
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
fn equal_in_python(value: &Value) -> Vec<MetadataValue> {
    match value {
        Value::Bool(value) => {
            vec![MetadataValue::Bool(*value), MetadataValue::Number(u64::from(*value).into())]
        }
        Value::Number(number) => {
            let truth = [(0.0, false), (1.0, true)].into_iter().find(|(of, _)| number.as_f64() == Some(*of));
            let truth = truth.map(|(_, truth)| MetadataValue::Bool(truth));
            [MetadataValue::Number(number.clone())].into_iter().chain(truth).collect()
        }
        Value::String(text) => vec![MetadataValue::Text(text.clone())],
        _ => Vec::new(),
    }
}

/// A time of the tables, read as an import reads it.
fn time(text: &str) -> SystemTime {
    let state = json!({"conversation_id": "t", "nodes": [], "edges": [], "created_at": text}).to_string();
    let read = archive::read(ArchiveFormat::Dataknobs, &state, &ArchiveLimits::default()).unwrap().remove(0);
    read.map_or(UNIX_EPOCH + Duration::ZERO, |read| read.archive.record.created)
}
