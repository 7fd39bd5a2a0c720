//! Where source code is best cut: by empty lines and brackets, in any language.

use super::lines::{Cut, Line};

/// Returns the ends of lines. The best cut is an empty line outside of all brackets; brackets in texts and comments are counted too, so
/// a line that begins at the left margin with a letter is outside, whatever was counted.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut end = 0;
    let mut depth: i64 = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(|first: char| first.is_alphabetic() || matches!(first, '#' | '@' | '/' | '_')) {
            depth = 0;
        }
        end += line.len();
        for byte in line.bytes() {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = (depth - 1).max(0),
                _ => {}
            }
        }
        let is_empty = line.trim().is_empty();
        let cut = if is_empty && depth == 0 {
            Cut::Paragraph
        } else if is_empty || depth == 0 {
            Cut::Line
        } else {
            Cut::InnerLine
        };
        lines.push(Line { end, cut });
    }
    for line in &mut lines {
        // An empty line of indented code, such as Python's, is inside a function if the next line is indented.
        let is_inside = text.get(line.end..).is_some_and(|rest| rest.starts_with([' ', '\t']));
        if is_inside && line.cut == Cut::Paragraph {
            line.cut = Cut::Line;
        }
    }
    lines
}
