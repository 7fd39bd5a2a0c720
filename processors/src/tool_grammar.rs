//! Grammars of replies in which tools are called, made from what a family's data says of its calls. Knows Lark's
//! notation; whether a tool's schema can be enforced is seen by whoever compiles the grammar.

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
use crate::configured::{Configured, StretchContent};
use crate::family::AnswerHeads;
use lark::{Rules, Text};
#[cfg(feature = "laws")]
pub(crate) use written::written;

/// What is known of a model whose calls are to be put into a grammar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer<'a> {
    pub(crate) family: &'a Configured,
    pub(crate) specials: &'a [SpecialToken],
    pub(crate) stop_tokens: &'a [TokenId],
    /// The model's own template; empty if it has none.
    pub(crate) template: &'a str,
}

/// How a family's models write calls, as far as it can be put into a grammar.
#[derive(Clone, Copy, Debug)]
struct Style<'a> {
    open: &'a str,
    close: &'a str,
    syntax: &'a CallSyntax,
}

/// How several calls stand together; the text stands between two of them.
enum Layout {
    /// In a list.
    List,
    /// Between one pair of marks.
    Together(&'static str),
    /// Each between marks of its own.
    Apart(&'static str),
    /// There is one.
    Alone,
}

/// Returns the grammar of a reply behind its thoughts, or `None` when the family's calls have none.
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
    let called = |tool: &&ToolSpec| !matches!(choice, ToolChoice::Named(name) if *name != tool.name);
    let mut calls = Vec::new();
    for tool in tools.iter().filter(called) {
        let named = |error: Error| error.context(format!("tool {:?}", tool.name));
        calls.push(call(writer, style, tool, &mut rules).map_err(named)?);
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

/// Puts what announces an answer before a grammar, where a family's models write that.
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

/// Writes an answer behind what announces it.
fn announced(family: &Configured, answer: &str, rules: &Rules<'_>) -> String {
    let Some(AnswerHeads { message, answers, .. }) = &family.data.answer else {
        return answer.to_owned();
    };
    let heads: Vec<_> = answers.iter().map(|head| rules.marker(head)).collect();
    format!("({})? ({}) {answer}", rules.marker(message), heads.join(" | "))
}

/// The way to write calls that the model's template shows, or the first whose marks the model has.
fn style(writer: Writer<'_>) -> Option<Style<'_>> {
    let known = |syntax: &CallSyntax| *syntax != CallSyntax::Llama;
    let marked = writer.family.stretches.iter().filter(|stretch| stretch.kept == 0);
    let marked = marked.filter_map(|stretch| match &stretch.holds {
        StretchContent::Calls(syntax) => Some(Style { open: &stretch.open, close: &stretch.close, syntax }),
        StretchContent::Thinking | StretchContent::Channel(_) => None,
    });
    let unmarked = writer.family.unmarked.iter().map(|syntax| Style { open: "", close: "", syntax });
    let styles: Vec<_> = marked.chain(unmarked).filter(|style| known(style.syntax)).collect();
    let holds = |open: &str, special: &SpecialToken| open.contains(&special.text);
    let shown = |style: &&Style<'_>| {
        let mut parts = writer.specials.iter().filter(|special| holds(style.open, special));
        let is_shown = |text: &str| !text.is_empty() && writer.template.contains(text);
        is_shown(style.open) || parts.any(|special| is_shown(&special.text))
    };
    let has = |style: &&Style<'_>| {
        !style.open.starts_with("<|") || writer.specials.iter().any(|special| holds(style.open, special))
    };
    let mut in_order = styles.iter();
    in_order.clone().find(shown).or_else(|| in_order.clone().find(has)).or(in_order.next()).copied()
}

/// Returns how calls are written, as far as the model's template tells.
pub(crate) fn syntax(writer: Writer<'_>) -> Option<&CallSyntax> {
    style(writer).map(|style| style.syntax)
}

/// Writes one call of a tool and returns its rule.
fn call(writer: Writer<'_>, style: Style<'_>, tool: &ToolSpec, rules: &mut Rules<'_>) -> Result<String> {
    can_be_written(style.syntax, tool)?;
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

/// Mistral's models write `name[ARGS]{…}` since the second half of 2024, and lists before. Ministral always did.
fn has_names_before_arguments(writer: Writer<'_>) -> bool {
    match writer.template {
        "" => writer.family.data.name == "ministral" || !Rules::new(writer.specials).is_spelled("[ARGS]"),
        template => template.contains("[ARGS]"),
    }
}

/// Names of tools and parameters must be what the reader takes for one.
fn can_be_written(syntax: &CallSyntax, tool: &ToolSpec) -> Result<()> {
    let names = tool.parameters.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let arguments: Map<_, _> = names.map(|name| (name.clone(), Value::from("x"))).collect();
    let call = || Call { name: tool.name.clone(), arguments: arguments.clone() };
    match syntax.read(&syntax.write(&[call()]), &[]) {
        Ok(calls) if calls == [call()] => Ok(()),
        _ => {
            let names: Vec<_> = arguments.keys().collect();
            let message =
                format!("its name and parameters {names:?} cannot be written in a call of this family");
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

/// Writes the rule `body`: what stands behind the mark that begins the first call.
fn body(writer: Writer<'_>, style: Style<'_>, parallel: ParallelCalls, rules: &mut Rules<'_>) {
    // A token that ends the reply ends a call without being said.
    let is_stop =
        |special: &SpecialToken| special.text == style.close && writer.stop_tokens.contains(&special.id);
    let stops = writer.specials.iter().any(is_stop);
    let (open, close) =
        (rules.marker(style.open), if stops { String::new() } else { rules.marker(style.close) });
    let margin = if style.open.is_empty() { "" } else { margin(style.syntax, writer) };
    let end = if close.is_empty() { "" } else { margin };
    let several = |between: &str, call: &str| match parallel {
        ParallelCalls::Allowed if !stops => format!("({between} {call})*"),
        _ => String::new(),
    };
    let body = match layout(style, writer) {
        Layout::List => format!("{margin} \"[\" call {} \"]\" {end} {close}", several("\", \"", "call")),
        Layout::Together(between) => format!("{margin} call {} {end} {close}", several(between, "call")),
        Layout::Alone => format!("{margin} call {end} {close}"),
        Layout::Apart(between) => {
            let marked = format!("{open} {margin} call {end} {close}");
            format!("{margin} call {end} {close} {}", several(between, &marked))
        }
    };
    rules.add("body", &body);
}

fn layout(style: Style<'_>, writer: Writer<'_>) -> Layout {
    match style.syntax {
        CallSyntax::Json(syntax) if syntax.list => Layout::List,
        // Without marks of its own, a second call would be text; and a message to a tool ends the reply.
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

/// White space between marks and calls.
fn margin(syntax: &CallSyntax, writer: Writer<'_>) -> &'static str {
    match syntax {
        CallSyntax::Mistral if !has_names_before_arguments(writer) => "\" \"?",
        CallSyntax::Gemma(_) | CallSyntax::Mistral | CallSyntax::Harmony => "",
        CallSyntax::Xml(syntax) if syntax.function()[0].is_empty() => "",
        _ => "\"\\n\"?",
    }
}

fn calls_alone(family: &Configured, style: Style<'_>, rules: &mut Rules<'_>) {
    let open = if family.data.answer.is_some() { String::new() } else { rules.marker(style.open) };
    let message = family.data.answer.as_ref().map(|answer| format!("({})?", rules.marker(&answer.message)));
    rules.add("start", &format!("{} {open} body", message.unwrap_or_default()));
}

/// Text up to the first call. A mark that is a token cannot be text; one that is spelled is looked for.
fn auto(family: &Configured, style: Style<'_>, rules: &mut Rules<'_>) {
    let words = text(family, rules);
    if let Some(AnswerHeads { message, aside, end, .. }) = &family.data.answer {
        let [message, aside, end] = [message, aside, end].map(|mark| rules.marker(mark));
        let answer = announced(family, "TEXT?", rules);
        rules.add("start", &format!("({message})? ({aside} TEXT? {end} {message})? body | {answer}"));
    } else if style.open.is_empty() {
        rules.add("start", "body | TEXT?");
    } else if rules.is_spelled(style.open) {
        let others: Vec<_> = words.never.iter().copied().filter(|mark| *mark != style.open).collect();
        let called = rules.text(&Text { never: others, ..words }, style.open);
        rules.add("start", &format!("{called} body | TEXT?"));
    } else {
        rules.add("start", &format!("TEXT? ({} body)?", rules.marker(style.open)));
    }
}

/// Writes the rule `TEXT`: a text in which no call begins.
fn text<'a>(family: &'a Configured, rules: &mut Rules<'_>) -> Text<'a> {
    let marks = family.stretches.iter().filter(|stretch| matches!(stretch.holds, StretchContent::Calls(_)));
    let never: Vec<_> =
        marks.map(|stretch| stretch.open.as_str()).filter(|mark| rules.is_spelled(mark)).collect();
    let mut text = "/(?s:.+)/".to_owned();
    for mark in &never {
        text += &format!(" & ~/(?s:.*){}(?s:.*)/", lark::escaped(mark));
    }
    let any = if family.unmarked.is_empty() { "(?s:.*)" } else { "[ \\n]*(?:[^ \\n\\[{](?s:.*))?" };
    rules.add("TEXT", &format!("{text} & /{any}/"));
    Text { conditions: vec![any.to_owned()], may_be_empty: true, never }
}
