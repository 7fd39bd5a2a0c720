//! Conversation templates under any object and any text.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use alloquy_core::template::{PromptEnd, PromptTemplate, TemplateInput};
use alloquy_templates::ConversationTemplate;
use alloquy_templates::mlc::Generation;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// Texts, some of which look like placeholders.
fn text() -> impl Strategy<Value = String> {
    const PLACES: [&str; 8] = [
        "{function_string}",
        "{user_message}",
        "{assistant_message}",
        "{tool_message}",
        "{system_message}",
        "{",
        "}",
        "",
    ];
    let piece = prop_oneof![select(&PLACES[..]).prop_map(str::to_owned), ".{0,4}"];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn seps() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(text(), 1..=2)
}

fn legacy() -> impl Strategy<Value = Value> {
    let texts = prop::collection::vec(text(), 6);
    let messages = prop::collection::vec((text(), text()), 0..3);
    (texts, messages, 0..3_u8, seps(), prop::option::of(any::<Index>())).prop_map(
        |(texts, messages, style, seps, offset)| {
            let mut object = json!({
                "name": texts[0], "system": texts[1], "roles": [texts[2], texts[3]], "role_msg_sep": texts[4],
                "role_empty_sep": texts[5], "separator_style": style, "seps": seps, "messages": messages,
            });
            if let Some(offset) = offset {
                object["offset"] = offset.index(messages.len() + 1).into();
            }
            object
        },
    )
}

fn today() -> impl Strategy<Value = Value> {
    let texts = prop::collection::vec(text(), 8);
    let message = (select(vec!["user", "assistant", "tool"]), prop::option::of(text()));
    let messages = prop::collection::vec(message, 0..3);
    (texts, messages, any::<[bool; 2]>(), seps()).prop_map(|(texts, messages, [after, strip], seps)| {
        json!({
            "name": texts[0], "system_template": texts[1], "system_message": texts[2],
            "roles": {"user": texts[3], "assistant": texts[4], "tool": "T"}, "role_templates": {"user": texts[5]},
            "role_content_sep": texts[6], "role_empty_sep": texts[7], "seps": seps, "messages": messages,
            "add_role_after_system_message": after, "strip_reasoning_in_history": strip,
        })
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop_oneof![legacy(), today()]
}

fn input() -> impl Strategy<Value = TemplateInput> {
    let message = (select(vec!["user", "assistant"]), text());
    let endings = select(vec![PromptEnd::Generation, PromptEnd::Closed, PromptEnd::Continuation]);
    (prop::option::of(text()), prop::collection::vec(message, 0..4), endings).prop_map(
        |(system, messages, ending)| {
            let system = system.map(|text| json!({"role": "system", "content": text}));
            let messages = messages.into_iter().map(|(role, text)| json!({"role": role, "content": text}));
            TemplateInput {
                messages: system.into_iter().chain(messages).collect(),
                ending,
                ..TemplateInput::default()
            }
        },
    )
}

fn read(object: &Value) -> ConversationTemplate {
    ConversationTemplate::from_json(&object.to_string()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_template_is_what_its_own_object_reads_as(object in object(), input in input()) {
        let template = read(&object);
        let again = read(&template.to_json());
        prop_assert_eq!(&again, &template);
        prop_assert_eq!(again.digest(), template.digest());
        prop_assert_eq!(again.render(&input).unwrap(), template.render(&input).unwrap());
    }

    #[test]
    fn rendering_is_pure(object in object(), input in input(), other in input()) {
        let template = read(&object);
        let first = template.render(&input).unwrap();
        template.render(&other).unwrap();
        prop_assert_eq!(template.render(&input).unwrap(), first);
    }

    #[test]
    fn the_parts_are_the_prompt(object in object(), input in input()) {
        let template = read(&object);
        let parts: String = template.parts(&input).unwrap().into_iter().map(|part| part.text).collect();
        prop_assert_eq!(template.render(&input).unwrap(), parts);
    }

    #[test]
    fn texts_are_printed_as_they_are(name in any::<Index>(), text in text()) {
        let names: Vec<_> = ConversationTemplate::names(Generation::Current).collect();
        let template = ConversationTemplate::named_in(Generation::Current, name.get::<&str>(&names)).unwrap();
        let template = template.with_prefix("");
        // Some templates print more where there is no system text.
        prop_assume!(!text.is_empty());
        let render = |text: &str| {
            let messages = ["system", "user", "assistant", "user"];
            let messages = messages.map(|role| json!({"role": role, "content": text})).to_vec();
            template.render(&TemplateInput { messages, ..TemplateInput::default() }).unwrap()
        };
        // A text that holds no placeholder shows where texts are printed.
        prop_assert_eq!(render(&text), render("\u{f0000}").replace('\u{f0000}', &text));
    }

    #[test]
    fn legacy_texts_are_printed_as_they_are(text in text()) {
        let vicuna = ConversationTemplate::named("vicuna_v1.1").unwrap().with_bos("<s>");
        let messages = vec![json!({"role": "system", "content": ""}), json!({"role": "user", "content": text})];
        let prompt = vicuna.render(&TemplateInput { messages, ..TemplateInput::default() }).unwrap();
        prop_assert_eq!(prompt, format!("<s>USER: {text} ASSISTANT:"));
    }
}
