//! What some families' templates take otherwise than Hugging Face's shape has it. Knows a template's input, and no
//! family; each function changes one thing, and loses nothing.

use alloquy_core::template::TemplateInput;
use serde_json::{Map, Value, json};

use crate::calls::{Call, CallSyntax, GemmaCalls, literal, object, spaced};

/// Gives old calls their arguments as the text of a JSON object.
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
        let list =
            matches!(syntax, CallSyntax::Json(json) if json.list) || matches!(syntax, CallSyntax::Python(_));
        let written: Vec<String> = match list {
            true => vec![syntax.write(&calls)],
            false => calls.chunks(1).map(|call| syntax.write(call)).collect(),
        };
        let written =
            written.iter().map(|calls| format!("{open}{calls}{close}")).collect::<Vec<_>>().join("\n");
        append_text(message, &written);
    }
}

/// Writes old thoughts before the text of their message, as the model writes them.
pub(crate) fn thoughts_in_content(input: &mut TemplateInput, [open, close]: [&str; 2]) {
    for message in messages_of(input, "assistant") {
        let Some(Value::String(thoughts)) = message.shift_remove("reasoning_content") else {
            continue;
        };
        let thoughts = format!("{open}{thoughts}{close}");
        match message.entry("content").or_insert_with(|| "".into()) {
            Value::String(said) => *said = thoughts + said,
            Value::Array(parts) => parts.insert(0, json!({"type": "text", "text": thoughts})),
            other => *other = thoughts.into(),
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

/// Gives every call a message of its own, which its result follows.
pub(crate) fn one_call_a_message(input: &mut TemplateInput) {
    let mut rest = std::mem::take(&mut input.messages).into_iter().peekable();
    while let Some(message) = rest.next() {
        let calls = message.get("tool_calls").and_then(Value::as_array).cloned().unwrap_or_default();
        if calls.len() < 2 {
            input.messages.push(message);
            continue;
        }
        let mut results = Vec::new();
        while let Some(result) = rest.next_if(|next| next.get("role").is_some_and(|role| role == "tool")) {
            results.push(result);
        }
        input.messages.extend(alone(&message, calls, results));
    }
}

/// Takes calls apart; results that answer none of them follow at the end.
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
        let answers = |result: &Value| id.is_some() && result.get("tool_call_id") == id.as_ref();
        let (own, others) = results.into_iter().partition(|result| answers(result));
        results = others;
        messages.extend::<Vec<Value>>(own);
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

/// Gives text that stands before calls a message of its own, where thoughts stand there too.
pub(crate) fn text_before_calls_alone(input: &mut TemplateInput) {
    let apart = std::mem::take(&mut input.messages).into_iter().flat_map(|mut message| {
        let has = |field: &str| message.get(field).is_some_and(|value| value != "" && !value.is_null());
        if !(has("content") && has("thinking") && has("tool_calls")) {
            return vec![message];
        }
        let content = message.get_mut("content").map(Value::take).unwrap_or_default();
        if let Some(fields) = message.as_object_mut() {
            fields.insert("content".to_owned(), "".into());
        }
        vec![json!({"role": "assistant", "content": content}), message]
    });
    input.messages = apart.collect();
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

/// Gives the template the tools as a variable of another name, and under that alone.
pub(crate) fn tools_as_variable(input: &mut TemplateInput, name: &str) {
    if let Some(tools) = input.tools.take() {
        input.extra.entry(name).or_insert_with(|| tools.into());
    }
}

/// Moves results into the message whose calls they answer, those that are JSON objects as objects.
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
    let text = message.get("content").is_some_and(Value::is_string);
    text && message.get("role").is_some_and(|role| role == "tool")
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

/// Gives results as objects of a name and a response.
pub(crate) fn results_with_names(input: &mut TemplateInput) {
    each_result(input, |name, content| json!({"name": name, "response": response(content)}));
}

fn response(content: String) -> Map<String, Value> {
    object(&content).unwrap_or_else(|| Map::from_iter([("value".to_owned(), content.into())]))
}

/// Gives tools, arguments and results as text in Gemma's notation.
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

/// Writes the types of a schema in capitals, as Gemma was taught them.
fn with_capitals(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| match value {
                Value::String(kind) if key == "type" => (key.clone(), kind.to_uppercase().into()),
                value => (key.clone(), with_capitals(value)),
            };
            fields.iter().map(field).collect()
        }
        other => other.clone(),
    }
}

/// Gives tools as the heads of Python functions, arguments as literals, and the results of one message as a list of
/// texts.
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

/// Gives results as lists of a name and a response, those of one message in one list.
pub(crate) fn results_as_items(input: &mut TemplateInput) {
    each_result(input, |name, content| {
        let response = object(&content).map_or_else(|| content.into(), Value::Object);
        json!([{"name": name, "response": response}])
    });
    join_results(input);
}

/// Joins the lists of results that follow each other.
fn join_results(input: &mut TemplateInput) {
    let is_tool = |message: &Value| message.get("role").is_some_and(|role| role == "tool");
    input.messages.dedup_by(|next, before| {
        let both = is_tool(next) && is_tool(before);
        let (more, items) = (next.get("content"), before.get_mut("content"));
        match (more.and_then(Value::as_array), items.and_then(Value::as_array_mut)) {
            (Some(more), Some(items)) if both => items.extend(more.iter().cloned()),
            _ => return false,
        }
        true
    });
}

fn head(tool: &Value) -> String {
    let function = tool.get("function").unwrap_or(tool);
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let properties = function.pointer("/parameters/properties").and_then(Value::as_object);
    let required = function.pointer("/parameters/required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|names| names.iter().any(|one| one == name));
    let parameter = |(name, schema): (&String, &Value)| match is_required(name) {
        true => format!("    {name}: {},\n", python_type(schema)),
        false => format!("    {name}: {} | None = None,\n", python_type(schema)),
    };
    let parameters: String = properties.into_iter().flatten().map(parameter).collect();
    let told = |(name, schema): (&String, &Value)| format!("    {name}: {}\n", text(schema, "description"));
    let told: String = properties.into_iter().flatten().map(told).collect();
    let arguments = if told.is_empty() { String::new() } else { format!("\n\n  Args:\n{told}") };
    let line = if parameters.is_empty() { "" } else { "\n" };
    let (name, about) = (text(function, "name"), text(function, "description"));
    let end = if arguments.is_empty() { "\"\"\"\n" } else { "  \"\"\"\n" };
    format!("def {name}({line}{parameters}) -> dict:\n  \"\"\"{about}{arguments}{end}")
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

/// What Mistral's templates take: ids of nine letters or digits; thoughts as parts, where they know those.
pub(crate) fn mistral(template: &str, input: &mut TemplateInput) {
    for message in input.messages.iter_mut().filter_map(Value::as_object_mut) {
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        let ids = calls.into_iter().flatten().filter_map(|call| call.get_mut("id"));
        ids.for_each(|id| *id = nine_characters(id));
        message.get_mut("tool_call_id").into_iter().for_each(|id| *id = nine_characters(id));
    }
    if template.contains("block['thinking']") {
        messages_of(input, "assistant").for_each(thoughts_as_part);
    }
}

/// Returns the id if it is as templates want it, and one made from it otherwise (FNV-1a, in base 36).
fn nine_characters(id: &Value) -> Value {
    let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    if text.len() == 9 && text.bytes().all(|symbol| symbol.is_ascii_alphanumeric()) {
        return text.into();
    }
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let mut hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    let digits = (0..9).filter_map(|_| {
        let digit = u32::try_from(hash % 36).ok();
        hash /= 36;
        char::from_digit(digit?, 36)
    });
    digits.collect::<String>().into()
}

fn thoughts_as_part(message: &mut Map<String, Value>) {
    let Some(thoughts) = message.shift_remove("reasoning_content") else {
        return;
    };
    let text = match message.get_mut("content").map(Value::take) {
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![json!({"type": "text", "text": text})],
        Some(Value::Array(parts)) => parts,
        _ => Vec::new(),
    };
    let parts: Vec<Value> =
        [json!({"type": "thinking", "thinking": thoughts})].into_iter().chain(text).collect();
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
        let functions =
            calls.into_iter().flatten().filter_map(|call| call.get_mut("function")?.as_object_mut());
        functions.for_each(&change);
    }
}

/// Gives every argument of old calls as text.
fn each_argument(input: &mut TemplateInput, write: impl Fn(&Value) -> String) {
    each_function(input, |function| {
        let arguments = function.get_mut("arguments").and_then(Value::as_object_mut);
        arguments.into_iter().flatten().for_each(|(_, value)| *value = write(value).into());
    });
}

/// Gives every result another content, which is made from its tool's name and its text.
fn each_result(input: &mut TemplateInput, change: impl Fn(&str, String) -> Value) {
    for message in messages_of(input, "tool") {
        let name = message.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(content) = message.get_mut("content").filter(|content| content.is_string()) {
            let text = content.as_str().unwrap_or_default().to_owned();
            *content = change(&name, text);
        }
    }
}
