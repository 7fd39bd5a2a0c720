//! Conversation templates against what MLC LLM prints: by name and by object, in both generations.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)]

mod mlc_cases;

use alloquy_core::ErrorKind;
use alloquy_core::template::{PromptEnd, PromptTemplate, TemplateInput};
use alloquy_templates::ConversationTemplate;
use alloquy_templates::mlc::{ContextShift, Generation, Part, PartKind, PartLength, Restart, Shift};
use mlc_cases::{Cases, matches};
use serde_json::{Map, Value, json};

#[test]
fn prompts_are_those_of_mlc() {
    let golden = |file| mlc_cases::golden("mlc", file);
    let (Some(current), Some(legacy), Some(shifts)) =
        (golden("golden.json"), golden("legacy_golden.json"), golden("context_shift_golden.json"))
    else {
        return;
    };
    let mut cases = Cases::new();
    for (name, golden) in current["templates"].as_object().unwrap() {
        let template = by_name_or_object(&mut cases, Generation::Current, name, "", &golden["template"]);
        for conversation in current["conversations"].as_array().unwrap() {
            let case = format!("current/{name}/{}", conversation["id"].as_str().unwrap());
            let expected = &golden["results"][conversation["id"].as_str().unwrap()];
            compare_prompt(&mut cases, &case, &template, conversation, expected);
        }
    }
    for (version, golden) in legacy["versions"].as_object().unwrap() {
        for (name, golden) in golden["templates"].as_object().unwrap() {
            let template = by_name_or_object(
                &mut cases,
                Generation::Legacy,
                name,
                &format!("{version}/"),
                &golden["fields"],
            );
            play(&mut cases, &format!("{version}/{name}"), &template, &golden["dialogs"]);
        }
        for (name, golden) in golden["conv_config"].as_object().unwrap() {
            let template = from_object(Generation::Legacy, &golden["fields"]);
            play(&mut cases, &format!("{version}/conv_config/{name}"), &template, &golden["dialogs"]);
        }
    }
    for (number, golden) in shifts["cases"].as_array().unwrap().iter().enumerate() {
        shift(&mut cases, &format!("context_shift/{number}"), golden);
    }
    cases.finish();
}

/// MLC puts the tokens in front of the text, so their texts are nothing here.
fn without_front(template: ConversationTemplate) -> ConversationTemplate {
    template.with_prefix("").with_bos("").ignoring_tools()
}

fn from_object(generation: Generation, fields: &Value) -> ConversationTemplate {
    without_front(ConversationTemplate::from_json_in(generation, &fields.to_string()).unwrap())
}

/// The template of that name, or what the name meant in an older version.
fn by_name_or_object(
    cases: &mut Cases,
    generation: Generation,
    name: &str,
    version: &str,
    fields: &Value,
) -> ConversationTemplate {
    let case = format!("{generation}/{version}{name}/fields");
    let named = match ConversationTemplate::named_in(generation, name) {
        Ok(named) => named,
        Err(error) => {
            cases.fail(&case, fields, &error.to_string().into());
            return from_object(generation, fields);
        }
    };
    let expected = with_all_fields(fields);
    let found = with_all_fields(&named.to_json());
    // What a name meant before is the same object with a few other fields, and exactly those.
    let older = serde_json::from_str::<Value>(include_str!("mlc_cases/older.json")).unwrap();
    let older = named.overridden(&older.get(&case).unwrap_or(&json!({})).to_string()).unwrap();
    let was_this = matches(&expected, &with_all_fields(&older.to_json()));
    let instead = if was_this { &found } else { &expected };
    cases.compare_or(&case, [&expected, instead], &found, "the-last-version-is-known-by-name");
    without_front(if was_this { older } else { named })
}

/// An object without its nulls, and with the fields that came late.
fn with_all_fields(object: &Value) -> Value {
    let mut fields: Map<_, _> = object.as_object().unwrap().clone();
    fields.retain(|_, value| !value.is_null());
    if fields.contains_key("separator_style") {
        fields.entry("prefix_tokens").or_insert(json!([]));
    }
    Value::Object(fields)
}

fn input(conversation: &Value) -> TemplateInput {
    let mut input = TemplateInput::default();
    let system = conversation["system"].as_str();
    input.messages.extend(system.map(|text| json!({"role": "system", "content": text})));
    let messages = conversation["messages"].as_array().unwrap();
    input.messages.extend(
        messages.iter().map(|message| json!({"role": message[0].clone(), "content": message[1].clone()})),
    );
    let tools = conversation["tools"].as_array();
    input.tools = tools.map(|tools| {
        tools.iter().map(|function| json!({"type": "function", "function": function})).collect()
    });
    input.extra.insert("tool_choice".to_owned(), conversation["tool_choice"].clone());
    input
}

fn compare_prompt(
    cases: &mut Cases,
    case: &str,
    template: &ConversationTemplate,
    conversation: &Value,
    expected: &Value,
) {
    let found = template.render(&input(conversation));
    let Some(expected) = expected["ok"].as_array() else {
        // Whatever MLC refuses is refused, in words of our own.
        return cases.compare(
            case,
            &"an error".into(),
            &found.map_or("an error".to_owned(), |text| text).into(),
        );
    };
    let prompt = match found {
        Ok(prompt) => prompt,
        Err(error) => {
            let has_image = expected.iter().any(Value::is_object);
            let found = Value::from(error.to_string());
            let is_meant = has_image && error.kind() == ErrorKind::Unsupported;
            let expected = Value::from(expected.as_slice());
            let instead = if is_meant { &found } else { &expected };
            return cases.compare_or(case, [&expected, instead], &found, "images-are-refused");
        }
    };
    let found = Value::from(prompt);
    match expected.as_slice() {
        [expected] => {
            let says_place = conversation.to_string().contains("{function_string}");
            let as_mlc = says_place && matches(expected, &expanded(template, conversation).into());
            // What MLC printed is explained in full, so what is printed here is right.
            let instead = if as_mlc { &found } else { expected };
            cases.compare_or(case, [expected, instead], &found, "text-is-never-expanded");
        }
        parts => cases.fail(case, &Value::from(parts), &found),
    }
}

/// What MLC makes of a conversation that says `{function_string}` itself: of all places in the prompt, its own and
/// the template's, the last gets the tools, and the others vanish.
fn expanded(template: &ConversationTemplate, conversation: &Value) -> String {
    const SAID: &str = "\u{f0000}";
    let said = conversation.to_string().replace("{function_string}", SAID);
    let input = input(&serde_json::from_str(&said).unwrap());
    let prompt = template.render(&input).unwrap();
    let tools = tools_text(&input);
    let (before, after) = prompt.rsplit_once(SAID).unwrap();
    let own_is_last = !tools.is_empty() && after.contains(&tools);
    if own_is_last {
        prompt.replace(SAID, "")
    } else {
        format!("{}{tools}{after}", without_last(before, &tools).replace(SAID, ""))
    }
}

fn without_last(text: &str, part: &str) -> String {
    match text.rsplit_once(part).filter(|_| !part.is_empty()) {
        Some((before, after)) => format!("{before}{after}"),
        None => text.to_owned(),
    }
}

/// The tools of a conversation as a template prints them.
fn tools_text(conversation: &TemplateInput) -> String {
    let object = json!({
        "roles": {"user": "", "assistant": ""}, "seps": [""], "role_templates": {"user": "{function_string}"}
    });
    let input = TemplateInput {
        messages: vec![json!({"role": "user", "content": ""})],
        ending: PromptEnd::Closed,
        ..conversation.clone()
    };
    from_object(Generation::Current, &object).render(&input).unwrap()
}

/// Plays the steps of dialogs and compares every prompt: whole, in parts, and what a cache lacks of it.
fn play(cases: &mut Cases, case: &str, template: &ConversationTemplate, dialogs: &Value) {
    for (name, dialog) in dialogs.as_object().unwrap() {
        let mut input = TemplateInput::default();
        for (turn, step) in dialog.as_array().unwrap().iter().enumerate() {
            let case = format!("legacy/{case}/{name}/{turn}");
            input.messages.push(json!({"role": "user", "content": step["user"]}));
            let prompt = template.render(&input).unwrap();
            cases.compare(&format!("{case}/full_prompt"), &step["full_prompt"], &prompt.clone().into());
            let parts: Vec<_> = template.parts(&input).unwrap().into_iter().map(|part| part.text).collect();
            cases.compare(&format!("{case}/prompt_array"), &step["prompt_array"], &parts.clone().into());
            let fed = fed_to_model(template, &parts, turn);
            cases.compare(&format!("{case}/fed_to_model"), &step["fed_to_model"], &fed.into());
            input.messages.push(json!({"role": "assistant", "content": step["reply"]}));
        }
    }
}

/// MLC feeds everything at first, and then the separator behind the last reply, which the cache does not hold, and
/// what follows.
fn fed_to_model(template: &ConversationTemplate, parts: &[String], turn: usize) -> String {
    let fields = template.to_json();
    if turn == 0 || fields["separator_style"] != 0 {
        return parts.concat();
    }
    let separators = fields["seps"].as_array().unwrap();
    let separator = separators.last().unwrap().as_str().unwrap();
    let new = parts[parts.len() - 2..].concat();
    let prompt = parts.concat();
    assert!(prompt.ends_with(&format!("{separator}{new}")), "what is fed is the end of the prompt");
    format!("{separator}{new}")
}

/// A byte is a token, and BOS is one.
fn lengths(parts: &[Part]) -> Vec<PartLength> {
    let tokens = |part: &Part| if part.kind == PartKind::Front { 1 } else { part.text.len() };
    parts.iter().map(|part| PartLength { kind: part.kind, tokens: tokens(part) }).collect()
}

const BOS: &str = "\u{f0001}";

/// Plays the turns of a conversation that outgrows its window.
fn shift(cases: &mut Cases, case: &str, golden: &Value) {
    let name = golden["template"].as_str().unwrap();
    let template = ConversationTemplate::named_in(Generation::Legacy, name).unwrap().with_bos(BOS);
    let number = |field: &str| golden[field].as_u64().unwrap().try_into().unwrap();
    let policy = ContextShift::new(number("max_window_size"))
        .with_mean_gen_len(number("mean_gen_len"))
        .with_fill_factor(golden["shift_fill_factor"].as_f64().unwrap());
    let mut input = TemplateInput::default();
    for (turn, golden) in golden["turns"].as_array().unwrap().iter().enumerate() {
        let case = format!("{case}/{turn}");
        input.messages.push(json!({"role": "user", "content": golden["user"]}));
        let parts = template.parts(&input).unwrap();
        let held = usize::try_from(golden["total_seq_len_before"].as_u64().unwrap()).unwrap();
        let texts: Vec<_> =
            parts.iter().filter(|part| part.kind != PartKind::Front).map(|part| part.text.clone()).collect();
        let fed = fed_to_model(&template, &texts, usize::from(held > 0));
        let has_bos = held == 0 && parts.len() > texts.len();
        let due = policy.is_due(held, fed.len() + usize::from(has_bos));
        cases.compare(&format!("{case}/shifted"), &golden["shifted"], &due.into());
        if due {
            as_mlc(cases, &case, &policy, &parts, golden);
            corrected(cases, &case, &policy, &parts, golden);
        } else {
            cases.compare(&format!("{case}/fed_text"), &golden["fed_text"], &fed.into());
        }
        input.messages.push(json!({"role": "assistant", "content": golden["reply"]}));
    }
}

/// The fields of a turn, from a shift.
fn turn_of(shift: &Shift, parts: &[Part]) -> Value {
    let fronts = parts.iter().filter(|part| part.kind == PartKind::Front).count();
    let system_duplicated = shift.restart < shift.kept;
    json!({
        "fed_text": shift.text(parts).replace(BOS, ""),
        "fed_tokens": shift.tokens,
        "truncated_front_tokens": shift.cut.len(),
        "bos": fronts > 0 && (shift.cut.is_empty() || shift.cut.start > 0),
        "start_re_encode_pos": shift.restart - fronts,
        "system_duplicated": system_duplicated,
    })
}

/// Those fields of a turn that a shift has too.
fn only_shift(golden: &Value, found: &Value) -> Value {
    found.as_object().unwrap().keys().map(|field| (field.clone(), golden[field].clone())).collect()
}

fn as_mlc(cases: &mut Cases, case: &str, policy: &ContextShift, parts: &[Part], golden: &Value) {
    let policy = policy.clone().with_restart(Restart::AsMlc);
    let found = turn_of(&policy.plan(&lengths(parts)).unwrap(), parts);
    cases.compare(&format!("{case}/as_mlc"), &only_shift(golden, &found), &found);
}

/// The defects of MLC corrected: whatever differs is one of the two.
fn corrected(cases: &mut Cases, case: &str, policy: &ContextShift, parts: &[Part], golden: &Value) {
    let found = turn_of(&policy.plan(&lengths(parts)).unwrap(), parts);
    let expected = only_shift(golden, &found);
    let mut instead = expected.clone();
    if expected["system_duplicated"] == true {
        let system = &parts.iter().find(|part| part.kind == PartKind::System).unwrap().text;
        let removed = system.len();
        let whole: String =
            parts.iter().filter(|part| part.kind != PartKind::Front).map(|part| part.text.as_str()).collect();
        instead["fed_text"] = whole.into();
        instead["system_duplicated"] = false.into();
        instead["start_re_encode_pos"] = 1.into();
        let cut = expected["truncated_front_tokens"].as_u64().unwrap();
        let all = cut + expected["fed_tokens"].as_u64().unwrap() - u64::try_from(removed).unwrap();
        let fits = all < u64::try_from(policy.window).unwrap();
        instead["fed_tokens"] = if fits { all.into() } else { expected["fed_tokens"].clone() };
        instead["truncated_front_tokens"] =
            if fits { 0.into() } else { (all - expected["fed_tokens"].as_u64().unwrap()).into() };
    }
    // BOS stays, where there is one.
    instead["bos"] = parts.iter().any(|part| part.kind == PartKind::Front).into();
    let deviation = if instead["truncated_front_tokens"] == 0 {
        "the-system-text-is-printed-once"
    } else {
        "the-front-survives-a-cut"
    };
    cases.compare_or(&format!("{case}/corrected"), [&expected, &instead], &found, deviation);
}

#[test]
fn what_mlc_makes_of_placeholders_in_texts_is_explained() {
    let conversation = |tools: Value| {
        let text = "a {function_string} b {function_string} c";
        json!({"system": "", "messages": [["user", text]], "tools": tools, "tool_choice": null})
    };
    let named = |name| without_front(ConversationTemplate::named_in(Generation::Current, name).unwrap());
    let gorilla = named("gorilla");
    let openfunctions = named("gorilla-openfunctions-v2");
    let tool = json!([{"name": "f", "parameters": {}}]);
    let printed = r#"[{"description": null, "name": "f", "parameters": {}}]"#;
    assert_eq!(
        expanded(&gorilla, &conversation(tool.clone())),
        format!("USER: <<question>> a  b  c <<function>> {printed}\nASSISTANT:")
    );
    assert_eq!(
        expanded(&openfunctions, &conversation(tool)),
        format!("### Instruction: <<function>>\n<<question>>a  b {printed} c\n### Response: ")
    );
    assert_eq!(
        expanded(&gorilla, &conversation(Value::Null)),
        "USER: <<question>> a  b  c <<function>> \nASSISTANT:"
    );
}
