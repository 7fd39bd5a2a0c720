//! Reads YAML and prompts with front matter.

use serde_json::Value;

/// A text that is no YAML.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The line, from 1.
    pub(crate) line: Option<usize>,
    /// What is wrong.
    pub(crate) message: String,
}

/// Reads YAML or JSON; an empty text is null.
pub(crate) fn read(text: &str) -> Result<Value, Fault> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().and_then(|location| usize::try_from(location.line()).ok());
        // The rest shows the lines again.
        let shown = error.without_snippet().to_string();
        Fault { line, message: shown.lines().next().unwrap_or_default().to_owned() }
    })
}

/// The line between the front matter and the template.
const FENCE: &str = "---";

/// Reads a prompt with front matter: YAML between two lines `---`, and then the template. Without the first line everything is the
/// template.
pub(crate) fn read_front_matter(text: &str) -> Result<Value, Fault> {
    let mut lines = text.split_inclusive('\n');
    if lines.next().map(str::trim_end) != Some(FENCE) {
        return Ok(Value::String(text.to_owned()));
    }
    let start = text.find('\n').map_or(text.len(), |end| end + 1);
    let mut end = start;
    for line in lines {
        if line.trim_end() == FENCE {
            let header = text.get(start..end).unwrap_or_default();
            let template = text.get(end + line.len()..).unwrap_or_default();
            return with_template(header, template);
        }
        end += line.len();
    }
    Err(Fault {
        line: Some(1),
        message: "the front matter has no end; expected a line of --- after it".to_owned(),
    })
}

fn with_template(header: &str, template: &str) -> Result<Value, Fault> {
    let mut value = read(header).map_err(|fault| Fault { line: fault.line.map(|line| line + 1), ..fault })?;
    if value.is_null() {
        value = Value::Object(serde_json::Map::new());
    }
    let Value::Object(fields) = &mut value else {
        let message = "the front matter is no list of names and values".to_owned();
        return Err(Fault { line: Some(2), message });
    };
    if fields.contains_key("template") {
        let message = "the front matter has a template, and so has the file below it; remove one".to_owned();
        return Err(Fault { line: None, message });
    }
    fields.insert("template".to_owned(), Value::String(template.to_owned()));
    Ok(value)
}
