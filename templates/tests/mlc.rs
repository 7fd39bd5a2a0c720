//! Conversation templates of both generations: what they print, and what they refuse.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

use alloquy_core::ErrorKind;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::template::{PromptEnd, PromptTemplate, TemplateInput};
use alloquy_core::tokenizer::SpecialToken;
use alloquy_templates::ConversationTemplate;
use alloquy_templates::mlc::{Generation, Part, PartKind, Warning};
use serde_json::{Value, json};

fn conversation(messages: &[(&str, &str)], ending: PromptEnd) -> TemplateInput {
    let messages = messages.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
    TemplateInput { messages, ending, ..TemplateInput::default() }
}

#[test]
fn prompts_end_as_asked() {
    let template = ConversationTemplate::from_json("{}").unwrap();
    let dialog = [("user", "Hello"), ("assistant", "Good")];
    let render = |ending| template.render(&conversation(&dialog, ending)).unwrap();
    assert_eq!(render(PromptEnd::Generation), "USER: Hello\nASSISTANT: Good\nASSISTANT:");
    assert_eq!(render(PromptEnd::Closed), "USER: Hello\nASSISTANT: Good\n");
    assert_eq!(render(PromptEnd::Continuation), "USER: Hello\nASSISTANT: Good");
}

#[test]
fn plain_styles_print_the_last_user_text_alone() {
    for style in [1, 2] {
        let json = json!({"system": "Be brief.", "separator_style": style}).to_string();
        let template = ConversationTemplate::from_json(&json).unwrap();
        let dialog = [("user", "fn a"), ("assistant", "() {}"), ("user", "fn b"), ("assistant", "() ")];
        assert_eq!(template.render(&conversation(&dialog, PromptEnd::Continuation)).unwrap(), "fn b() ");
        assert_eq!(template.render(&conversation(&dialog[..3], PromptEnd::Generation)).unwrap(), "fn b");
    }
}

#[test]
fn offset_keeps_the_first_earlier_messages() {
    let json = json!({"messages": [["USER", "one?"], ["ASSISTANT", "1"], ["USER", "two?"]], "offset": 2})
        .to_string();
    let template = ConversationTemplate::from_json(&json).unwrap();
    let prompt = template.render(&conversation(&[("user", "three?")], PromptEnd::Generation)).unwrap();
    assert_eq!(prompt, "USER: one?\nASSISTANT: 1\nUSER: three?\nASSISTANT:");
}

#[test]
fn a_model_gives_the_texts_of_the_tokens_in_front() {
    let template = ConversationTemplate::from_json(r#"{"prefix_tokens": [7, 8], "add_bos": true}"#).unwrap();
    let input = conversation(&[("user", "Hello")], PromptEnd::Closed);
    insta::assert_snapshot!(template.render(&input).unwrap_err(), @r#"conversation template "" needs the text of its prefix tokens, which was not given"#);
    let token = |id, text: &str| SpecialToken { id, text: text.to_owned() };
    let mut model = ModelInfo::default();
    insta::assert_snapshot!(template.clone().with_tokens_of(&model).unwrap_err(), @r#"conversation template "" needs a BOS, which the model does not have"#);
    model.bos = Some(token(1, "<s>"));
    insta::assert_snapshot!(template.clone().with_tokens_of(&model).unwrap_err(), @r#"conversation template "" needs prefix token 7, which is not a special token of the model"#);
    model.specials = vec![token(7, "[gMASK]"), token(8, "sop")];
    assert_eq!(
        template.with_tokens_of(&model).unwrap().render(&input).unwrap(),
        "[gMASK]sop<s>USER: Hello\n"
    );
}

#[test]
fn what_a_template_cannot_say_is_an_error() {
    let vicuna = ConversationTemplate::named("vicuna_v1.1").unwrap();
    let hello = conversation(&[("user", "Hello")], PromptEnd::Generation);
    insta::assert_snapshot!(vicuna.render(&hello).unwrap_err(), @r#"conversation template "vicuna_v1.1" needs the text of BOS, which was not given"#);
    let vicuna = vicuna.with_bos("<s>");
    let tool = conversation(&[("user", "Hello"), ("tool", "22 C")], PromptEnd::Generation);
    insta::assert_snapshot!(vicuna.render(&tool).unwrap_err(), @r#"message 1 has role "tool", a conversation template knows "user", "assistant" and, at the beginning, "system""#);
    let tools = TemplateInput { tools: Some(vec![json!({})]), ..hello.clone() };
    insta::assert_snapshot!(vicuna.render(&tools).unwrap_err(), @r#"conversation template "vicuna_v1.1" has no place for tools"#);
    let image =
        TemplateInput { messages: vec![json!({"role": "user", "content": [{"type": "image"}]})], ..hello };
    insta::assert_snapshot!(vicuna.render(&image).unwrap_err(), @r#"a plain text prompt has no place for parts of type "image""#);
    assert_eq!(vicuna.render(&image).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn what_is_no_conversation_template_is_an_error() {
    let mut said: Vec<String> = Vec::new();
    let error = |json: &str| ConversationTemplate::from_json(json).unwrap_err();
    said.push(ConversationTemplate::named("vicuna").unwrap_err().to_string());
    let legacy = ConversationTemplate::named_in(Generation::Legacy, "llama-3").unwrap_err();
    said.push(legacy.to_string());
    assert_eq!(legacy.kind(), ErrorKind::NotFound);
    said.push(error("[]").to_string());
    said.push(error(r#"{"separator_style": 3}"#).to_string());
    said.push(error(r#"{"seps": []}"#).to_string());
    said.push(error(r#"{"seps": ["a", "b", "c"]}"#).to_string());
    said.push(error(r#"{"offset": 2}"#).to_string());
    said.push(error(r#"{"roles": ["USER"]}"#).to_string());
    said.push(error(r#"{"stop_tokens": [-1]}"#).to_string());
    let with = |fields: Value| error(&today(fields).to_string());
    said.push(error(r#"{"system_message": "Be brief."}"#).to_string());
    said.push(with(json!({"seps": ["a", "b", "c"]})).to_string());
    said.push(with(json!({"seps": "a"})).to_string());
    said.push(with(json!({"roles": {"user": "U"}})).to_string());
    said.push(with(json!({"messages": [["developer", "x"]]})).to_string());
    said.push(with(json!({"messages": [["user", 3]]})).to_string());
    said.push(with(json!({"stop_str": "</s>"})).to_string());
    insta::assert_snapshot!(said.join("\n"));
}

/// A small object of today, with some fields of one's own.
fn today(fields: Value) -> Value {
    let mut object =
        json!({"roles": {"user": "U", "assistant": "A"}, "seps": ["\n"], "role_content_sep": ": "});
    object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    object
}

fn template(object: Value) -> ConversationTemplate {
    ConversationTemplate::from_json(&object.to_string()).unwrap()
}

#[test]
fn a_name_that_both_generations_know_is_todays_unless_asked() {
    assert_eq!(ConversationTemplate::named("chatml").unwrap().generation(), Generation::Current);
    assert_eq!(ConversationTemplate::named("vicuna_v1.1").unwrap().generation(), Generation::Legacy);
    let old = ConversationTemplate::named_in(Generation::Legacy, "llama-2").unwrap();
    assert_eq!(old.generation(), Generation::Legacy);
    assert_eq!(ConversationTemplate::names(Generation::Current).count(), 53);
    assert_eq!(ConversationTemplate::names(Generation::Legacy).count(), 36);
}

#[test]
fn built_in_templates_say_what_is_odd_about_them() {
    let mut warnings = String::new();
    for generation in [Generation::Current, Generation::Legacy] {
        for name in ConversationTemplate::names(generation) {
            let template = ConversationTemplate::named_in(generation, name).unwrap();
            for warning in template.warnings() {
                warnings += &format!("{generation} {name}: {warning}\n");
            }
        }
    }
    insta::assert_snapshot!(warnings);
}

#[test]
fn fields_that_mlc_ignores_are_named() {
    let with_unknown = [json!({"stop": "</s>"}), today(json!({"stop": ["</s>"], "sep_style": 1}))];
    let warnings = with_unknown.map(|object| {
        let warnings = template(object).warnings().to_vec();
        warnings.iter().map(Warning::to_string).collect::<Vec<_>>().join("\n")
    });
    insta::assert_snapshot!(warnings.join("\n"));
}

#[test]
fn traps_are_named_and_honoured() {
    let seed = ConversationTemplate::named("vicuna_v1.1").unwrap().overridden(r#"{"role_empty_sep": ": "}"#);
    let seed = seed.unwrap().with_bos("");
    assert_eq!(seed.warnings(), [Warning::TrailingSpace { header: "ASSISTANT: ".to_owned() }]);
    let prompt = seed.render(&conversation(&[("user", "Hello")], PromptEnd::Generation)).unwrap();
    assert!(prompt.ends_with("USER: Hello ASSISTANT: "), "{prompt}");
    let stranger = template(json!({"messages": [["user", "name?"]]}));
    assert_eq!(stranger.warnings(), [Warning::UnknownSpeaker { position: 0, name: "user".to_owned() }]);
    let silent = template(today(json!({"system_template": "", "role_templates": {"user": "{today}"}})));
    let warnings: Vec<_> = silent.warnings().iter().map(Warning::to_string).collect();
    insta::assert_snapshot!(warnings.join("\n"));
}

#[test]
fn todays_prompts_end_as_asked() {
    let object = json!({"role_templates": {"assistant": "<{assistant_message}>"}, "role_empty_sep": ":"});
    let template = template(today(object));
    let dialog = [("system", "S."), ("user", "Hello"), ("assistant", "Good")];
    let render = |ending| template.render(&conversation(&dialog, ending)).unwrap();
    assert_eq!(render(PromptEnd::Generation), "S.U: Hello\nA: <Good>\nA:");
    assert_eq!(render(PromptEnd::Closed), "S.U: Hello\nA: <Good>\n");
    assert_eq!(render(PromptEnd::Continuation), "S.U: Hello\nA: <Good");
}

#[test]
fn the_parts_say_what_they_are() {
    let llama = ConversationTemplate::named_in(Generation::Current, "llama-2").unwrap().with_prefix("<s>");
    let parts =
        llama.parts(&conversation(&[("user", "Hello"), ("tool", "22 C")], PromptEnd::Generation)).unwrap();
    let kinds: Vec<_> = parts.iter().map(|part| part.kind).collect();
    assert_eq!(kinds, [PartKind::Front, PartKind::System, PartKind::User, PartKind::Other, PartKind::Header]);
    assert_eq!(parts.first(), Some(&Part { kind: PartKind::Front, text: "<s>".to_owned() }));
    assert_eq!(parts.get(2), Some(&Part { kind: PartKind::User, text: "Hello ".to_owned() }));
}

#[test]
fn only_thoughts_before_the_last_question_are_stripped() {
    let qwen = ConversationTemplate::named("qwen3").unwrap();
    let thought = "<think>\nhm\n</think>\n\nGood";
    let dialog = [("user", "a"), ("assistant", thought), ("user", "b"), ("assistant", thought)];
    let prompt = qwen.render(&conversation(&dialog, PromptEnd::Closed)).unwrap();
    let (_, prompt) = prompt.split_once("<|im_start|>user").unwrap();
    assert_eq!(
        prompt,
        format!(
            "\na<|im_end|>\n<|im_start|>assistant\nGood<|im_end|>\n<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n{thought}<|im_end|>\n"
        )
    );
}

fn with_tools(choice: Value) -> TemplateInput {
    let function =
        |name: &str| json!({"name": name, "parameters": {"é": 1e-5, "n": [0.5, 1e16, 7]}, "strict": true});
    let tools = ["f", "g"].map(|name| json!({"type": "function", "function": function(name)}));
    let mut input = conversation(&[("user", "Hello")], PromptEnd::Closed);
    input.tools = Some(tools.to_vec());
    input.extra.insert("tool_choice".to_owned(), choice);
    input
}

#[test]
fn tools_are_written_as_mlc_writes_them() {
    let mut said: Vec<String> = Vec::new();
    let printing = template(today(json!({"system_template": "{function_string}|{function_string}|"})));
    let render = |choice| printing.render(&with_tools(choice)).unwrap();
    said.push(render(Value::Null));
    said.push(render(json!("none")));
    said.push(render(json!({"type": "function", "function": {"name": "g"}})));
    let error = |choice| printing.render(&with_tools(choice)).unwrap_err();
    said.push(error(json!("some")).to_string());
    said.push(error(json!({"function": {"name": "h"}})).to_string());
    let mut nameless = with_tools(Value::Null);
    nameless.tools = Some(vec![json!({"type": "function", "function": {}})]);
    said.push(printing.render(&nameless).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn tools_without_a_place_are_refused_unless_ignored() {
    let plain = template(today(json!({})));
    let input = with_tools(json!("auto"));
    insta::assert_snapshot!(plain.render(&input).unwrap_err());
    assert_eq!(plain.clone().ignoring_tools().render(&input).unwrap(), "U: Hello\n");
    assert_ne!(plain.clone().ignoring_tools().digest(), plain.digest());
    assert_eq!(plain.render(&with_tools(json!("none"))).unwrap(), "U: Hello\n");
}

#[test]
fn what_todays_template_cannot_say_is_an_error() {
    let mut said: Vec<String> = Vec::new();
    let plain = template(today(json!({})));
    let error = |message: Value| {
        let input = TemplateInput { messages: vec![message], ..TemplateInput::default() };
        plain.render(&input).unwrap_err()
    };
    said.push(error(json!({"role": "tool", "content": "22 C"})).to_string());
    said.push(error(json!({"content": "22 C"})).to_string());
    said.push(
        error(json!({"role": "user", "content": [{"type": "image_url", "image_url": "x"}]})).to_string(),
    );
    said.push(error(json!({"role": "assistant", "tool_calls": [{}]})).to_string());
    said.push(error(json!({"role": "user", "content": 3})).to_string());
    let documents = TemplateInput { documents: Some(vec![json!({})]), ..TemplateInput::default() };
    said.push(plain.render(&documents).unwrap_err().to_string());
    let gemma = ConversationTemplate::named("gemma3_instruction").unwrap();
    said.push(gemma.render(&TemplateInput::default()).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn an_override_keeps_what_is_known_of_the_tokens_in_front() {
    let gemma = ConversationTemplate::named("gemma3_instruction").unwrap().with_prefix("<bos>");
    let input = conversation(&[], PromptEnd::Generation);
    let quiet = gemma.overridden(r#"{"role_empty_sep": ""}"#).unwrap();
    assert_eq!(quiet.render(&input).unwrap(), "<bos><start_of_turn>model");
    let other = gemma.overridden(r#"{"system_prefix_token_ids": [3]}"#).unwrap();
    assert_eq!(other.render(&input).unwrap_err().kind(), ErrorKind::Template);
}
