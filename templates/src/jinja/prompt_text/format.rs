//! Converts texts for Python's `str.format` to Jinja.

/// Converts a text for Python's `str.format` to Jinja. Conversions and formats of a variable are dropped.
///
/// ```
/// use alloquy_templates::format_to_jinja;
///
/// assert_eq!(format_to_jinja("Hi {name}, {count:>10}"), "Hi {{ name }}, {{ count }}");
/// assert_eq!(format_to_jinja("{{}}"), r#"{{ "{" }}{{ "}" }}"#);
/// ```
pub fn format_to_jinja(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    // No variable is open after the last closing brace, so there is no search for its end.
    let last_close = text.rfind('}').unwrap_or(0);
    while let Some(position) = rest.find(['{', '}']) {
        let (plain, code) = rest.split_at(position);
        written.push_str(plain);
        let start = text.len() - code.len();
        let length = if code.starts_with("{{") {
            written.push_str(r#"{{ "{" }}"#);
            2
        } else if code.starts_with("}}") {
            written.push_str(r#"{{ "}" }}"#);
            2
        } else if let Some((name, length)) = variable(code).filter(|_| start < last_close) {
            written.extend(["{{ ", name, " }}"]);
            length
        } else {
            written.push_str(code.get(..1).unwrap_or_default());
            1
        };
        rest = code.get(length..).unwrap_or_default();
    }
    written.push_str(rest);
    written
}

/// Reads `{name}`, `{name!r}` or `{name:format}` at the start of a text. Returns the name and the length of it all.
fn variable(code: &str) -> Option<(&str, usize)> {
    let inner = code.strip_prefix('{')?;
    let end = inner.find(|symbol: char| !symbol.is_ascii_alphanumeric() && symbol != '_')?;
    let (name, suffix) = inner.split_at_checked(end)?;
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let more = if suffix.starts_with(':') {
        suffix.find('}')?
    } else if ["!s", "!r", "!a"].iter().any(|conversion| suffix.starts_with(conversion)) {
        2
    } else {
        0
    };
    let is_closed = suffix.get(more..)?.starts_with('}');
    is_closed.then_some((name, 1 + end + more + 1))
}
