//! Reads what states do.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::action::{Action, ApproveAction, AskAction, CallAction, FlowAction, ForkAction, Text, WaitAction};
use crate::fields::{Fields, map_of};
use crate::problem::Problems;
use crate::yaml::{Content, Located};

const ACTIONS: [&str; 8] = ["say", "ask", "wait", "approve", "call", "flow", "fork", "end"];

/// Reads the one action of a state.
pub(crate) fn action(state: &mut Fields<'_>, problems: &mut Problems) -> Option<Action> {
    let mut found = Vec::new();
    for name in ACTIONS {
        if let Some((place, located)) = state.take(name) {
            problems.at(&place, located.spot);
            found.push((name, place, located));
        }
    }
    if found.len() != 1 {
        let names: Vec<_> = found.iter().map(|(name, ..)| *name).collect();
        let has = if names.is_empty() { "nothing".to_owned() } else { names.join(" and ") };
        let message = format!("the state does {has}, expected one of {}", ACTIONS.join(", "));
        problems.add(state.place(), message);
        return None;
    }
    let (name, place, located) = found.pop()?;
    Some(match name {
        "say" => Action::Say(text(located, &place, problems)),
        "ask" => Action::Ask(ask(located, &place, problems)?),
        "wait" => Action::Wait(wait(located, &place, problems)?),
        "approve" => Action::Approve(approve(located, &place, problems)?),
        "call" => Action::Call(call(located, &place, problems)?),
        "flow" => Action::Flow(flow(located, &place, problems)?),
        "end" => Action::End,
        _ => Action::Fork(fork(located, &place, problems)?),
    })
}

/// Reads a text, or a prompt with values.
fn text(located: &Located, place: &str, problems: &mut Problems) -> Text {
    match &located.content {
        Content::Scalar(Value::String(text)) => Text::Inline(text.clone()),
        Content::Fields(_) => {
            let Some(mut fields) = Fields::of(located, place, problems) else { return Text::from("") };
            let text = text_of(&mut fields, problems);
            fields.finish(problems);
            text.unwrap_or_else(|| Text::from(""))
        }
        _ => {
            problems.add(place, format!("it is {}, expected a text or a prompt", located.value()));
            Text::from("")
        }
    }
}

/// Reads the text of an object: `text`, or `prompt` and `with`.
fn text_of(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Text> {
    let inline = fields.text("text", problems);
    let prompt = fields.text("prompt", problems);
    let with = map_of(fields.take("with"), problems);
    match (inline, prompt) {
        (Some(text), None) => Some(Text::Inline(text)),
        (None, Some(name)) => Some(Text::Prompt { name, with }),
        (Some(_), Some(_)) => {
            problems.add(fields.place(), "it has a text and a prompt; remove one");
            None
        }
        (None, None) => {
            problems.add(fields.place(), "it has no text; expected text or prompt");
            None
        }
    }
}

/// Whether a value is a text alone, which is the short form of an object.
fn short(located: &Located) -> Option<&str> {
    match &located.content {
        Content::Scalar(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn ask(located: &Located, place: &str, problems: &mut Problems) -> Option<AskAction> {
    let mut ask =
        AskAction { text: Text::from(""), output: None, model: None, tools: None, expects: None, set: None };
    if let Some(text) = short(located) {
        ask.text = Text::from(text);
        return Some(ask);
    }
    let mut fields = Fields::of(located, place, problems)?;
    ask.text = text_of(&mut fields, problems).unwrap_or(ask.text);
    ask.output = fields.text("output", problems);
    ask.model = fields.text("model", problems);
    ask.tools = fields.texts("tools", problems);
    ask.expects = fields.value("expects");
    ask.set = fields.text("set", problems);
    fields.finish(problems);
    Some(ask)
}

/// Reads what is said before an answer: a text or a prompt below `say`.
fn said(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Text> {
    let (place, located) = fields.take("say")?;
    problems.at(&place, located.spot);
    Some(text(located, &place, problems))
}

fn wait(located: &Located, place: &str, problems: &mut Problems) -> Option<WaitAction> {
    let mut wait = WaitAction::default();
    match (&located.content, short(located)) {
        (Content::Scalar(Value::Null), _) => return Some(wait),
        (_, Some(text)) => {
            wait.text = Some(Text::from(text));
            return Some(wait);
        }
        _ => {}
    }
    let mut fields = Fields::of(located, place, problems)?;
    wait.text = said(&mut fields, problems);
    wait.expects = fields.value("expects");
    wait.set = fields.text("set", problems);
    wait.deadline = fields.count("deadline", problems).map(|seconds| seconds as u64);
    wait.late = fields.text("late", problems);
    wait.otherwise = fields.text("else", problems);
    fields.finish(problems);
    Some(wait)
}

fn approve(located: &Located, place: &str, problems: &mut Problems) -> Option<ApproveAction> {
    let mut approve = ApproveAction { text: Text::from(""), set: None, deadline: None, late: None };
    if let Some(text) = short(located) {
        approve.text = Text::from(text);
        return Some(approve);
    }
    let mut fields = Fields::of(located, place, problems)?;
    match said(&mut fields, problems) {
        Some(text) => approve.text = text,
        None => problems.add(place, "it does not say what is to be approved; expected say"),
    }
    approve.set = fields.text("set", problems);
    approve.deadline = fields.count("deadline", problems).map(|seconds| seconds as u64);
    approve.late = fields.text("late", problems);
    fields.finish(problems);
    Some(approve)
}

fn call(located: &Located, place: &str, problems: &mut Problems) -> Option<CallAction> {
    if let Some(tool) = short(located) {
        return Some(CallAction { tool: tool.to_owned(), arguments: Map::new(), set: None });
    }
    let mut fields = Fields::of(located, place, problems)?;
    let tool = named(&mut fields, "tool", problems);
    let arguments = map_of(fields.take("arguments"), problems);
    let set = fields.text("set", problems);
    fields.finish(problems);
    Some(CallAction { tool, arguments, set })
}

/// Reads a name that must be there.
fn named(fields: &mut Fields<'_>, name: &'static str, problems: &mut Problems) -> String {
    if !fields.has(name) {
        problems.add(fields.place(), format!("it has no {name}; expected a name"));
    }
    fields.text(name, problems).unwrap_or_default()
}

fn flow(located: &Located, place: &str, problems: &mut Problems) -> Option<FlowAction> {
    if let Some(name) = short(located) {
        return Some(FlowAction::new(name));
    }
    let mut fields = Fields::of(located, place, problems)?;
    let mut action = FlowAction::new(named(&mut fields, "name", problems));
    action.with = map_of(fields.take("with"), problems);
    action.set = names_of(fields.take("set"), problems);
    fields.finish(problems);
    Some(action)
}

fn names_of(value: Option<(String, &Located)>, problems: &mut Problems) -> BTreeMap<String, String> {
    let place = value.as_ref().map(|(place, _)| place.clone()).unwrap_or_default();
    let mut names = BTreeMap::new();
    for (name, inner) in map_of(value, problems) {
        match inner {
            Value::String(inner) => {
                names.insert(name, inner);
            }
            other => problems.add(&place, format!("{name:?} is {other}, expected the name of a variable")),
        }
    }
    names
}

fn fork(located: &Located, place: &str, problems: &mut Problems) -> Option<ForkAction> {
    problems.at(place, located.spot);
    let Content::Fields(entries) = &located.content else {
        problems.add(place, format!("it is {}, expected an object of branches", located.value()));
        return None;
    };
    let mut fork = ForkAction::default();
    for (name, located) in entries {
        let entered = flow(located, &format!("{place}.{name}"), problems)?;
        fork.branches.push((name.clone(), entered));
    }
    Some(fork)
}
