//! What a schema says of a string, as regular expressions. Knows no notation.

use alloquy_core::Result;
use serde_json::Value;

use super::refusal::unsupported;

/// A year that has a 29 February, that day, and all other days: RFC 3339, appendix C.
const DATE: &str = "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)\
    |02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)";
/// RFC 3339, section 5.6, without leap seconds, which not every day has.
const TIME: &str = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:[zZ]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
const NAME: &str = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
const OCTET: &str = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";

/// Returns what must match a string whole, and whether it may be empty.
pub(crate) fn conditions(schema: &Value) -> Result<(Vec<String>, bool)> {
    let count = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    let least = count("minLength").unwrap_or(0);
    let most = count("maxLength").map(|most| most.to_string()).unwrap_or_default();
    let mut conditions = vec![match (least, most.as_str()) {
        (0, "") => "(?s:.*)".to_owned(),
        _ => format!("(?s:.{{{least},{most}}})"),
    }];
    let text = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
    let (pattern, format) = (text("pattern"), text("format"));
    conditions.extend(pattern.map(whole).transpose()?);
    conditions.extend(format.map(of_format).transpose()?);
    let may_be_empty = least == 0 && pattern.is_none() && format.is_none();
    Ok((conditions, may_be_empty))
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

/// A pattern of JSON Schema is looked for anywhere; returns one that matches all around it too.
fn whole(pattern: &str) -> Result<String> {
    let (mut inside, mut start, mut end) = (String::new(), false, false);
    let (mut depth, mut class, mut choice) = (0_usize, false, false);
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
        return Err(unsupported(&format!("the anchor in {pattern:?}")));
    }
    let around = |anchored: bool| if anchored { "" } else { "(?s:.*)" };
    Ok(format!("{}(?:{inside}){}", around(start), around(end)))
}

/// Digits and word characters are those of ASCII, as in JavaScript, whose patterns JSON Schema has.
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
    fn a_pattern_is_looked_for_anywhere() {
        assert_eq!(whole("a/\\d[\\w$]").unwrap(), "(?s:.*)(?:a\\/[0-9][0-9A-Za-z_$])(?s:.*)");
        assert_eq!(whole("^a$").unwrap(), "(?:a)");
        assert_eq!(whole("(^a|b)$").map_err(|error| error.to_string().contains("anchor")), Err(true));
        assert!(whole("^a|b").is_err());
    }
}
