//! Writes calls as a family's templates print them, with their markers. Laws compare grammars with them.

use super::{Layout, Style, Writer, has_names_before_arguments, layout, style};
use crate::calls::{Call, CallSyntax, JSON_LIST, deepseek, spaced};

/// Returns what the family's templates print for calls; `None` if it has none. If a reply has one call at most, only the first
/// is printed.
pub(crate) fn written(writer: Writer<'_>, calls: &[Call]) -> Option<String> {
    let style = style(writer)?;
    let Style { open, close, syntax } = style;
    let first = calls.get(..1)?;
    Some(match (syntax, layout(style, writer)) {
        (CallSyntax::Harmony, _) => format!(" to={}{close}", syntax.write(first)),
        (CallSyntax::DeepSeek, _) if writer.template.contains("```json") => {
            format!("{open}{}{close}", calls.iter().map(fenced).collect::<Vec<_>>().join("\n"))
        }
        (CallSyntax::Mistral, _) if !has_names_before_arguments(writer) => {
            format!("{open} {}", JSON_LIST.write(calls))
        }
        (_, Layout::List | Layout::Together(_)) => marked(style, calls),
        (_, Layout::Alone) => marked(style, first),
        (_, Layout::Apart(_)) => calls.chunks(1).map(|call| marked(style, call)).collect(),
    })
}

fn marked(Style { open, close, syntax }: Style<'_>, calls: &[Call]) -> String {
    format!("{open}{}{close}", syntax.write(calls))
}

/// Writes a call as DeepSeek's models before V3.1 do.
fn fenced(call: &Call) -> String {
    let [begin, middle, end, fence] = [deepseek::BEGIN, deepseek::MIDDLE, deepseek::END, deepseek::FENCE];
    let arguments = spaced(&call.arguments.clone().into());
    format!("{begin}function{middle}{}\n{fence}{arguments}\n```{end}", call.name)
}
