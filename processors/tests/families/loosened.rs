//! What a loosened policy lets through, and nothing beside it, for any text.

use alloquy_core::{Degradation, InjectionPolicy, Message, ProcessorArguments, TextSource};
use proptest::prelude::*;

use crate::properties::{conversation, hostile_text, prompt, texts, unprotected};
use crate::support::{self, Conversation};

/// The conversation with a policy in its preface.
fn with_policy(mut conversation: Conversation, policy: InjectionPolicy) -> Conversation {
    conversation.preface.arguments = ProcessorArguments::default().injection(policy);
    conversation
}

/// How many control tokens are told of.
fn told(family: &str, conversation: &Conversation) -> usize {
    let processor = support::processor(family);
    let rendered = support::render(family, &processor.template_input(conversation.source()).unwrap());
    let told = processor.degradations(&rendered, conversation.source());
    let times = told.iter().map(|told| match told {
        Degradation::ControlTokenLetThrough { times, .. } => *times,
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
        prop_assert_eq!(tokens.len() - of_template.len(), told("qwen3", &hostile));
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
        prop_assert_eq!(told("qwen3", &hostile), told("qwen3", &alone));
    }

    #[test]
    fn an_unprotected_prompt_is_what_the_template_prints(texts in texts("gemma3")) {
        let hostile = with_policy(conversation(&texts), InjectionPolicy::unprotected());
        let source = hostile.source();
        let processor = support::processor("gemma3");
        let rendered = support::render("gemma3", &processor.template_input(source).unwrap());
        prop_assert_eq!(&rendered, &unprotected("gemma3", &hostile));
        let parts = processor.prompt_parts(&rendered, source).unwrap();
        prop_assert_eq!(parts, [alloquy_core::PromptPart::Text(rendered)]);
    }
}
