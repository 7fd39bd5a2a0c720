//! Turns what a schema says of a string into regular expressions.

use alloquy_core::Result;
use serde_json::Value;

use super::refusal::unsupported;

/// The date of RFC 3339. Its parts: all days but 29 February, and that day in the years that have it (appendix C).
const DATE: &str = "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)\
    |02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)";
/// The time of RFC 3339, section 5.6, without leap seconds, because not every day has one.
const TIME: &str = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:[zZ]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
const NAME: &str = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
const OCTET: &str = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";

/// Returns the regular expressions that must match a whole string, and whether the string may be empty.
pub(crate) fn conditions(schema: &Value) -> Result<(Vec<String>, bool)> {
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    let most = schema.get("maxLength").and_then(Value::as_u64);
    let pattern = schema.get("pattern").and_then(Value::as_str);
    let format = schema.get("format").and_then(Value::as_str);
    let mut conditions = Vec::new();
    if least == 0 && most.is_none() {
        conditions.push("(?s:.*)".to_owned());
    } else {
        conditions.push(format!("(?s:.{})", times(least, most)));
    }
    if let Some(pattern) = pattern {
        conditions.push(whole(pattern)?);
    }
    if let Some(format) = format {
        conditions.push(of_format(format)?);
    }
    let may_be_empty = least == 0 && pattern.is_none() && format.is_none();
    Ok((conditions, may_be_empty))
}

/// Writes how often something is repeated: `{1,3}`, or `{1,}` without a limit.
pub(crate) fn times(least: u64, most: Option<u64>) -> String {
    let most = most.map(|most| most.to_string()).unwrap_or_default();
    format!("{{{least},{most}}}")
}

fn of_format(name: &str) -> Result<String> {
    Ok(match name {
        "date" => DATE.to_owned(),
        "time" => TIME.to_owned(),
        "date-time" => format!("{DATE}[tT]{TIME}"),
        "uuid" => "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}".to_owned(),
        "ipv4" => format!("{OCTET}(?:\\.{OCTET}){{3}}"),
        "hostname" => format!("{NAME}(?:\\.{NAME}){{0,3}}"),
        "email" => format!("[a-zA-Z0-9_+-]{{1,31}}(?:\\.[a-zA-Z0-9_+-]{{1,31}})?@{NAME}(?:\\.{NAME}){{0,3}}"),
        other => return Err(unsupported(&format!("the format {other:?}"))),
    })
}

/// Returns an expression that matches the whole string. A pattern of JSON Schema may match any part of it: `b` becomes
/// `(?s:.*)(?:b)(?s:.*)`, and `^b$` becomes `(?:b)`.
fn whole(pattern: &str) -> Result<String> {
    let mut inside = String::new();
    let mut start = false;
    let mut end = false;
    let mut depth = 0_usize;
    let mut class = false;
    let mut choice = false;
    let last = pattern.chars().count().saturating_sub(1);
    let mut symbols = pattern.chars().enumerate();
    while let Some((at, symbol)) = symbols.next() {
        match symbol {
            '\\' => {
                let escaped = symbols.next().map(|(_, escaped)| escaped);
                inside.push_str(&ascii(escaped.unwrap_or('\\'), class));
                continue;
            }
            '^' if at == 0 => start = true,
            '$' if at == last && !class => end = true,
            '^' | '$' if !class => return Err(unsupported(&format!("the anchor in {pattern:?}"))),
            '[' => class = true,
            ']' => class = false,
            '(' if !class => depth += 1,
            ')' if !class => depth = depth.saturating_sub(1),
            '|' if !class && depth == 0 => choice = true,
            _ => {}
        }
        match symbol {
            '/' => inside.push_str("\\/"),
            '\n' => inside.push_str("\\n"),
            '^' if at == 0 => {}
            '$' if at == last && !class => {}
            other => inside.push(other),
        }
    }
    if choice && start != end {
        // In `^a|b` the anchor belongs to the first choice only.
        return Err(unsupported(&format!("the anchor in {pattern:?}")));
    }
    let before = if start { "" } else { "(?s:.*)" };
    let after = if end { "" } else { "(?s:.*)" };
    Ok(format!("{before}(?:{inside}){after}"))
}

/// Writes an escape of a pattern. Digits and word characters are those of ASCII: JSON Schema has the patterns of JavaScript.
fn ascii(escaped: char, class: bool) -> String {
    let (open, close) = if class { ("", "") } else { ("[", "]") };
    match escaped {
        'd' => format!("{open}0-9{close}"),
        'w' => format!("{open}0-9A-Za-z_{close}"),
        other => format!("\\{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn a_pattern_may_match_any_part_of_a_string() {
        assert_eq!(whole("a/\\d[\\w$]").unwrap(), "(?s:.*)(?:a\\/[0-9][0-9A-Za-z_$])(?s:.*)");
        assert_eq!(whole("^a$").unwrap(), "(?:a)");
        assert_eq!(whole("(^a|b)$").map_err(|error| error.to_string().contains("anchor")), Err(true));
        assert!(whole("^a|b").is_err());
    }
}
