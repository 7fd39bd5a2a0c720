//! Conversation templates against what MLC LLM and FastChat print.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)]

mod shared;

use alloquy_core::{Ending, ErrorKind, ModelInfo, PromptTemplate, SpecialToken, TemplateInput};
use alloquy_templates::ConversationTemplate;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Plays the steps of a golden dialog and compares every prompt.
fn play(
    template: &ConversationTemplate,
    system: Option<&str>,
    dialog: &Value,
    skip: fn(&Value) -> bool,
) -> usize {
    let mut input = TemplateInput::default();
    input.messages.extend(system.map(|text| json!({"role": "system", "content": text})));
    let mut compared = 0;
    for step in dialog.as_array().unwrap() {
        input.messages.push(json!({"role": "user", "content": step["user"]}));
        if skip(step) {
            return compared;
        }
        assert_eq!(template.render(&input).unwrap(), step["full_prompt"].as_str().unwrap());
        compared += 1;
        input.messages.push(json!({"role": "assistant", "content": step["reply"]}));
        if let Some(after) = step.get("after_reply").and_then(Value::as_str) {
            let closed = TemplateInput { ending: Ending::Closed, ..input.clone() };
            assert_eq!(template.render(&closed).unwrap(), after);
        }
    }
    compared
}

/// MLC puts BOS in front as a token, not as text.
fn without_bos(template: &ConversationTemplate) -> ConversationTemplate {
    template.clone().with_bos("")
}

#[test]
fn vicuna_prints_what_mlc_prints() {
    let Some(golden) = shared::json("cases/mlc/legacy_golden.json") else { return };
    let mut compared = 0;
    for (version, golden) in golden["versions"].as_object().unwrap() {
        let named = without_bos(&ConversationTemplate::named("vicuna_v1.1").unwrap());
        for dialog in golden["templates"]["vicuna_v1.1"]["dialogs"].as_object().unwrap().values() {
            compared += play(&named, None, dialog, |_| false);
        }
        for case in golden["conv_config"].as_object().unwrap().values() {
            let template =
                without_bos(&ConversationTemplate::from_json(&case["fields"].to_string()).unwrap());
            for dialog in case["dialogs"].as_object().unwrap().values() {
                compared += play(&template, None, dialog, |_| false);
            }
        }
        assert!(compared > 0, "{version}");
    }
    eprintln!("{compared} prompts of vicuna_v1.1 and its variants are MLC's");
}

#[test]
fn every_legacy_template_can_be_given_as_json() {
    let Some(golden) = shared::json("cases/mlc/legacy_golden.json") else { return };
    let mut compared = 0;
    for case in golden["versions"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|version| version["templates"].as_object().unwrap().values())
    {
        let mut fields = case["fields"].clone();
        // The ids in front are not in the golden text.
        fields["prefix_tokens"] = json!([]);
        let template = without_bos(&ConversationTemplate::from_json(&fields.to_string()).unwrap());
        for dialog in case["dialogs"].as_object().unwrap().values() {
            compared += play(&template, None, dialog, |_| false);
        }
    }
    eprintln!("{compared} prompts of legacy templates are MLC's");
    assert!(compared > 0);
}

#[test]
fn vicuna_prints_what_fastchat_prints() {
    let Some(golden) = shared::json("cases/fastchat/golden.json") else { return };
    let template = without_bos(&ConversationTemplate::named("vicuna_v1.1").unwrap());
    // FastChat takes an empty text for a missing one; MLC, whose template this is, prints it.
    let empty = |step: &Value| step["user"] == "";
    let mut compared = 0;
    for (name, dialog) in golden["templates"]["vicuna_v1.1"]["dialogs"].as_object().unwrap() {
        let system = Some("You are Guanaco.").filter(|_| name == "custom_system");
        compared += play(&template, system, dialog, empty);
    }
    eprintln!("{compared} prompts of vicuna_v1.1 are FastChat's");
    assert!(compared > 0);
}

fn conversation(messages: &[(&str, &str)], ending: Ending) -> TemplateInput {
    let messages = messages.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
    TemplateInput { messages, ending, ..TemplateInput::default() }
}

#[test]
fn prompts_end_as_asked() {
    let template = ConversationTemplate::from_json("{}").unwrap();
    let dialog = [("user", "Hello"), ("assistant", "Good")];
    let render = |ending| template.render(&conversation(&dialog, ending)).unwrap();
    assert_eq!(render(Ending::Answer), "USER: Hello\nASSISTANT: Good\nASSISTANT:");
    assert_eq!(render(Ending::Closed), "USER: Hello\nASSISTANT: Good\n");
    assert_eq!(render(Ending::Continue), "USER: Hello\nASSISTANT: Good");
}

#[test]
fn plain_styles_print_the_last_user_text_alone() {
    for style in [1, 2] {
        let json = json!({"system": "Be brief.", "separator_style": style}).to_string();
        let template = ConversationTemplate::from_json(&json).unwrap();
        let dialog = [("user", "fn a"), ("assistant", "() {}"), ("user", "fn b"), ("assistant", "() ")];
        assert_eq!(template.render(&conversation(&dialog, Ending::Continue)).unwrap(), "fn b() ");
        assert_eq!(template.render(&conversation(&dialog[..3], Ending::Answer)).unwrap(), "fn b");
    }
}

#[test]
fn offset_keeps_the_first_earlier_messages() {
    let json = json!({"messages": [["USER", "one?"], ["ASSISTANT", "1"], ["USER", "two?"]], "offset": 2})
        .to_string();
    let template = ConversationTemplate::from_json(&json).unwrap();
    let prompt = template.render(&conversation(&[("user", "three?")], Ending::Answer)).unwrap();
    assert_eq!(prompt, "USER: one?\nASSISTANT: 1\nUSER: three?\nASSISTANT:");
}

#[test]
fn a_model_gives_the_texts_of_the_tokens_in_front() {
    let template = ConversationTemplate::from_json(r#"{"prefix_tokens": [7, 8], "add_bos": true}"#).unwrap();
    let input = conversation(&[("user", "Hello")], Ending::Closed);
    insta::assert_snapshot!(template.render(&input).unwrap_err(), @r#"conversation template "" wants tokens in front whose texts are not known, give the model"#);
    let token = |id, text: &str| SpecialToken { id, text: text.to_owned() };
    let mut model = ModelInfo::default();
    insta::assert_snapshot!(template.clone().with_tokens_of(&model).unwrap_err(), @r#"conversation template "" wants a BOS, which the model does not have"#);
    model.bos = Some(token(1, "<s>"));
    insta::assert_snapshot!(template.clone().with_tokens_of(&model).unwrap_err(), @r#"conversation template "" wants token 7 in front, which is no special token of the model"#);
    model.specials = vec![token(7, "[gMASK]"), token(8, "sop")];
    assert_eq!(
        template.with_tokens_of(&model).unwrap().render(&input).unwrap(),
        "[gMASK]sop<s>USER: Hello\n"
    );
}

#[test]
fn what_a_template_cannot_say_is_an_error() {
    let vicuna = ConversationTemplate::named("vicuna_v1.1").unwrap();
    let hello = conversation(&[("user", "Hello")], Ending::Answer);
    insta::assert_snapshot!(vicuna.render(&hello).unwrap_err(), @r#"conversation template "vicuna_v1.1" wants the text of BOS, which was not given"#);
    let vicuna = vicuna.with_bos("<s>");
    let tool = conversation(&[("user", "Hello"), ("tool", "22 C")], Ending::Answer);
    insta::assert_snapshot!(vicuna.render(&tool).unwrap_err(), @r#"message 1 has role "tool", a conversation template knows "user", "assistant" and, at the beginning, "system""#);
    let tools = TemplateInput { tools: Some(vec![json!({})]), ..hello.clone() };
    insta::assert_snapshot!(vicuna.render(&tools).unwrap_err(), @"a conversation template has no place for tools");
    let image =
        TemplateInput { messages: vec![json!({"role": "user", "content": [{"type": "image"}]})], ..hello };
    insta::assert_snapshot!(vicuna.render(&image).unwrap_err(), @r#"a plain text prompt has no place for parts of type "image""#);
    assert_eq!(vicuna.render(&image).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn what_is_no_conversation_template_is_an_error() {
    let error = |json: &str| ConversationTemplate::from_json(json).unwrap_err();
    insta::assert_snapshot!(ConversationTemplate::named("vicuna").unwrap_err(), @r#"unknown conversation template "vicuna", one of: vicuna_v1.1"#);
    insta::assert_snapshot!(error(r#"{"separator_style": 3}"#), @"conv_config cannot be read: unknown separator_style 3, one of: 0, 1, 2 at line 1 column 22");
    insta::assert_snapshot!(error(r#"{"seps": []}"#), @"seps [] holds neither one nor two separators");
    insta::assert_snapshot!(error(r#"{"offset": 2}"#), @"offset 2 is beyond the 0 messages");
    insta::assert_snapshot!(error(r#"{"stop": "</s>"}"#), @"conv_config cannot be read: unknown field `stop`, expected one of `name`, `system`, `roles`, `messages`, `offset`, `separator_style`, `seps`, `role_msg_sep`, `role_empty_sep`, `stop_str`, `stop_tokens`, `prefix_tokens`, `add_bos` at line 1 column 7");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn texts_are_printed_as_they_are(text in ".*") {
        let vicuna = ConversationTemplate::named("vicuna_v1.1").unwrap().with_bos("<s>");
        let prompt = vicuna.render(&conversation(&[("system", ""), ("user", &text)], Ending::Answer)).unwrap();
        prop_assert_eq!(prompt, format!("<s>USER: {text} ASSISTANT:"));
    }
}
