//! Documents in prompts: dataknobs' in-memory adapters as retrievers, and what is noted of their passages.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{PromptLibrary as _, PromptName};
use alloquy_core::store::{Archive, ConversationRecord};
use alloquy_core::{ConversationId, Message, Node, Owner, Preface};
use alloquy_prompts::ConfigLibrary;
use alloquy_retrieval::{Found, Lookup, OnFailure, Passage, PromptPassages, Retriever, Reuse};
use serde_json::{Value, json};

use crate::outcome::{Named, Outcome, Report};
use crate::session::{Result, said};
use crate::state::{self, compare, list};

/// How often each adapter was asked.
pub(crate) type Counts = Arc<Mutex<BTreeMap<String, Arc<AtomicUsize>>>>;

/// An adapter that returns the same results for every query, as dataknobs' `InMemoryAdapter` does.
#[derive(Debug)]
struct Adapter {
    name: String,
    results: Vec<Passage>,
    searches: Arc<AtomicUsize>,
}

#[async_trait::async_trait]
impl Retriever for Adapter {
    fn name(&self) -> &str {
        &self.name
    }

    async fn version(&self, _: &Owner) -> alloquy_core::Result<Digest> {
        Ok(Digest::of(self.name.as_bytes()))
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> alloquy_core::Result<Found> {
        self.searches.fetch_add(1, Ordering::Relaxed);
        let mut passages = self.results.clone();
        passages.retain(|passage| lookup.filters.iter().all(|filter| filter.holds(&passage.metadata)));
        passages.truncate(lookup.limit.get());
        Ok(Found::new(passages, self.version(owner).await?))
    }
}

/// What finds the documents of a setup's prompts.
pub(crate) fn passages(setup: &Value, counts: &Counts) -> PromptPassages {
    let mut passages = PromptPassages::new().on_failure(OnFailure::Without).reuse(Reuse::Never);
    if is_noted(setup) && setup["reuse_rag_on_branch"] == true {
        passages = passages.reuse(Reuse::Prompts);
    }
    let adapters = setup["adapters"].as_object().into_iter().flatten();
    for (name, adapter) in adapters {
        let searches = Arc::clone(counts.lock().unwrap().entry(name.clone()).or_default());
        let results = list(adapter, "search_results").iter().enumerate();
        let results = results.map(|(index, result)| passage(name, index, result)).collect();
        passages = passages.retriever(Arc::new(Adapter { name: name.clone(), results, searches }));
    }
    passages
}

/// A result without a score counts as a whole match.
fn passage(adapter: &str, index: usize, result: &Value) -> Passage {
    let mut passage = Passage::new(format!("{adapter}/{index}"), result["content"].as_str().unwrap());
    passage.metadata = result["metadata"].as_object().cloned().unwrap_or_default();
    passage.score(result["score"].as_f64().unwrap_or(1.0))
}

/// Whether the setup notes what was found.
pub(crate) fn is_noted(setup: &Value) -> bool {
    setup["cache_rag_results"] == true
}

/// Whether a prompt of the setup has retrievals of its own, and refers to others.
pub(crate) fn hides(setup: &Value) -> bool {
    let prompts = setup["library"]["user"].as_object().into_iter().flatten();
    let mut prompts = prompts.map(|(_, prompt)| prompt);
    prompts.any(|prompt| prompt["rag_configs"].is_array() && prompt["rag_config_refs"].is_array())
}

/// How often each adapter was asked.
pub(crate) fn searches(counts: &Counts) -> Value {
    let counts = counts.lock().unwrap();
    counts
        .iter()
        .map(|(name, count)| (name.clone(), json!(count.load(Ordering::Relaxed))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// A prompt with documents that is in no library.
pub(crate) fn inline(args: &Value) -> Result<Arc<dyn alloquy_core::prompt_library::Prompt>> {
    let prompt = json!({"template": args["content"], "rag_configs": args["rag_configs"]});
    let library = ConfigLibrary::from_json(&json!({"user": {"inline": prompt}})).map_err(said)?;
    library.prompt(&PromptName::user("inline")).map_err(said)
}

/// The errors of adapters are worded otherwise here: only that there is one is compared.
pub(crate) fn wordless(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            let is_failure = fields.len() == 2 && fields.contains_key("timestamp");
            for (name, field) in fields.iter_mut() {
                *field = match field.take() {
                    Value::String(_) if is_failure && name == "error" => "an error".into(),
                    field => wordless(field),
                };
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = wordless(item.take())),
        _ => {}
    }
    value
}

/// Runs a table of hashes, each as an export writes it.
pub(crate) fn hashes(name: &str, case: &Value, report: &mut Report) {
    for (index, row) in list(case, "cases").iter().enumerate() {
        let name = format!("{name} row {index} {row}");
        let facts = json!({"DOCS": {"retriever": row["adapter"], "query": row["query"], "limit": 1, "at": 0,
            "outcome": {"found": []}}});
        let mut node = Node::new(None, Message::user("Hello"));
        node.metadata.insert("retrieval".to_owned(), facts);
        let mut record = ConversationRecord::new(ConversationId::new(), Preface::default());
        record.head = Some(node.id);
        let state = state::of(&Archive::new(record, vec![node]).unwrap());
        let found = &state["nodes"][0]["metadata"]["rag_metadata"]["DOCS"]["query_hash"];
        let outcome = match compare(&name, &row["hash"], found) {
            None => Outcome::Agrees,
            Some(how) => Outcome::Differs { how, why: Vec::new() },
        };
        report.count(Named { name: &name, recorded: row, is_quirk: false }, outcome);
    }
}
