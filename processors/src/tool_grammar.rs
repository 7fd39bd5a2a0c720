//! Writes the grammar of a reply with tool calls, in Lark's notation.
//!
//! The grammar forces a model to call tools as its family writes calls, with arguments that the schema of the tool accepts.
//! A schema that cannot be enforced is an error here for the notations of this crate. For JSON, the compiler of the grammar
//! checks the schema.

mod gemma;
mod json;
mod lark;
mod python;
mod refusal;
mod strings;
mod values;
#[cfg(feature = "laws")]
mod written;
mod xml;

use std::collections::BTreeMap;

use alloquy_core::grammar::Grammar;
use alloquy_core::output::{ParallelCalls, ToolChoice};
use alloquy_core::tokenizer::{SpecialToken, TokenId};
use alloquy_core::{Error, ErrorKind, Result, ToolSpec};
use serde_json::{Map, Value};

use crate::calls::{Call, CallSyntax, JsonCalls};
use crate::configured::{Configured, SectionContent};
use crate::family::AnswerHeads;
use lark::{Rules, Text};
#[cfg(feature = "laws")]
pub(crate) use written::written;

/// A model whose calls are written into a grammar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer<'a> {
    pub(crate) family: &'a Configured,
    pub(crate) specials: &'a [SpecialToken],
    pub(crate) stop_tokens: &'a [TokenId],
    /// The model's own template; empty if it has none.
    pub(crate) template: &'a str,
}

/// One way in which a family's models write calls. Empty markers are not written.
#[derive(Clone, Copy, Debug)]
struct Style<'a> {
    open: &'a str,
    close: &'a str,
    syntax: &'a CallSyntax,
}

/// The arrangement of several calls. The text, in Lark's notation, is between two of them.
enum Layout {
    /// In a list.
    List,
    /// Between one pair of markers.
    Together(&'static str),
    /// Each between markers of its own.
    Apart(&'static str),
    /// A reply has one call at most.
    Alone,
}

/// Returns the grammar of a reply after its thinking; `None` if the family's models write no calls.
pub(crate) fn of(
    writer: Writer<'_>,
    tools: &[ToolSpec],
    choice: &ToolChoice,
    parallel: ParallelCalls,
) -> Result<Option<Grammar>> {
    let mut rules = Rules::new(writer.specials);
    if *choice == ToolChoice::None {
        text(writer.family, &mut rules);
        let answer = announced(writer.family, "TEXT?", &rules);
        rules.add("start", &answer);
        return Ok(Some(rules.grammar()));
    }
    let Some(style) = style(writer) else {
        return Ok(None);
    };
    let mut calls = Vec::new();
    for tool in tools {
        if matches!(choice, ToolChoice::Named(name) if *name != tool.name) {
            continue;
        }
        let call = call(writer, style, tool, &mut rules);
        calls.push(call.map_err(|error| error.context(format!("tool {:?}", tool.name)))?);
    }
    let call = rules.any(&calls);
    rules.add("call", &call);
    body(writer, style, parallel, &mut rules);
    match choice {
        ToolChoice::Auto => auto(writer.family, style, &mut rules),
        _ => calls_alone(writer.family, style, &mut rules),
    }
    Ok(Some(rules.grammar()))
}

/// Puts the head of an answer before a grammar, if the replies of the family consist of messages with heads.
pub(crate) fn answer(writer: Writer<'_>, grammar: Grammar) -> Grammar {
    if writer.family.data.answer.is_none() {
        return grammar;
    }
    let mut rules = Rules::new(writer.specials);
    let start = announced(writer.family, "@announced_answer", &rules);
    rules.add("start", &start);
    match rules.grammar() {
        Grammar::Composed { lark, .. } => {
            Grammar::Composed { lark, parts: BTreeMap::from([("announced_answer".to_owned(), grammar)]) }
        }
        other => other,
    }
}

/// Returns the rule of an answer after its head.
fn announced(family: &Configured, answer: &str, rules: &Rules<'_>) -> String {
    let Some(AnswerHeads { message, answers, .. }) = &family.data.answer else {
        return answer.to_owned();
    };
    let heads: Vec<_> = answers.iter().map(|head| rules.marker(head)).collect();
    format!("({})? ({}) {answer}", rules.marker(message), heads.join(" | "))
}

/// Chooses the way to write calls: the one that the model's template shows, or else the first whose markers the model has, or
/// else the first.
fn style(writer: Writer<'_>) -> Option<Style<'_>> {
    let styles = styles(writer.family);
    let shown = styles.iter().find(|style| is_shown(style.open, writer));
    let known = shown.or_else(|| styles.iter().find(|style| has_marker(style.open, writer)));
    known.or(styles.first()).copied()
}

/// Returns the ways to write calls that a grammar can have.
fn styles(family: &Configured) -> Vec<Style<'_>> {
    let mut styles = Vec::new();
    for section in &family.sections {
        // The end of a marker such as `functools[` belongs to the call. A grammar would write it twice.
        if section.kept == 0
            && let SectionContent::Calls(syntax) = &section.holds
        {
            styles.push(Style { open: &section.open, close: &section.close, syntax });
        }
    }
    for syntax in &family.unmarked {
        styles.push(Style { open: "", close: "", syntax });
    }
    styles.retain(|style| *style.syntax != CallSyntax::Llama);
    styles
}

/// Returns whether the model's template contains a marker, or one of the control tokens in the marker.
fn is_shown(marker: &str, writer: Writer<'_>) -> bool {
    if !marker.is_empty() && writer.template.contains(marker) {
        return true;
    }
    writer.specials.iter().any(|special| {
        !special.text.is_empty() && marker.contains(&special.text) && writer.template.contains(&special.text)
    })
}

/// Returns whether a model can write a marker: a marker such as `<|python_tag|>` has to be a control token.
fn has_marker(marker: &str, writer: Writer<'_>) -> bool {
    !marker.starts_with("<|") || writer.specials.iter().any(|special| marker.contains(&special.text))
}

/// Returns how calls are written, as far as the model's template shows it.
pub(crate) fn syntax(writer: Writer<'_>) -> Option<&CallSyntax> {
    style(writer).map(|style| style.syntax)
}

/// Writes one call of a tool and returns its rule.
fn call(writer: Writer<'_>, style: Style<'_>, tool: &ToolSpec, rules: &mut Rules<'_>) -> Result<String> {
    check_names(style.syntax, tool)?;
    match style.syntax {
        CallSyntax::Json(syntax) => Ok(json::call(syntax, tool, "", rules)),
        CallSyntax::Python(_) => python::call(tool, rules),
        CallSyntax::Gemma(syntax) => gemma::call(syntax, writer.template.contains("dictsort"), tool, rules),
        CallSyntax::Xml(syntax) => xml::call(syntax, style.close, tool, rules),
        CallSyntax::DeepSeek => Ok(json::deepseek(writer.template.contains("```json"), tool, rules)),
        CallSyntax::Mistral if has_names_before_arguments(writer) => Ok(json::mistral(tool, rules)),
        CallSyntax::Mistral => {
            let syntax = JsonCalls { list: true, ..JsonCalls::default() };
            let id = "(\", \\\"id\\\": \\\"\" /[a-zA-Z0-9]{9}/ \"\\\"\")?";
            Ok(json::call(&syntax, tool, id, rules))
        }
        CallSyntax::Harmony => Ok(json::harmony(tool, rules)),
        CallSyntax::Llama => Err(refusal::unsupported("a call")),
    }
}

/// Returns whether calls are `name[ARGS]{…}`. Mistral's models write them since the second half of 2024, and lists before;
/// Ministral's models have always written them.
fn has_names_before_arguments(writer: Writer<'_>) -> bool {
    match writer.template {
        "" => writer.family.data.name == "ministral" || Rules::new(writer.specials).has_token("[ARGS]"),
        template => template.contains("[ARGS]"),
    }
}

/// Checks that the names of a tool and its parameters are read as they are written.
fn check_names(syntax: &CallSyntax, tool: &ToolSpec) -> Result<()> {
    let names = tool.parameters.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let arguments: Map<_, _> = names.map(|name| (name.clone(), Value::from("x"))).collect();
    let call = [Call { name: tool.name.clone(), arguments }];
    if syntax.read(&syntax.write(&call), &[]).is_ok_and(|calls| calls == call) {
        return Ok(());
    }
    let [Call { arguments, .. }] = &call;
    let names: Vec<_> = arguments.keys().collect();
    let message = format!("its name and parameters {names:?} cannot be written in a call of this family");
    Err(Error::new(ErrorKind::Unsupported, message))
}

/// Adds the rule `body`: the calls after the marker that begins the first one.
fn body(writer: Writer<'_>, style: Style<'_>, parallel: ParallelCalls, rules: &mut Rules<'_>) {
    // A stop token ends the call together with the reply. It is not part of the grammar.
    let stops = writer
        .specials
        .iter()
        .any(|special| special.text == style.close && writer.stop_tokens.contains(&special.id));
    let open = rules.marker(style.open);
    let close = if stops { String::new() } else { rules.marker(style.close) };
    let margin = if style.open.is_empty() { "" } else { margin(style.syntax, writer) };
    let end = if close.is_empty() { "" } else { margin };
    let layout = layout(style, writer);
    let more = match &layout {
        _ if stops || parallel != ParallelCalls::Allowed => String::new(),
        Layout::List => "(\", \" call)*".to_owned(),
        Layout::Together(between) => format!("({between} call)*"),
        Layout::Apart(between) => format!("({between} {open} {margin} call {end} {close})*"),
        Layout::Alone => String::new(),
    };
    let body = match layout {
        Layout::List => format!("{margin} \"[\" call {more} \"]\" {end} {close}"),
        Layout::Together(_) => format!("{margin} call {more} {end} {close}"),
        Layout::Apart(_) => format!("{margin} call {end} {close} {more}"),
        Layout::Alone => format!("{margin} call {end} {close}"),
    };
    rules.add("body", &body);
}

/// Returns the arrangement of several calls in a reply.
fn layout(style: Style<'_>, writer: Writer<'_>) -> Layout {
    match style.syntax {
        CallSyntax::Json(syntax) if syntax.list => Layout::List,
        // Without markers, a second call would be text. In harmony, a message to a tool ends the reply.
        CallSyntax::Json(_) if style.open.is_empty() => Layout::Alone,
        CallSyntax::Harmony | CallSyntax::Llama => Layout::Alone,
        CallSyntax::Python(syntax) if syntax.list => Layout::List,
        CallSyntax::Python(_) => Layout::Together("\"\\n\""),
        CallSyntax::Xml(syntax) if syntax.together => Layout::Together("\"\\n\"?"),
        CallSyntax::Mistral if !has_names_before_arguments(writer) => Layout::List,
        CallSyntax::DeepSeek => Layout::Together("\"\\n\"?"),
        CallSyntax::Mistral | CallSyntax::Gemma(_) => Layout::Apart(""),
        CallSyntax::Json(_) | CallSyntax::Xml(_) => Layout::Apart("\"\\n\"?"),
    }
}

/// Returns the white space between markers and calls, in Lark's notation.
fn margin(syntax: &CallSyntax, writer: Writer<'_>) -> &'static str {
    match syntax {
        CallSyntax::Mistral if !has_names_before_arguments(writer) => "\" \"?",
        CallSyntax::Gemma(_) | CallSyntax::Mistral | CallSyntax::Harmony => "",
        CallSyntax::Xml(syntax) if syntax.function()[0].is_empty() => "",
        _ => "\"\\n\"?",
    }
}

/// Adds the rule `start` of a reply that consists of calls.
fn calls_alone(family: &Configured, style: Style<'_>, rules: &mut Rules<'_>) {
    let open = if family.data.answer.is_some() { String::new() } else { rules.marker(style.open) };
    let message = family.data.answer.as_ref().map(|answer| format!("({})?", rules.marker(&answer.message)));
    rules.add("start", &format!("{} {open} body", message.unwrap_or_default()));
}

/// Adds the rule `start` of a reply with text, calls or both.
///
/// A marker that is a control token cannot be in the text. Any other marker is excluded from it.
fn auto(family: &Configured, style: Style<'_>, rules: &mut Rules<'_>) {
    let words = text(family, rules);
    if let Some(AnswerHeads { message, aside, end, .. }) = &family.data.answer {
        let [message, aside, end] = [message, aside, end].map(|mark| rules.marker(mark));
        let answer = announced(family, "TEXT?", rules);
        rules.add("start", &format!("({message})? ({aside} TEXT? {end} {message})? body | {answer}"));
    } else if style.open.is_empty() {
        rules.add("start", "body | TEXT?");
    } else if !rules.has_token(style.open) {
        let others: Vec<_> = words.never.iter().copied().filter(|mark| *mark != style.open).collect();
        let called = rules.text(&Text { never: others, ..words }, style.open);
        rules.add("start", &format!("{called} body | TEXT?"));
    } else {
        rules.add("start", &format!("TEXT? ({} body)?", rules.marker(style.open)));
    }
}

/// Adds the rule `TEXT`: a text in which no call begins. Returns its conditions.
fn text<'a>(family: &'a Configured, rules: &mut Rules<'_>) -> Text<'a> {
    let mut never = Vec::new();
    for section in &family.sections {
        if matches!(section.holds, SectionContent::Calls(_)) && !rules.has_token(&section.open) {
            never.push(section.open.as_str());
        }
    }
    let mut text = "/(?s:.+)/".to_owned();
    for mark in &never {
        text += &format!(" & ~/(?s:.*){}(?s:.*)/", lark::escaped(mark));
    }
    // A text that begins like a call without markers would be read as one.
    let any = if family.unmarked.is_empty() { "(?s:.*)" } else { "[ \\n]*(?:[^ \\n\\[{](?s:.*))?" };
    rules.add("TEXT", &format!("{text} & /{any}/"));
    Text { conditions: vec![any.to_owned()], may_be_empty: true, never }
}
