//! Functions over 60 lines need a reason, beside an `allow` of clippy's lint, which itself begins at 80.

use crate::{File, Finding, Tree};

/// The longest function without a reason. `too-many-lines-threshold` in clippy.toml is the bound that clippy denies.
const LIMIT: usize = 60;

/// Finds functions of more than [`LIMIT`] lines of code without a reason.
pub(super) fn long_functions(tree: &Tree) -> Vec<Finding> {
    let rust = tree.files.iter().filter(|file| file.is_a(&["rs"]));
    rust.flat_map(long_functions_of).collect()
}

fn long_functions_of(file: &File) -> Vec<Finding> {
    let lines: Vec<_> = file.text.lines().collect();
    let long = (0..lines.len()).filter_map(|start| {
        let (above, from) = lines.split_at_checked(start)?;
        let length = function_length(from)?;
        (length > LIMIT && !has_reason(above)).then(|| {
            let sentence = format!(
                "a function of {length} lines of code; split it, or say why on `#[allow(clippy::too_many_lines)] // …`"
            );
            Finding::new(&file.path, start + 1, sentence)
        })
    });
    long.collect()
}

/// Returns the number of lines of code in the body of the function that begins on the first of `lines`.
fn function_length(lines: &[&str]) -> Option<usize> {
    let first = lines.first()?;
    let indent = first.len() - first.trim_start().len();
    if !is_function(first.trim_start()) {
        return None;
    }
    let opening = lines
        .iter()
        .position(|line| line.ends_with('{') || line.ends_with(['}', ';']) && is_at_margin(line, indent))?;
    let body = lines.get(opening + 1..)?;
    if !lines.get(opening)?.ends_with('{') {
        return None;
    }
    let end = body.iter().position(|line| is_at_margin(line, indent) && line.trim() == "}")?;
    Some(body.get(..end)?.iter().filter(|line| is_code(line)).count())
}

/// Returns whether a line begins at this indent.
fn is_at_margin(line: &str, indent: usize) -> bool {
    let text = line.split_at_checked(indent).map(|(_, text)| text).unwrap_or_default();
    !text.is_empty() && !text.starts_with(' ')
}

fn is_function(line: &str) -> bool {
    let modifiers =
        ["pub", "pub(crate)", "pub(super)", "default", "const", "async", "unsafe", "extern", "\"C\""];
    let mut words = line.split(' ').skip_while(|word| modifiers.contains(word));
    words.next() == Some("fn")
}

fn is_code(line: &&str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

/// Returns whether the attributes and comments right above a function have a reason.
fn has_reason(above: &[&str]) -> bool {
    let head = above.iter().rev().map(|line| line.trim_start());
    head.take_while(|line| line.starts_with("#[") || line.starts_with("//"))
        .any(|line| line.contains("too_many_lines") && (line.contains("//") || line.contains("reason")))
}
