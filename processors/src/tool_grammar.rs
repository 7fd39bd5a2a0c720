//! Grammars of replies in which tools are called, made from what a family's data says of its calls. Knows Lark's
//! notation; whether a tool's schema can be enforced is seen by whoever compiles the grammar.

mod json;
mod lark;
mod python;

use alloquy_core::{Grammar, ParallelCalls, Result, SpecialToken, ToolChoice, ToolSpec};

use crate::calls::Syntax;
use crate::family::{Family, Holds};
use lark::Rules;

/// How a family's models write calls, as far as it can be put into a grammar.
struct Style {
    open: &'static str,
    close: &'static str,
    syntax: &'static Syntax,
}

/// Returns the grammar of a reply behind its thoughts, or `None` when the family's calls have none.
pub(crate) fn of(
    family: &'static Family,
    specials: &[SpecialToken],
    tools: &[ToolSpec],
    choice: &ToolChoice,
    parallel: ParallelCalls,
) -> Result<Option<Grammar>> {
    let mut rules = Rules::new(specials);
    if *choice == ToolChoice::None {
        rules.add("start", "TEXT?");
        rules.add("TEXT", &text(family, &rules));
        return Ok(Some(rules.grammar()));
    }
    let Some(style) = style(family, specials) else {
        return Ok(None);
    };
    let called = |tool: &&ToolSpec| !matches!(choice, ToolChoice::Named(name) if *name != tool.name);
    let tools: Vec<_> = tools.iter().filter(called).collect();
    body(&style, &tools, parallel, &mut rules)?;
    match choice {
        ToolChoice::Auto => auto(family, &style, &mut rules),
        _ => rules.add("start", "calls"),
    }
    Ok(Some(rules.grammar()))
}

/// The first way to write calls that is known as a grammar, and whose marks the model has.
fn style(family: &'static Family, specials: &[SpecialToken]) -> Option<Style> {
    let has = |mark: &str| !mark.starts_with("<|") || specials.iter().any(|special| special.text == mark);
    let known = |syntax: &Syntax| matches!(syntax, Syntax::Json(_) | Syntax::Python(_));
    let marked = family.spans.iter().filter(|span| !span.close.is_empty() && has(span.open));
    let marked = marked.filter_map(|span| match span.holds {
        Holds::Calls(syntax) => Some(Style { open: span.open, close: span.close, syntax }),
        Holds::Thinking => None,
    });
    let unmarked = family.unmarked.iter().map(|syntax| Style { open: "", close: "", syntax });
    marked.chain(unmarked).find(|style| known(style.syntax))
}

/// Writes the rule `calls`: one call or several between their marks.
fn body(style: &Style, tools: &[&ToolSpec], parallel: ParallelCalls, rules: &mut Rules<'_>) -> Result<()> {
    let list = match style.syntax {
        Syntax::Json(syntax) => {
            json::calls(syntax, tools, rules);
            syntax.list
        }
        Syntax::Python(syntax) => {
            python::calls(tools, rules)?;
            syntax.list
        }
        _ => false,
    };
    let several = |separator: &str| match parallel {
        ParallelCalls::Allowed => format!(" ({separator} call)*"),
        ParallelCalls::Forbidden => String::new(),
    };
    let (open, close) = (rules.marker(style.open), rules.marker(style.close));
    let framed = |body: &str| format!("{open} \"\\n\"? {body} \"\\n\"? {close}");
    match (list, style.open) {
        (true, "") => rules.add("calls", &format!("\"[\" call{} \"]\"", several("\", \""))),
        (true, _) => rules.add("calls", &framed(&format!("\"[\" call{} \"]\"", several("\", \"")))),
        (false, "") => rules.add("calls", "call"),
        // Python's calls stand in one fence, a line each; JSON's between marks of their own.
        (false, _) if matches!(style.syntax, Syntax::Python(_)) => {
            rules.add("calls", &framed(&format!("call{}", several("\"\\n\""))));
        }
        (false, _) => {
            let repeated = match parallel {
                ParallelCalls::Allowed => " (\"\\n\"? marked)*",
                ParallelCalls::Forbidden => "",
            };
            rules.add("marked", &framed("call"));
            rules.add("calls", &format!("marked{repeated}"));
        }
    }
    Ok(())
}

/// Text up to the first call. A mark that is a token cannot be text; one that is spelled is looked for.
fn auto(family: &'static Family, style: &Style, rules: &mut Rules<'_>) {
    rules.add("TEXT", &text(family, rules));
    if style.open.is_empty() {
        rules.add("start", "calls | TEXT?");
    } else if rules.is_spelled(style.open) {
        let rest = rules.take("calls").replacen(&rules.marker(style.open), "head", 1);
        rules.add("called", &rest);
        rules.add("head[lazy]", &format!("/(?s:.*){}/", lark::escaped(style.open)));
        rules.add("start", "called | TEXT?");
    } else {
        rules.add("start", "TEXT? calls?");
    }
}

/// A text in which no call begins.
fn text(family: &'static Family, rules: &Rules<'_>) -> String {
    let marks = family.spans.iter().filter(|span| matches!(span.holds, Holds::Calls(_)));
    let mut text = "/(?s:.+)/".to_owned();
    for mark in marks.map(|span| span.open).filter(|mark| rules.is_spelled(mark)) {
        text += &format!(" & ~/(?s:.*){}(?s:.*)/", lark::escaped(mark));
    }
    if !family.unmarked.is_empty() {
        text += " & ~/[ \\n]*[\\[{](?s:.*)/";
    }
    text
}
