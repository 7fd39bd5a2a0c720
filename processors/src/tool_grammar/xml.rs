//! Calls as tags. What a parameter's text is read as says the schema of the tool, or the tag itself.

use alloquy_core::{Result, ToolSpec};
use serde_json::Value;

use super::lark::Rules;
use super::refusal;
use super::values::{self, Notation, Strings, Values, alternatives, object, properties};
use crate::calls::{CDATA, ValueKind, XmlCalls, read_value};

/// Writes calls between two marks, of which the latter must not be spelled in a value.
struct Tags<'s> {
    syntax: &'s XmlCalls,
    /// What must not be spelled in a value besides the end of a parameter.
    never: Vec<&'s str>,
    /// What stands around a value.
    line: &'static str,
}

/// A call from its name to the end of its last parameter or its closing tag.
pub(crate) fn call(syntax: &XmlCalls, close: &str, tool: &ToolSpec, rules: &mut Rules<'_>) -> Result<String> {
    let [before, behind, end] = syntax.function();
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
    let head = rules.marker(&format!("{before}{}{behind}", tool.name));
    let end = rules.marker(end);
    Ok(rules.add_new(&format!("{head} {gap} {} {end}", parameters.join(" "))))
}

impl Tags<'_> {
    /// One parameter with its tags.
    fn parameter(&self, name: &str, schema: &Value, root: &Value, rules: &mut Rules<'_>) -> Result<String> {
        let all = alternatives(root, schema)?;
        let (texts, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_text);
        let mut written = Vec::new();
        for (behind, kind) in self.syntax.kinds.iter() {
            let head = rules.marker(&format!("{}{name}{behind}{}", self.syntax.parameter, self.line));
            let mut add = |value: String| written.push(format!("{head} {value}"));
            // What may be text is read as text, unless the tag says otherwise.
            if *kind == ValueKind::Text || *kind == ValueKind::Schema && self.only_kind() {
                texts.iter().try_for_each(|text| self.text(text, schema, root, rules).map(&mut add))?;
            }
            if *kind == ValueKind::Json || *kind == ValueKind::Schema && self.only_kind() && texts.is_empty()
            {
                others.iter().try_for_each(|other| self.value(other, root, rules).map(&mut add))?;
            }
        }
        Ok(rules.any(&written))
    }

    fn only_kind(&self) -> bool {
        self.syntax.kinds.len() == 1
    }

    fn end(&self) -> String {
        format!("{}{}", self.line, self.syntax.end)
    }

    /// A text as it is, and the end of the parameter.
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

    /// Any other value as JSON, and the end of the parameter.
    fn value(&self, schema: &Value, root: &Value, rules: &mut Rules<'_>) -> Result<String> {
        let strings = Strings::JsonWithout(self.marks());
        let notation = Notation { words: ["true", "false", "null"], comma: ", ", colon: ": ", strings };
        let value = Values::new(&notation, root, rules).value(schema)?;
        Ok(format!("{value} {}", rules.marker(&self.end())))
    }

    fn marks(&self) -> Vec<&str> {
        self.never.iter().copied().chain([&*self.syntax.end]).collect()
    }
}

/// Says whether a schema is one of texts; one that says nothing is.
fn is_text(schema: &Value) -> bool {
    match (schema.get("const"), schema.get("type")) {
        (Some(value), _) => value.is_string(),
        (None, Some(name)) => name == "string",
        (None, None) => true,
    }
}
