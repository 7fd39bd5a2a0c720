//! Changes the input of templates that expect another form than Hugging Face's. Each function changes one thing, and drops
//! nothing.

use alloquy_core::template::TemplateInput;
use serde_json::{Map, Value, json};

use crate::calls::{Call, CallSyntax, GemmaCalls, literal, object, spaced};

/// Writes the arguments of old calls as the text of a JSON object.
pub(crate) fn arguments_as_text(input: &mut TemplateInput) {
    each_function(input, |function| {
        if let Some(arguments) = function.get_mut("arguments").filter(|arguments| !arguments.is_string()) {
            *arguments = spaced(arguments).into();
        }
    });
}

/// Writes old calls into the text of their message, as the model writes them.
pub(crate) fn calls_in_content(input: &mut TemplateInput, [open, close]: [&str; 2], syntax: &CallSyntax) {
    for message in messages_of(input, "assistant") {
        let Some(Value::Array(calls)) = message.shift_remove("tool_calls") else {
            continue;
        };
        let calls: Vec<Call> = calls.iter().filter_map(read).collect();
        // A list of calls has one pair of markers; otherwise each call has its own.
        let is_list =
            matches!(syntax, CallSyntax::Json(json) if json.list) || matches!(syntax, CallSyntax::Python(_));
        let mut written = Vec::new();
        if is_list {
            written.push(format!("{open}{}{close}", syntax.write(&calls)));
        } else {
            for call in calls.chunks(1) {
                written.push(format!("{open}{}{close}", syntax.write(call)));
            }
        }
        append_text(message, &written.join("\n"));
    }
}

/// Writes old thinking before the text of its message, as the model writes it.
pub(crate) fn thinking_in_content(input: &mut TemplateInput, [open, close]: [&str; 2]) {
    for message in messages_of(input, "assistant") {
        let Some(Value::String(thinking)) = message.shift_remove("reasoning_content") else {
            continue;
        };
        let thinking = format!("{open}{thinking}{close}");
        match message.entry("content").or_insert_with(|| "".into()) {
            Value::String(said) => *said = thinking + said,
            Value::Array(parts) => parts.insert(0, json!({"type": "text", "text": thinking})),
            other => *other = thinking.into(),
        }
    }
}

fn read(call: &Value) -> Option<Call> {
    let function = call.get("function").unwrap_or(call);
    let arguments = match function.get("arguments") {
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(Value::String(text)) => object(text)?,
        _ => Map::new(),
    };
    Some(Call { name: function.get("name")?.as_str()?.to_owned(), arguments })
}

fn append_text(message: &mut Map<String, Value>, text: &str) {
    let content = message.entry("content").or_insert_with(|| "".into());
    match content {
        Value::String(said) if said.is_empty() => *said = text.to_owned(),
        Value::String(said) => *said = format!("{said}\n{text}"),
        Value::Array(parts) => parts.push(json!({"type": "text", "text": text})),
        other => *other = text.into(),
    }
}

/// Gives every call a message of its own, followed by its result.
pub(crate) fn one_call_a_message(input: &mut TemplateInput) {
    let mut rest = std::mem::take(&mut input.messages).into_iter().peekable();
    while let Some(message) = rest.next() {
        let calls = message.get("tool_calls").and_then(Value::as_array).cloned().unwrap_or_default();
        if calls.len() < 2 {
            input.messages.push(message);
            continue;
        }
        let mut results = Vec::new();
        while let Some(result) = rest.next_if(|next| has_role(next, "tool")) {
            results.push(result);
        }
        input.messages.extend(alone(&message, calls, results));
    }
}

/// Splits a message into one for each call, followed by the call's results. Results of no call are at the end.
fn alone(first: &Value, calls: Vec<Value>, mut results: Vec<Value>) -> Vec<Value> {
    let mut messages = Vec::new();
    for (index, call) in calls.into_iter().enumerate() {
        let id = call.get("id").cloned();
        let mut message =
            if index == 0 { first.clone() } else { json!({"role": "assistant", "content": ""}) };
        if let Some(fields) = message.as_object_mut() {
            fields.insert("tool_calls".to_owned(), vec![call].into());
        }
        messages.push(message);
        let (own, others): (Vec<Value>, Vec<Value>) =
            results.into_iter().partition(|result| id.is_some() && result.get("tool_call_id") == id.as_ref());
        results = others;
        messages.extend(own);
    }
    messages.extend(results);
    messages
}

/// Gives a field of the model's messages another name.
pub(crate) fn rename_field(input: &mut TemplateInput, from: &str, to: &str) {
    for message in messages_of(input, "assistant") {
        if let Some(value) = message.shift_remove(from) {
            message.entry(to).or_insert(value);
        }
    }
}

/// Moves text before calls into a message of its own, if the message has thinking too.
pub(crate) fn text_before_calls_alone(input: &mut TemplateInput) {
    for mut message in std::mem::take(&mut input.messages) {
        if has(&message, "content") && has(&message, "thinking") && has(&message, "tool_calls") {
            let content = message.get_mut("content").map(Value::take).unwrap_or_default();
            input.messages.push(json!({"role": "assistant", "content": content}));
            if let Some(fields) = message.as_object_mut() {
                fields.insert("content".to_owned(), "".into());
            }
        }
        input.messages.push(message);
    }
}

fn has(message: &Value, field: &str) -> bool {
    message.get(field).is_some_and(|value| value != "" && !value.is_null())
}

/// Gives results another role.
pub(crate) fn results_as(input: &mut TemplateInput, role: &str) {
    for message in messages_of(input, "tool") {
        message.insert("role".to_owned(), role.into());
    }
}

/// Puts the tools as JSON into the field `tools` of the system message.
pub(crate) fn tools_in_system(input: &mut TemplateInput) {
    let Some(tools) = input.tools.take() else {
        return;
    };
    if input.messages.first().and_then(|first| first.get("role")).is_none_or(|role| role != "system") {
        input.messages.insert(0, json!({"role": "system", "content": ""}));
    }
    let bare: Vec<Value> =
        tools.into_iter().map(|tool| tool.get("function").cloned().unwrap_or(tool)).collect();
    if let Some(system) = input.messages.first_mut().and_then(Value::as_object_mut) {
        system.entry("tools").or_insert_with(|| spaced(&bare.into()).into());
    }
}

/// Passes the tools as a variable of another name, and only there.
pub(crate) fn tools_as_variable(input: &mut TemplateInput, name: &str) {
    if let Some(tools) = input.tools.take() {
        input.extra.entry(name).or_insert_with(|| tools.into());
    }
}

/// Moves results into the message of their calls. Results that are JSON objects become objects.
pub(crate) fn results_with_calls(input: &mut TemplateInput) {
    let mut messages: Vec<Value> = Vec::new();
    for message in std::mem::take(&mut input.messages) {
        let called = messages.last_mut().filter(|last| last.get("tool_calls").is_some());
        match called.and_then(Value::as_object_mut).filter(|_| is_result(&message)) {
            Some(called) => add_response(called, &message),
            None => messages.push(message),
        }
    }
    input.messages = messages;
}

fn is_result(message: &Value) -> bool {
    message.get("content").is_some_and(Value::is_string) && has_role(message, "tool")
}

fn add_response(called: &mut Map<String, Value>, result: &Value) {
    let text = result.get("content").and_then(Value::as_str).unwrap_or_default();
    let response = object(text).map_or_else(|| text.into(), Value::Object);
    let name = result.get("name").cloned().unwrap_or_default();
    let responses = called.entry("tool_responses").or_insert_with(|| json!([]));
    if let Some(responses) = responses.as_array_mut() {
        responses.push(json!({"name": name, "response": response}));
    }
}

/// Writes results as objects of a name and a response.
pub(crate) fn results_with_names(input: &mut TemplateInput) {
    each_result(input, |name, content| json!({"name": name, "response": response(content)}));
}

fn response(content: String) -> Map<String, Value> {
    object(&content).unwrap_or_else(|| Map::from_iter([("value".to_owned(), content.into())]))
}

/// Writes tools, arguments and results as text in Gemma's notation.
pub(crate) fn gemma_notation(input: &mut TemplateInput, notation: &GemmaCalls) {
    for tool in input.tools.iter_mut().flatten() {
        *tool = declaration(tool, notation).into();
    }
    each_argument(input, |value| notation.literal(value));
    each_result(input, |name, content| {
        format!("{name}{}", notation.literal(&response(content).into())).into()
    });
}

fn declaration(tool: &Value, notation: &GemmaCalls) -> String {
    let function = tool.get("function").unwrap_or(tool);
    let fields = function.as_object().into_iter().flatten().filter(|(key, _)| *key != "name");
    let fields: Map<_, _> = fields.map(|(key, value)| (key.clone(), with_capitals(value))).collect();
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
    format!("declaration:{name}{}", notation.literal(&fields.into()))
}

/// Writes the types of a schema in capitals, as Gemma was trained on them.
fn with_capitals(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let mut written = Map::new();
            for (key, value) in fields {
                let value = match value {
                    Value::String(kind) if key == "type" => kind.to_uppercase().into(),
                    value => with_capitals(value),
                };
                written.insert(key.clone(), value);
            }
            written.into()
        }
        other => other.clone(),
    }
}

/// Writes tools as the heads of Python functions, arguments as literals, and the results of one message as a list of texts.
pub(crate) fn python(input: &mut TemplateInput) {
    for tool in input.tools.iter_mut().flatten() {
        *tool = head(tool).into();
    }
    each_argument(input, literal);
    each_result(input, |_, content| {
        let text = object(&content).map_or(content, |fields| literal(&fields.into()));
        json!([{"type": "text", "text": text}])
    });
    join_results(input);
}

/// Writes results as lists of a name and a response. Those of one message are in one list.
pub(crate) fn results_as_items(input: &mut TemplateInput) {
    each_result(input, |name, content| {
        let response = object(&content).map_or_else(|| content.into(), Value::Object);
        json!([{"name": name, "response": response}])
    });
    join_results(input);
}

/// Joins adjacent lists of results.
fn join_results(input: &mut TemplateInput) {
    input.messages.dedup_by(|next, before| {
        if !has_role(next, "tool") || !has_role(before, "tool") {
            return false;
        }
        let items = before.get_mut("content").and_then(Value::as_array_mut);
        let Some((items, more)) = items.zip(next.get("content").and_then(Value::as_array)) else {
            return false;
        };
        items.extend(more.iter().cloned());
        true
    });
}

fn has_role(message: &Value, role: &str) -> bool {
    message.get("role").is_some_and(|known| known == role)
}

/// Writes a tool as the head of a Python function.
///
/// ```text
/// def add(
///     a: int,
///     b: int | None = None,
/// ) -> dict:
///   """Adds two numbers.
///
///   Args:
///     a: The first.
///     b: The second.
///   """
/// ```
fn head(tool: &Value) -> String {
    let function = tool.get("function").unwrap_or(tool);
    let properties = function.pointer("/parameters/properties").and_then(Value::as_object);
    let required = function.pointer("/parameters/required").and_then(Value::as_array);
    let mut parameters = String::new();
    let mut descriptions = String::new();
    for (name, schema) in properties.into_iter().flatten() {
        let kind = python_type(schema);
        if required.is_some_and(|names| names.iter().any(|one| one == name)) {
            parameters += &format!("    {name}: {kind},\n");
        } else {
            parameters += &format!("    {name}: {kind} | None = None,\n");
        }
        descriptions += &format!("    {name}: {}\n", text(schema, "description"));
    }
    let name = text(function, "name");
    let description = text(function, "description");
    // Both texts are empty for a tool without parameters.
    let line = if parameters.is_empty() { "" } else { "\n" };
    let end = if descriptions.is_empty() { String::new() } else { format!("\n\n  Args:\n{descriptions}  ") };
    format!("def {name}({line}{parameters}) -> dict:\n  \"\"\"{description}{end}\"\"\"\n")
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn python_type(schema: &Value) -> String {
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => "str".to_owned(),
        Some("integer") => "int".to_owned(),
        Some("number") => "float".to_owned(),
        Some("boolean") => "bool".to_owned(),
        Some("array") => {
            format!("list[{}]", schema.get("items").map_or_else(|| "Any".to_owned(), python_type))
        }
        Some("object") => "dict".to_owned(),
        _ => "Any".to_owned(),
    }
}

/// Writes what Mistral's templates expect: ids of nine letters or digits, and thinking as parts if the template reads these.
pub(crate) fn mistral(template: &str, input: &mut TemplateInput) {
    for message in input.messages.iter_mut().filter_map(Value::as_object_mut) {
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten() {
            if let Some(id) = call.get_mut("id") {
                *id = nine_characters(id);
            }
        }
        if let Some(id) = message.get_mut("tool_call_id") {
            *id = nine_characters(id);
        }
    }
    if template.contains("block['thinking']") {
        for message in messages_of(input, "assistant") {
            thinking_as_part(message);
        }
    }
}

/// Returns the id if it has nine letters or digits, and otherwise a hash of it in base 36 (FNV-1a).
fn nine_characters(id: &Value) -> Value {
    let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    if text.len() == 9 && text.bytes().all(|symbol| symbol.is_ascii_alphanumeric()) {
        return text.into();
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let mut id = String::new();
    for _ in 0..9 {
        id.extend(char::from_digit((hash % 36) as u32, 36));
        hash /= 36;
    }
    id.into()
}

fn thinking_as_part(message: &mut Map<String, Value>) {
    let Some(thinking) = message.shift_remove("reasoning_content") else {
        return;
    };
    let mut parts = vec![json!({"type": "thinking", "thinking": thinking})];
    match message.get_mut("content").map(Value::take) {
        Some(Value::String(text)) if !text.is_empty() => parts.push(json!({"type": "text", "text": text})),
        Some(Value::Array(others)) => parts.extend(others),
        _ => {}
    }
    message.insert("content".to_owned(), parts.into());
}

fn messages_of<'a>(
    input: &'a mut TemplateInput,
    role: &'static str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let messages = input.messages.iter_mut().filter_map(Value::as_object_mut);
    messages.filter(move |message| message.get("role").is_some_and(|said| said == role))
}

fn each_function(input: &mut TemplateInput, change: impl Fn(&mut Map<String, Value>)) {
    for message in messages_of(input, "assistant") {
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten() {
            if let Some(function) = call.get_mut("function").and_then(Value::as_object_mut) {
                change(function);
            }
        }
    }
}

/// Writes every argument of old calls as text.
fn each_argument(input: &mut TemplateInput, write: impl Fn(&Value) -> String) {
    each_function(input, |function| {
        let arguments = function.get_mut("arguments").and_then(Value::as_object_mut);
        for (_, value) in arguments.into_iter().flatten() {
            *value = write(value).into();
        }
    });
}

/// Replaces the content of every result by what `change` makes of the tool's name and the text.
fn each_result(input: &mut TemplateInput, change: impl Fn(&str, String) -> Value) {
    for message in messages_of(input, "tool") {
        let name = message.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(content) = message.get_mut("content").filter(|content| content.is_string()) {
            let text = content.as_str().unwrap_or_default().to_owned();
            *content = change(&name, text);
        }
    }
}
