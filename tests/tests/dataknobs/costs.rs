//! What replies cost by dataknobs' list of prices, summed up by ours.

use alloquy_core::Node;
use alloquy_core::tree::Tree;
use alloquy_cost::{Cost, PriceTable};
use serde_json::{Value, json};

use crate::outcome::{Named, Outcome, Report};
use crate::state::{compare, list};

/// Dollars for a million tokens: the models that dataknobs knows in its words, which are beginnings of names.
pub(crate) fn prices() -> PriceTable {
    let known = [
        ("gpt-4", "30", "60"),
        ("gpt-3.5-turbo", "1.5", "2"),
        ("claude-3-opus", "15", "75"),
        ("claude-3-sonnet", "3", "15"),
        ("claude-3-haiku", "0.25", "1.25"),
    ];
    let price =
        |(model, input, output)| json!({"models": [format!("{model}*")], "input": input, "output": output});
    let table = json!({"currency": "USD", "prices": known.map(price)});
    PriceTable::from_json(&table.to_string()).unwrap()
}

/// Adds what each reply cost, and what all had cost by then, as dataknobs notes it while it completes.
pub(crate) fn add(nodes: &mut [Node], tree: &Tree) {
    let prices = prices();
    let cost = |spent: &Cost| (spent.known.to_string() != "0").then(|| number(spent));
    for node in nodes {
        let Some(own) = cost(&Cost::of([&*node], &prices)) else { continue };
        let before = tree.nodes().filter(|other| other.id <= node.id);
        node.metadata.insert("cost_usd".to_owned(), own);
        node.metadata.insert("cumulative_cost_usd".to_owned(), number(&Cost::of(before, &prices)));
    }
}

/// A sum as JSON writes it.
pub(crate) fn number(spent: &Cost) -> Value {
    spent.known.to_string().parse::<f64>().unwrap().into()
}

/// Runs a table of models and tokens.
pub(crate) fn run(name: &str, case: &Value, report: &mut Report) {
    let is_quirk = case["conformance"] == "quirk";
    for (index, row) in list(case, "cases").iter().enumerate() {
        let name = format!("{name} row {index} {row}");
        let found = found(row).map_or(Value::Null, |spent| number(&spent));
        let outcome = match compare("cost", &row["cost"], &found) {
            None => Outcome::Agrees,
            // Names are as they are spelled: an unknown one has no price.
            Some(how) if found.is_null() && is_respelled(row) => {
                Outcome::Differs { how, why: vec!["prices"] }
            }
            Some(how) => Outcome::Differs { how, why: Vec::new() },
        };
        report.count(Named { name: &name, recorded: row, is_quirk }, outcome);
    }
}

/// Whether the model has a price by another spelling of its name.
fn is_respelled(row: &Value) -> bool {
    let row = json!({"model": row["model"].as_str().unwrap().to_lowercase(), "usage": row["usage"]});
    found(&row).is_some()
}

/// What a reply cost that was imported with this model and usage; nothing where that is not known.
fn found(row: &Value) -> Option<Cost> {
    use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits};
    let metadata = json!({"model": row["model"], "usage": row["usage"]});
    let node = json!({"node_id": "", "message": {"role": "assistant", "content": "x"}, "metadata": metadata,
        "timestamp": "2024-01-01T00:00:00"});
    let state =
        json!({"conversation_id": "costs", "nodes": [node], "edges": [], "current_node_id": ""}).to_string();
    let read = archive::read(ArchiveFormat::Dataknobs, &state, &ArchiveLimits::default()).unwrap().remove(0);
    let nodes = read.unwrap().archive.nodes;
    let spent = Cost::of(&nodes, &prices());
    spent.total().is_some().then_some(spent).filter(|spent| spent.replies == 1)
}
