//! Calls as a family's templates print them, marks included, for laws that hold a grammar to them.

use super::{Layout, Style, Writer, has_names_before_arguments, layout, style};
use crate::calls::{Call, CallSyntax, JSON_LIST, deepseek, spaced};

/// Returns what the family's templates print for calls, or `None` where it has none. Of several calls only the first is
/// printed where a reply has one at most.
pub(crate) fn written(writer: Writer<'_>, calls: &[Call]) -> Option<String> {
    let style = style(writer)?;
    let Style { open, close, syntax } = style;
    let first = calls.get(..1)?;
    let marked = |calls: &[Call]| format!("{open}{}{close}", syntax.write(calls));
    Some(match (syntax, layout(style, writer)) {
        (CallSyntax::Harmony, _) => format!(" to={}{close}", syntax.write(first)),
        (CallSyntax::DeepSeek, _) if writer.template.contains("```json") => {
            format!("{open}{}{close}", calls.iter().map(fenced).collect::<Vec<_>>().join("\n"))
        }
        (CallSyntax::Mistral, _) if !has_names_before_arguments(writer) => {
            format!("{open} {}", JSON_LIST.write(calls))
        }
        (_, Layout::List | Layout::Together(_)) => marked(calls),
        (_, Layout::Alone) => marked(first),
        (_, Layout::Apart(_)) => calls.chunks(1).map(marked).collect(),
    })
}

/// A call as DeepSeek's models before V3.1 write it.
fn fenced(call: &Call) -> String {
    let [begin, middle, end, fence] = [deepseek::BEGIN, deepseek::MIDDLE, deepseek::END, deepseek::FENCE];
    let arguments = spaced(&call.arguments.clone().into());
    format!("{begin}function{middle}{}\n{fence}{arguments}\n```{end}", call.name)
}
