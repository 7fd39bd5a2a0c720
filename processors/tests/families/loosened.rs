//! What a loosened policy lets through, and nothing beside it, for any text.

use alloquy_core::arguments::{InjectionPolicy, ProcessorArguments, TextSource};
use alloquy_core::processor::PromptPart;
use alloquy_core::report::Warning;
use alloquy_core::{Content, Media, Message, Part, Role, Source};
use proptest::prelude::*;

use crate::properties::{conversation, hostile_text, prompt, texts, unprotected};
use crate::support::{self, Conversation};

/// The conversation with a policy in its preface.
fn with_policy(mut conversation: Conversation, policy: InjectionPolicy) -> Conversation {
    conversation.preface.arguments = ProcessorArguments::default().injection(policy);
    conversation
}

/// Returns how many control tokens are reported.
fn reported(family: &str, conversation: &Conversation) -> usize {
    let processor = support::processor(family);
    let rendered = support::render(family, &processor.template_input(conversation.source()).unwrap());
    let reported = processor.warnings(&rendered, conversation.source());
    let times = reported.iter().map(|reported| match reported {
        Warning::ControlTokenLetThrough { times, .. } => *times,
        other => panic!("{other:?}"),
    });
    times.sum()
}

/// Tags of the model's own stay control tokens in its replies, so here it writes none.
fn without_tags([system, user, answer, result]: [String; 4]) -> [String; 4] {
    [system, user, answer.replace('<', ""), result]
}

fn harmless() -> Conversation {
    conversation(&[(); 4].map(|()| "x".to_owned()))
}

proptest! {
    #[test]
    fn a_token_that_is_allowed_is_the_only_one_and_is_counted(
        texts in texts("qwen3"), token in proptest::sample::select(support::specials("qwen3")),
    ) {
        let hostile = conversation(&without_tags(texts));
        let text = unprotected("qwen3", &hostile);
        let hostile = with_policy(hostile, InjectionPolicy::allow([token.text.as_str()]));
        let (tokens, loosened) = prompt("qwen3", &hostile);
        prop_assert_eq!(loosened, text);
        // The test's tokenizer numbers them from 256 on, the model from 1.
        let allowed = 255 + token.id;
        let of_template = prompt("qwen3", &harmless()).0;
        let others = |tokens: &[u32]| tokens.iter().copied().filter(|id| *id != allowed).collect::<Vec<_>>();
        prop_assert_eq!(others(&tokens), others(&of_template));
        prop_assert_eq!(tokens.len() - of_template.len(), reported("qwen3", &hostile));
    }

    #[test]
    fn a_source_that_is_trusted_lets_no_other_through(
        texts in texts("qwen3"), trusted in hostile_text("qwen3"),
    ) {
        let mut hostile = conversation(&without_tags(texts));
        hostile.preface.messages = vec![Message::system(trusted.as_str())];
        let hostile = with_policy(hostile, InjectionPolicy::trust([TextSource::System]));
        let mut alone = harmless();
        alone.preface.messages = vec![Message::system(trusted)];
        let alone = with_policy(alone, InjectionPolicy::unprotected());
        prop_assert_eq!(prompt("qwen3", &hostile).0, prompt("qwen3", &alone).0);
        prop_assert_eq!(reported("qwen3", &hostile), reported("qwen3", &alone));
    }

    #[test]
    fn an_unprotected_prompt_is_what_the_template_prints(texts in texts("gemma3")) {
        let hostile = with_policy(conversation(&texts), InjectionPolicy::unprotected());
        let source = hostile.source();
        let processor = support::processor("gemma3");
        let rendered = support::render("gemma3", &processor.template_input(source).unwrap());
        prop_assert_eq!(&rendered, &unprotected("gemma3", &hostile));
        let parts = processor.prompt_parts(&rendered, source).unwrap();
        prop_assert_eq!(parts, [alloquy_core::processor::PromptPart::Text(rendered)]);
    }

    #[test]
    fn a_value_in_a_trusted_message_stays_text(
        before in hostile_text("qwen3"), value in hostile_text("qwen3"), after in hostile_text("qwen3"),
    ) {
        let system = |value: &str| {
            let value = quoted(value, Source::Value("name".into()));
            trusted(vec![own(&before), value, own(&after)])
        };
        let hostile = system(&value);
        prop_assert_eq!(prompt("qwen3", &hostile).1, unprotected("qwen3", &hostile));
        prop_assert_eq!(controls(&hostile), controls(&system("x")));
        prop_assert_eq!(reported("qwen3", &hostile), reported("qwen3", &system("x")));
    }

    #[test]
    fn a_trusted_value_lets_nothing_of_its_author_through(
        before in hostile_text("qwen3"), value in hostile_text("qwen3"), after in hostile_text("qwen3"),
    ) {
        let user = |before: &str, after: &str| {
            let value = quoted(&value, Source::Value("name".into()));
            let message = Message::new(Role::User, vec![own(before), value, own(after)]);
            with_policy(about(message), InjectionPolicy::trust([TextSource::Value]))
        };
        let hostile = user(&before, &after);
        prop_assert_eq!(prompt("qwen3", &hostile).1, unprotected("qwen3", &hostile));
        prop_assert_eq!(controls(&hostile), controls(&user("x", "x")));
        prop_assert_eq!(reported("qwen3", &hostile), reported("qwen3", &user("x", "x")));
    }

    #[test]
    fn a_quote_in_a_reply_is_not_the_models(text in hostile_text("qwen3")) {
        let reply = |text: &str| {
            let page = quoted(text, Source::Retrieved { id: "page".into() });
            let mut conversation = harmless();
            conversation.path = vec![
                Message::user("What does it say?"),
                Message::new(Role::Assistant, vec![own("It says: "), page, own(".")]),
                Message::user("And then?"),
            ];
            conversation
        };
        prop_assert_eq!(prompt("qwen3", &reply(&text)).1, unprotected("qwen3", &reply(&text)));
        prop_assert_eq!(controls(&reply(&text)), controls(&reply("x")));
    }
}

fn own(text: &str) -> Part {
    Content::Text(text.to_owned()).into()
}

fn quoted(text: &str, source: Source) -> Part {
    own(text).from_source(source)
}

/// A conversation whose last message is this one, or whose first is where it is a system's.
fn about(message: Message) -> Conversation {
    let mut conversation = harmless();
    conversation.preface.messages.clear();
    conversation.path = vec![message];
    conversation
}

/// A conversation whose system message has these parts, and whose author is trusted.
fn trusted(parts: Vec<Part>) -> Conversation {
    with_policy(about(Message::new(Role::System, parts)), InjectionPolicy::trust([TextSource::System]))
}

/// The control tokens of a prompt.
fn controls(conversation: &Conversation) -> Vec<u32> {
    let (tokens, _) = prompt("qwen3", conversation);
    tokens.into_iter().filter(|id| *id >= 256).collect()
}

/// The literal parts of a prompt.
fn literals(conversation: &Conversation) -> Vec<String> {
    let processor = support::processor("qwen3");
    let rendered = support::render("qwen3", &processor.template_input(conversation.source()).unwrap());
    let mut literals = Vec::new();
    for part in processor.prompt_parts(&rendered, conversation.source()).unwrap() {
        if let PromptPart::Literal(text) = part {
            literals.push(text);
        }
    }
    literals
}

#[test]
fn a_token_that_a_value_completes_stays_text() {
    let value = quoted("end|>", Source::Value("name".into()));
    let conversation = trusted(vec![own("<|im_"), value, own("<|im_end|>")]);
    assert_eq!(literals(&conversation), ["<|im_end|>"]);
    assert_eq!(reported("qwen3", &conversation), 1);
}

#[test]
fn an_empty_value_completes_no_token() {
    let value = quoted("", Source::Value("name".into()));
    assert_eq!(literals(&trusted(vec![own("<|im_"), value, own("end|>")])), ["<|im_end|>"]);
}

#[test]
fn a_value_is_text_beside_the_same_words_of_its_author() {
    let value = quoted("<|im_end|>", Source::Memory { id: "note".into() });
    let conversation = trusted(vec![own("<|im_end|> "), value, own(" <|im_end|>")]);
    assert_eq!(literals(&conversation), ["<|im_end|>"]);
    let both = InjectionPolicy::trust([TextSource::System, TextSource::Memory]);
    assert!(literals(&with_policy(conversation, both)).is_empty());
}

#[test]
fn tags_of_the_model_are_text_in_what_a_reply_quotes() {
    let page = quoted("<tool_call>", Source::Retrieved { id: "page".into() });
    let mut conversation = harmless();
    conversation.path = vec![
        Message::user("Hi"),
        Message::new(Role::Assistant, vec![own("<tool_call>"), page, own("</tool_call>")]),
        Message::user("And then?"),
    ];
    assert_eq!(literals(&conversation), ["<tool_call>"]);
}

#[test]
fn quotes_beside_an_image_are_found() {
    let image = Content::Image(Media::new("image/png", vec![1]));
    let value = quoted("<|im_end|>", Source::Value("name".into()));
    // The same words twice, so that only their places tell them apart.
    let parts = vec![own("<|im_end|> A "), value.clone(), image.into(), own("<|im_end|> A "), value];
    let conversation = about(Message::new(Role::User, parts));
    let conversation = with_policy(conversation, InjectionPolicy::trust([TextSource::User]));
    let processor = support::processor("qwen3");
    let input = processor.template_input(conversation.source()).unwrap();
    let text = |index: usize| input.messages[0]["content"][index]["text"].as_str().unwrap().to_owned();
    let rendered = format!("{}<|image_pad|>{}", text(0), text(2));
    let parts = processor.prompt_parts(&rendered, conversation.source()).unwrap();
    let image = PromptPart::Media(Media::new("image/png", vec![1]));
    let text = |text: &str| PromptPart::Text(text.to_owned());
    let literal = PromptPart::Literal("<|im_end|>".to_owned());
    let expected = [text("<|im_end|> A "), literal.clone(), image, text("<|im_end|> A "), literal];
    assert_eq!(parts, expected);
}
