//! Cases that are a list of operations on one conversation.

use alloquy_cost::Cost;
use serde_json::{Value, json};

use crate::compaction::compact;
use crate::costs;
use crate::library::MARKS;
use crate::needs::needs;
use crate::outcome::Outcome;
use crate::session::{Result, Session};
use crate::state::{self, compare, list, timeless};
use crate::{flows, instead, rag, stack};

/// Runs every operation and compares what it returns, where the cursor stands, and what there is in the end.
///
/// A case that differs is run once more with what it would have recorded, had dataknobs done as is done here on purpose.
pub(crate) fn run(case: &Value) -> Outcome {
    if let Some(reason) = needs(case) {
        return Outcome::Skipped(reason);
    }
    let outcome = played(case);
    let Outcome::Differs { how, why } = outcome else { return outcome };
    let Some((name, instead)) = instead::of(case) else { return Outcome::Differs { how, why } };
    match played(&instead) {
        Outcome::Agrees => Outcome::Differs { how, why: vec![name] },
        Outcome::Differs { how, .. } => Outcome::Differs { how, why: Vec::new() },
        skipped @ Outcome::Skipped(_) => skipped,
    }
}

fn played(case: &Value) -> Outcome {
    let setup = &case["setup"];
    let mut session = Session::new(setup);
    let mut differences = Vec::new();
    if let Some(name) = setup["system_prompt_name"].as_str() {
        let prompt = json!({"role": "system", "prompt_name": name, "params": setup["system_params"]});
        differences.extend(session.add(&prompt).err());
    }
    for op in list(case, "ops") {
        differences.extend(step(&mut session, op));
    }
    differences.extend(end(&session, &instead::without_counters(setup, &case["expect"])));
    if !session.broken.is_empty() {
        return Outcome::Differs { how: session.broken.join("\n   "), why: Vec::new() };
    }
    if differences.is_empty() {
        Outcome::Agrees
    } else {
        Outcome::Differs { how: differences.join("\n   "), why: reasons(case) }
    }
}

fn step(session: &mut Session, op: &Value) -> Option<String> {
    let what = format!("{} {}", op["op"].as_str().unwrap(), op["args"]);
    let found = perform(session, op);
    let events = json!(session.events.take());
    if events != op.get("events").cloned().unwrap_or_else(|| json!([])) {
        return Some(format!("{what}\n      expected {}\n      found    {events}", op["events"]));
    }
    if let (Err(said), Some(error)) = (&found, op.get("error"))
        && let Some(words) = stack::failure(error).filter(|words| !said.contains(words))
    {
        return Some(format!("{what}\n      expected {words:?} in {said:?}"));
    }
    if let (Err(error), None) = (&found, op.get("error")) {
        return Some(format!("{what}: {error}"));
    }
    if let (Ok(found), Some(error)) = (&found, op.get("error")) {
        return Some(format!("{what}\n      expected {error}\n      found    {found}"));
    }
    let expected = (op["result"].clone(), op["current_node_id"].clone());
    let found = (found.unwrap_or_default(), session.current());
    let [expected, found] =
        [expected, found].map(|(result, current)| timeless(rag::wordless(json!([result, current]))));
    compare(&what, &expected, &found)
}

fn perform(session: &mut Session, op: &Value) -> Result<Value> {
    let args = &op["args"];
    let node = args["node_id"].as_str();
    match op["op"].as_str().unwrap() {
        "add_message" => session.add(args),
        "execute_flow" => flows::execute(session, &session.setup, args),
        "complete" => Ok(session.complete(args, None)?.0),
        "stream_complete" => {
            let stop = args["break_after"].as_u64().map(|stop| stop as usize);
            let (answer, chunks) = session.complete(args, stop)?;
            Ok(json!({"chunks": chunks, "text": answer["content"], "final_seen": stop.is_none()}))
        }
        "switch_to_node" => session.goto(node.unwrap()).map(|()| Value::Null),
        "branch_from" => session.branch_from(args["sibling_node_id"].as_str().unwrap()).map(|()| Value::Null),
        "get_branches" => session.branches(node),
        "get_history" => Ok(said_to_the_head(session)),
        "messages" | "get_messages" => Ok(messages(session, |node| {
            let mut message = node["message"].clone();
            message["metadata"] = node["metadata"].clone();
            message
        })),
        "system_prompt" => Ok(system_prompt(session)),
        "get_total_cost" => Ok(total(session)),
        "get_cost_by_branch" => Ok(session.path(node).map_or(0.0.into(), |path| session.cost(&path))),
        "get_rag_metadata" => rag_metadata(session, node),
        "search_counts" => Ok(rag::searches(&session.searches)),
        "stored" => Ok(session.stored(args["conversation_id"].as_str().unwrap())),
        "export" => export(session),
        "save" => session.save().map(|()| Value::Null),
        "resume" => session.resume(args["conversation_id"].as_str().unwrap()),
        "reset" => session.reset().map(|()| Value::Null),
        "compact_history" => match kept_rounds(&args["keep_recent_iterations"]) {
            Some(keep) => Ok(compact(session, keep)?.into()),
            None => Err("keep_recent_iterations must be >= 0".to_owned()),
        },
        name if is_at_once(name) => {
            let count = args["n"].as_u64().or(args["count"].as_u64()).unwrap_or(2);
            session.complete_at_once(count as usize)
        }
        name => metadata(session, name, args),
    }
}

/// How many rounds compacting keeps where nothing is said: what dataknobs' reasoning passes on then.
///
/// Reference: dataknobs-bots 0.13.1, `HistoryCompactionConfig.keep_recent_iterations`.
const KEPT_ROUNDS: usize = 3;

/// How many rounds are kept; `None` for a number below zero.
fn kept_rounds(asked: &Value) -> Option<usize> {
    if asked.is_null() { Some(KEPT_ROUNDS) } else { asked.as_u64().map(|keep| keep as usize) }
}

#[test]
fn compacting_keeps_three_rounds_unless_it_is_told() {
    let kept = [json!(null), json!(0), json!(7), json!(-1), json!("2")].map(|asked| kept_rounds(&asked));
    assert_eq!(kept, [Some(3), Some(0), Some(7), None, None]);
}

fn is_at_once(op: &str) -> bool {
    ["concurrent", "parallel", "gather"].iter().any(|word| op.contains(word))
}

/// Operations on the metadata: staged until something is saved, but for `add_metadata`.
fn metadata(session: &mut Session, name: &str, args: &Value) -> Result<Value> {
    let key = args["key"].as_str().unwrap_or_default().to_owned();
    let has_state = session.chat().is_ok();
    match name {
        "metadata" => return Ok(session.metadata.clone().into()),
        "get_metadata" => {
            return match (args.get("key"), args.get("default")) {
                (None, Some(_)) => Err("a default needs a key".to_owned()),
                (None, None) => Ok(session.metadata.clone().into()),
                (_, default) => Ok(session.metadata.get(&key).or(default).cloned().unwrap_or_default()),
            };
        }
        "get_seed_metadata" => return Ok(session.seed.clone().into()),
        "seed_metadata" => {
            session.seed.insert(key.clone(), args["value"].clone());
        }
        "add_metadata" => {
            session.chat()?;
        }
        "set_metadata" | "update_metadata" | "remove_metadata" => {}
        other => return Err(format!("there is no operation {other}")),
    }
    if has_state {
        match name {
            "update_metadata" => session.metadata.extend(args["updates"].as_object().unwrap().clone()),
            "remove_metadata" => drop(session.metadata.shift_remove(&key)),
            _ => drop(session.metadata.insert(key, args["value"].clone())),
        }
    }
    if name == "add_metadata" {
        session.save()?;
    }
    Ok(Value::Null)
}

fn messages(session: &Session, one: impl Fn(&Value) -> Value) -> Value {
    session.messages().unwrap_or_default().iter().map(one).collect()
}

fn system_prompt(session: &Session) -> Value {
    let history = session.history().unwrap_or_default();
    let found = history.iter().find(|node| node.message.role == alloquy_core::Role::System);
    found.map_or_else(|| "You are a helpful assistant.".into(), |node| node.message.text().into())
}

fn total(session: &Session) -> Value {
    let tree = session.chat().map(|chat| pollster::block_on(chat.tree()).unwrap());
    tree.map_or(0.0.into(), |tree| costs::number(&Cost::of(tree.nodes(), &costs::prices())))
}

fn rag_metadata(session: &Session, node: Option<&str>) -> Result<Value> {
    let Ok(state) = session.seen() else { return Ok(Value::Null) };
    let node = node.map_or_else(|| state["current_node_id"].clone(), Value::from);
    let found = list(&state, "nodes").iter().find(|known| known["node_id"] == node);
    Ok(found.ok_or("there is no such node")?["metadata"]["rag_metadata"].clone())
}

fn export(session: &Session) -> Result<Value> {
    let seen = session.seen()?;
    let nodes = list(&seen, "nodes");
    let named = |name: &String| nodes.iter().find(|node| node["node_id"] == name.as_str()).cloned();
    let messages: Vec<_> = session.chronological()?.iter().filter_map(named).collect();
    Ok(json!({"conversation_id": seen["conversation_id"], "metadata": seen["metadata"],
        "message_count": messages.len(), "messages": messages}))
}

fn end(session: &Session, expect: &Value) -> Vec<String> {
    let Ok(seen) = session.seen() else {
        let nothing = expect["to_dict"].is_null();
        return Vec::from_iter((!nothing).then(|| "there is no conversation".to_owned()));
    };
    let calls = |calls: &Value| -> Value {
        let said = |message: &Value| json!([message["role"], message["content"]]);
        calls
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| call.as_array().into_iter().flatten().map(said).collect::<Value>())
            .collect()
    };
    let archive = session.archive().unwrap();
    let stored = session.stored(archive.record.id.as_str());
    let mut compared = vec![
        compare("to_dict", &timeless(rag::wordless(expect["to_dict"].clone())), &timeless(seen.clone())),
        compare(
            "export",
            &timeless(rag::wordless(expect["export"].clone())),
            &timeless(export(session).unwrap()),
        ),
        compare("current_messages", &expect["current_messages"], &said_to_the_head(session)),
        compare("llm_calls", &calls(&expect["llm_calls"]), &calls(&session.provider.calls())),
        compare("stored_equals_memory", &expect["stored_equals_memory"], &(stored == seen).into()),
        compare("roundtrip_equal", &state::of(&archive), &state::stored(&archive)),
    ];
    if let Some(expected) = expect.get("stored") {
        compared.push(compare("stored", &timeless(rag::wordless(expected.clone())), &timeless(stored)));
    }
    compared.into_iter().flatten().collect()
}

fn said_to_the_head(session: &Session) -> Value {
    messages(session, |node| node["message"].clone())
}

/// Whether the content of a message is a text, and no template.
fn is_text(args: &Value) -> bool {
    !args["prompt_name"].is_string() && !args["params"].is_object()
}

/// Which differences may be the reason, by what is done.
fn reasons(case: &Value) -> Vec<&'static str> {
    let reason = |op: &Value| {
        let args = &op["args"];
        let content = args["content"].as_str().unwrap_or_default();
        match op["op"].as_str().unwrap() {
            "stream_complete" if args.get("break_after").is_some() => Some("partial-replies"),
            "compact_history" => Some("compaction"),
            name if is_at_once(name) => Some("siblings"),
            "add_message" if is_text(args) && MARKS.iter().any(|mark| content.contains(mark)) => {
                Some("content-is-data")
            }
            "switch_to_node" | "branch_from" => {
                let address = args["node_id"].as_str().or(args["sibling_node_id"].as_str()).unwrap();
                address.parse::<alloquy_core::tree::Address>().is_err().then_some("addresses")
            }
            _ => None,
        }
    };
    let mut reasons: Vec<_> = list(case, "ops").iter().filter_map(reason).collect();
    if rag::hides(&case["setup"]) {
        reasons.push("retrieval");
    }
    if stack::retries(&case["setup"]) {
        reasons.push("middleware");
    }
    reasons
}
