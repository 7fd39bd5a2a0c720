//! Writes the grammar of calls as tags. The schema of the tool, or the tag, decides how the text of a parameter is read.

use alloquy_core::{Result, ToolSpec};
use serde_json::Value;

use super::lark::Rules;
use super::refusal;
use super::values::{self, Notation, Strings, Values, alternatives, object, properties};
use crate::calls::{CDATA, ValueKind, XmlCalls, read_value};

/// Writes the parameters of a call.
struct Tags<'s> {
    syntax: &'s XmlCalls,
    /// The texts that a value must not contain, besides the end of a parameter.
    never: Vec<&'s str>,
    /// The text before and after a value.
    line: &'static str,
}

/// Returns the rule of a call, from its name to its closing tag. `close` is the marker after all calls.
pub(crate) fn call(syntax: &XmlCalls, close: &str, tool: &ToolSpec, rules: &mut Rules<'_>) -> Result<String> {
    let [before, after_name, end] = syntax.function();
    let never = [end, close, CDATA[0]].into_iter().filter(|mark| !mark.is_empty()).collect();
    let (gap, line) = if syntax.lines { ("\"\\n\"", "\n") } else { ("\"\\n\"?", "") };
    let tags = Tags { syntax, never, line };
    let schema = object(&tool.parameters);
    values::only(&schema, &["type", "properties", "required", "additionalProperties"])?;
    if schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) {
        return Err(refusal::unsupported("additionalProperties"));
    }
    let mut parameters = Vec::new();
    for (name, property, required) in properties(&schema) {
        let parameter = tags.parameter(name, property, &schema, rules)?;
        parameters.push(format!("({parameter} {gap}){}", if required { "" } else { "?" }));
    }
    let head = rules.marker(&format!("{before}{}{after_name}", tool.name));
    let end = rules.marker(end);
    Ok(rules.add_new(&format!("{head} {gap} {} {end}", parameters.join(" "))))
}

impl Tags<'_> {
    /// Returns the rule of one parameter with its tags.
    fn parameter(&self, name: &str, schema: &Value, root: &Value, rules: &mut Rules<'_>) -> Result<String> {
        let all = alternatives(root, schema)?;
        let (texts, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_text);
        let mut written = Vec::new();
        for (after_name, kind) in self.syntax.kinds.iter() {
            let head = rules.marker(&format!("{}{name}{after_name}{}", self.syntax.parameter, self.line));
            // A value that may be a string is read as a string, unless the tag decides.
            let by_schema = *kind == ValueKind::Schema && self.only_kind();
            if *kind == ValueKind::Text || by_schema {
                for text in &texts {
                    written.push(format!("{head} {}", self.text(text, schema, root, rules)?));
                }
            }
            if *kind == ValueKind::Json || by_schema && texts.is_empty() {
                for other in &others {
                    written.push(format!("{head} {}", self.value(other, root, rules)?));
                }
            }
        }
        Ok(rules.any(&written))
    }

    /// Returns whether all values have the same tags, so that they do not distinguish strings from
    /// other values.
    fn only_kind(&self) -> bool {
        self.syntax.kinds.len() == 1
    }

    fn end(&self) -> String {
        format!("{}{}", self.line, self.syntax.end)
    }

    /// Returns the rule of a text without escapes, and the end of the parameter.
    fn text(&self, text: &Value, schema: &Value, root: &Value, rules: &mut Rules<'_>) -> Result<String> {
        let Some(value) = text.get("const") else {
            return values::raw(text, &self.end(), self.never.clone(), rules);
        };
        let text = value.as_str().unwrap_or_default();
        values::without(text, &self.marks())?;
        if self.only_kind() && read_value(text, ValueKind::Schema, root, Some(schema)) != *value {
            return Err(refusal::unsupported(&format!("the text {text:?}, which is read as another value,")));
        }
        Ok(rules.known_text(text, &self.end()))
    }

    /// Returns the rule of any other value as JSON, and the end of the parameter.
    fn value(&self, schema: &Value, root: &Value, rules: &mut Rules<'_>) -> Result<String> {
        let strings = Strings::JsonWithout(self.marks());
        let notation = Notation { words: ["true", "false", "null"], comma: ", ", colon: ": ", strings };
        let value = Values::new(&notation, root, rules).value(schema)?;
        Ok(format!("{value} {}", rules.marker(&self.end())))
    }

    /// Returns the texts that a value must not contain.
    fn marks(&self) -> Vec<&str> {
        self.never.iter().copied().chain([&*self.syntax.end]).collect()
    }
}

/// Returns whether a schema is one of strings. A schema without a type is.
fn is_text(schema: &Value) -> bool {
    match (schema.get("const"), schema.get("type")) {
        (Some(value), _) => value.is_string(),
        (None, Some(name)) => name == "string",
        (None, None) => true,
    }
}
