//! The options of a request to OpenAI's API that concern its reply. Knows no model.

use alloquy_core::Result;
use alloquy_core::arguments::{ProcessorArguments, ThinkingSwitch};
use alloquy_core::grammar::Grammar;
use alloquy_core::output::{OutputConstraints, ParallelCalls, ToolChoice};
use serde_json::{Map, Value, json};

use super::fields::{Fields, string};
use super::place::Place;

const FORMATS: [&str; 4] = ["text", "json_object", "json_schema", "regex"];
const EFFORTS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "xhigh"];
const CHOICES: [&str; 3] = ["auto", "none", "required"];

/// The options of a request in OpenAI's format that concern its reply: `response_format`, `tool_choice`,
/// `parallel_tool_calls` and `reasoning_effort`.
///
/// `response_format` has the types `text`, `json_object`, `json_schema` and, as servers add, `regex`. An effort of `none`
/// turns thinking off. Any other turns it on without a budget, and is the template's variable `reasoning_effort` as well.
///
/// ```
/// use alloquy_formats::messages::OpenAiOptions;
/// use alloquy_core::arguments::ThinkingSwitch;
/// use alloquy_core::grammar::Grammar;
/// use serde_json::json;
///
/// let request = json!({"response_format": {"type": "regex", "pattern": "[0-9]{3}"}, "reasoning_effort": "low"});
/// let options = OpenAiOptions::of(request.as_object().ok_or("an object")?)?;
/// assert_eq!(options.output.grammar, Some(Grammar::Regex("[0-9]{3}".to_owned())));
/// assert_eq!(options.arguments.thinking, Some(ThinkingSwitch::On));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct OpenAiOptions {
    /// The form of the reply.
    pub output: OutputConstraints,
    /// Whether the model thinks.
    pub arguments: ProcessorArguments,
}

impl OpenAiOptions {
    /// Reads the fields beside the messages, [`Transcript::extra`](super::Transcript::extra). Fields that do not concern
    /// the reply are ignored.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for another value of one of these fields; it names the field
    /// and the valid values.
    pub fn of(fields: &Map<String, Value>) -> Result<Self> {
        let mut options = Self::default();
        if let Some(format) = given(fields, "response_format") {
            options.output.grammar = grammar(format, &Place::root("response_format"))?;
        }
        if let Some(choice) = given(fields, "tool_choice") {
            options.output.tool_choice = Some(tool_choice(choice, &Place::root("tool_choice"))?);
        }
        if let Some(parallel) = given(fields, "parallel_tool_calls") {
            options.output.parallel_calls = parallel_calls(parallel, &Place::root("parallel_tool_calls"))?;
        }
        match given(fields, "reasoning_effort") {
            Some(effort) => options.with_effort(effort, &Place::root("reasoning_effort")),
            None => Ok(options),
        }
    }

    fn with_effort(mut self, effort: &Value, place: &Place<'_>) -> Result<Self> {
        let effort = one_of(string(effort, place)?, "effort", &EFFORTS, place)?;
        let thinks = effort != "none";
        self.arguments = self.arguments.extra("reasoning_effort", effort);
        self.arguments.thinking = Some(if thinks { ThinkingSwitch::On } else { ThinkingSwitch::Off });
        self.output.thinking_budget = (!thinks).then_some(0);
        Ok(self)
    }
}

/// Returns a field of the request; null is none.
fn given<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn one_of<'a>(name: &'a str, what: &str, known: &[&str], place: &Place<'_>) -> Result<&'a str> {
    if known.contains(&name) { Ok(name) } else { Err(place.unknown(what, name, known)) }
}

fn grammar(format: &Value, place: &Place<'_>) -> Result<Option<Grammar>> {
    let mut fields = Fields::of(format, place)?;
    let kind = place.field("type");
    Ok(match one_of(fields.need_str("type")?, "format", &FORMATS, &kind)? {
        "json_object" => Some(Grammar::JsonSchema(json!({"type": "object"}))),
        "json_schema" => Some(Grammar::JsonSchema(schema(fields.need("json_schema")?, place)?)),
        "regex" => {
            let pattern = fields.take_any(&["pattern", "regex"])?;
            let (name, pattern) = pattern.ok_or_else(|| place.invalid("lacks the field \"pattern\""))?;
            Some(Grammar::Regex(string(pattern, &place.field(name))?.to_owned()))
        }
        _ => None,
    })
}

/// Reads a JSON Schema, or the text of one, from the object that names it.
fn schema(named: &Value, place: &Place<'_>) -> Result<Value> {
    let place = place.field("json_schema");
    let schema = Fields::of(named, &place)?.need("schema")?;
    let place = place.field("schema");
    let text = match schema {
        Value::Object(_) | Value::Bool(_) => return Ok(schema.clone()),
        Value::String(text) => text,
        other => return Err(place.expected("a JSON Schema, or the text of one", other)),
    };
    serde_json::from_str(text).map_err(|source| place.invalid("the text is not JSON").with_source(source))
}

fn tool_choice(choice: &Value, place: &Place<'_>) -> Result<ToolChoice> {
    let Value::String(name) = choice else {
        let mut fields = Fields::of(choice, place)?;
        one_of(fields.need_str("type")?, "type", &["function"], &place.field("type"))?;
        let function = place.field("function");
        let name = Fields::of(fields.need("function")?, &function)?.need_str("name")?;
        return Ok(ToolChoice::Named(name.to_owned()));
    };
    Ok(match one_of(name, "choice", &CHOICES, place)? {
        "none" => ToolChoice::None,
        "required" => ToolChoice::Required,
        _ => ToolChoice::Auto,
    })
}

fn parallel_calls(parallel: &Value, place: &Place<'_>) -> Result<ParallelCalls> {
    match parallel.as_bool() {
        Some(true) => Ok(ParallelCalls::Allowed),
        Some(false) => Ok(ParallelCalls::Forbidden),
        None => Err(place.expected("a boolean", parallel)),
    }
}
