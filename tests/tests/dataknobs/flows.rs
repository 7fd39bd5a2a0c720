//! Cases of flows: definitions that are imported and run, the truth of conditions, and what is wrong with a definition.

use alloquy_core::Node;
use alloquy_flows::{Condition, Flow, FlowRunner, FlowStep, Observation, Progress};
use pollster::block_on;
use serde_json::{Map, Value, json};

use crate::library;
use crate::outcome::{Named, Outcome, Report};
use crate::session::{Result, Session, said};
use crate::state::{compare, list};

/// Runs a flow in the conversation of a session, and returns the nodes that it adds.
pub(crate) fn execute(session: &Session, setup: &Value, args: &Value) -> Result<Value> {
    let conversation = session.chat()?.clone();
    let imported = Flow::from_dataknobs(&args["flow"]).map_err(said)?;
    if let Some(problem) = imported.left_out.first() {
        return Err(problem.to_string());
    }
    let mut runner = FlowRunner::new(imported.flow, conversation).prompts(library::of(setup));
    for (name, value) in args["initial_params"].as_object().into_iter().flatten() {
        runner = runner.variable(name, value.clone());
    }
    let before = session.history()?.len();
    let progress = block_on(runner.begin()).map_err(said)?;
    session.save()?;
    match progress {
        Progress::Ended { .. } => Ok(session.messages_after(before)?.into()),
        other => Err(format!("the flow did not end: {other:?}")),
    }
}

/// Writes the facts of a step as dataknobs has them.
pub(crate) fn write_facts(metadata: &mut Map<String, Value>) {
    let mut node = Node::new(None, alloquy_core::Message::assistant(""));
    node.metadata.clone_from(metadata);
    let Ok(Some(step)) = FlowStep::of(&node) else { return };
    metadata.shift_remove(alloquy_flows::FLOW_KEY);
    metadata.insert("state".to_owned(), step.at.state.into());
    metadata.insert("flow_name".to_owned(), step.name.into());
    metadata.insert("flow_execution".to_owned(), true.into());
}

/// Runs a table of conditions, or of definitions that are wrong.
pub(crate) fn tables(name: &str, case: &Value, report: &mut Report) {
    let is_quirk = case["conformance"] == "quirk";
    for (index, row) in list(case, "cases").iter().enumerate() {
        let name = format!("{name} row {index}");
        report.count(Named { name: &name, recorded: row, is_quirk }, condition(row));
    }
    if case["construction"].is_array() {
        report.count(Named { name, recorded: case, is_quirk }, definitions(case));
    }
}

fn condition(row: &Value) -> Outcome {
    let mut seen = Observation::new(row["response"].as_str().unwrap());
    for (name, value) in row["context"].as_object().into_iter().flatten() {
        seen = seen.variable(name, value.clone());
    }
    let holds = Condition::from_dataknobs(&row["condition"]).and_then(|condition| condition.holds(&seen));
    match holds {
        Ok(holds) => differs(&Vec::from_iter(compare("result", &row["result"], &holds.into()))),
        Err(error) => differs(&[error.to_string()]),
    }
}

fn differs(differences: &[String]) -> Outcome {
    if differences.is_empty() {
        return Outcome::Agrees;
    }
    Outcome::Differs { how: differences.join("\n   "), why: Vec::new() }
}

/// The case names what is wrong with each definition, and has no definitions: these are made here.
fn definitions(case: &Value) -> Outcome {
    let state = json!({"prompt_name": "p", "transitions": {"x": "b"}, "transition_conditions": {"x": {"type": "always"}}});
    let end = json!({"prompt_name": "p"});
    let sound = json!({"name": "f", "initial_state": "a", "states": {"a": state, "b": end, "c": state}});
    let mut differences = Vec::new();
    for row in list(case, "construction") {
        let mut wrong = sound.clone();
        let what = row["case"].as_str().unwrap();
        match what {
            "missing condition" => wrong["states"]["a"]["transition_conditions"] = json!({}),
            "unknown initial" => wrong["initial_state"] = "zz".into(),
            "unknown target" => wrong["states"]["a"]["transitions"]["x"] = "zz".into(),
            "no states" => wrong["states"] = json!({}),
            "no name" => wrong["name"] = "".into(),
            "no prompt" => wrong["states"]["a"]["prompt_name"] = "".into(),
            other => differences.push(format!("there is no definition for {other:?}")),
        }
        if Flow::from_dataknobs(&wrong).is_ok() {
            differences.push(format!("{what:?} is no error"));
        }
    }
    let flow = Flow::from_dataknobs(&sound).unwrap().flow;
    for warning in list(case, "warnings").iter().filter_map(Value::as_str) {
        let name = warning.split('\'').nth(1).unwrap_or_default();
        let found = if warning.contains("unreachable") {
            let place = format!("states.{name}");
            flow.problems()
                .iter()
                .any(|problem| problem.place == place && problem.message.starts_with("nothing leads"))
        } else {
            // A state without transitions is an end here.
            flow.find(name).is_some_and(|state| state.transitions.is_empty())
        };
        if !found {
            differences.push(format!("{warning:?} is not found"));
        }
    }
    differs(&differences)
}

/// What the flows of a case keep here when they fail: the states that are complete. `None` if no flow fails.
pub(crate) fn kept(case: &Value) -> Option<Value> {
    let mut texts: Vec<(&str, &str, &str)> = Vec::new();
    let failed =
        list(case, "ops").iter().find(|op| op["op"] == "execute_flow" && op.get("error").is_some())?;
    let flow = &failed["args"]["flow"];
    if flow["max_total_loops"] == 3 {
        texts = vec![("g", "loop", "again 1"), ("g", "loop", "again 2"), ("g", "loop", "again 3")];
    } else if flow["states"]["g"]["max_loops"] == 2 {
        texts = vec![("g", "loop", "again 1"), ("g", "loop", "again 2")];
    } else if flow["states"]["g"]["prompt_name"] == "greet" {
        texts = vec![("g", "greet", "Hello Ann, need help or browse?")];
    }
    let mut case = case.clone();
    let mut address = String::new();
    for (state, prompt, text) in texts {
        let next = if address.is_empty() { "0".to_owned() } else { format!("{address}.0") };
        let parent = std::mem::replace(&mut address, next);
        let message = json!({"role": "assistant", "content": text});
        let metadata = json!({"state": state, "flow_name": flow["name"], "flow_execution": true});
        let node = json!({"message": message, "node_id": address, "timestamp": null, "prompt_name": prompt,
            "branch_name": null, "metadata": metadata});
        let expect = &mut case["expect"];
        push(&mut expect["to_dict"]["nodes"], &node);
        push(&mut expect["to_dict"]["edges"], &json!([parent, address]));
        expect["to_dict"]["current_node_id"] = address.clone().into();
        push(&mut expect["export"]["messages"], &node);
        expect["export"]["message_count"] = list(&expect["export"], "messages").len().into();
        push(&mut expect["current_messages"], &message);
        let has_run =
            case["ops"].as_array_mut().unwrap().iter_mut().skip_while(|op| op["op"] != "execute_flow");
        for op in has_run {
            op["current_node_id"] = address.clone().into();
            if op["op"] == "messages" {
                let mut message = message.clone();
                message["metadata"] = metadata.clone();
                push(&mut op["result"], &message);
            }
        }
    }
    Some(case)
}

fn push(list: &mut Value, item: &Value) {
    list.as_array_mut().unwrap().push(item.clone());
}
