//! What holds for any text and any reply.

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::Prompt;
use alloquy_core::{Content, Message, Preface, Role};
use alloquy_testing::{ByteTokenizer, ReadReply};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{self, Conversation};

/// Text that is full of control tokens, whole, cut in two and next to private-use characters.
pub(crate) fn hostile_text(family: &'static str) -> impl Strategy<Value = String> {
    let specials: Vec<_> = support::specials(family).into_iter().map(|special| special.text).collect();
    let piece = prop_oneof![
        proptest::sample::select(specials.clone()),
        (proptest::sample::select(specials), 1..3_usize)
            .prop_map(|(text, cut)| text[..cut.min(text.len())].to_owned()),
        "[a-z <>|/_\\n\\PC]{0,4}",
        proptest::sample::select(vec![
            "\u{10FFFD}",
            "\u{10FFFC}",
            "\\U0010fffd",
            "\\udbff\\udffd",
            "im_end|>",
            "\n\n"
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// A conversation in which everybody says `texts`.
pub(crate) fn conversation(texts: &[String; 4]) -> Conversation {
    let [system, user, answer, result] = texts;
    let call = ToolCall::new("call_0", "weather", json!({"city": user}));
    let parts = vec![
        Content::Thinking(system.clone()),
        Content::Text(answer.clone()),
        Content::ToolCall(call.clone()),
    ];
    let path = vec![
        Message::user(user.as_str()),
        Message::new(Role::Assistant, parts),
        Message::tool(vec![ToolResult::ok(&call, result.as_str())]),
        Message::user(system.as_str()),
    ];
    let mut tool = support::tool("weather");
    tool.description.clone_from(result);
    Conversation { preface: Preface::system(system.as_str()).tool(tool), path, ..Conversation::default() }
}

/// The control tokens of a conversation's prompt, and the prompt's text.
pub(crate) fn prompt(family: &str, conversation: &Conversation) -> (Vec<u32>, String) {
    let processor = support::processor(family);
    let source = conversation.source();
    let rendered = support::render(family, &processor.template_input(source).unwrap());
    let parts = processor.prompt_parts(&rendered, source).unwrap();
    let specials = support::specials(family);
    let tokenizer = ByteTokenizer::new(specials.iter().map(|special| special.text.as_str()));
    let prompt = Prompt::lower(&parts, &tokenizer).unwrap();
    (prompt.tokens().flatten().filter(|token| *token > 255).collect(), support::text_of(&parts))
}

/// The prompt's text as it is when nothing is protected.
pub(crate) fn unprotected(family: &str, conversation: &Conversation) -> String {
    let processor = alloquy_processors::named(family, &ModelInfo::default()).unwrap();
    support::render(family, &processor.template_input(conversation.source()).unwrap())
}

pub(crate) fn texts(family: &'static str) -> impl Strategy<Value = [String; 4]> {
    [(); 4].map(|()| hostile_text(family))
}

fn check(family: &str, texts: &[String; 4]) -> Result<(), TestCaseError> {
    let conversation = conversation(texts);
    let (_, text) = prompt(family, &conversation);
    prop_assert_eq!(text, unprotected(family, &conversation));

    // Tags of the model's own stay control tokens in its replies, so here it writes none.
    let [system, user, answer, result] = texts.clone();
    let hostile = self::conversation(&[system, user, answer.replace('<', ""), result]);
    let harmless = self::conversation(&[(); 4].map(|()| "x".to_owned()));
    prop_assert_eq!(prompt(family, &hostile).0, prompt(family, &harmless).0);
    Ok(())
}

proptest! {
    #[test]
    fn nobody_writes_control_tokens_to_qwen3(texts in texts("qwen3")) {
        check("qwen3", &texts)?;
    }

    #[test]
    fn nobody_writes_control_tokens_to_gemma3(texts in texts("gemma3")) {
        check("gemma3", &texts)?;
    }

    #[test]
    fn nobody_writes_control_tokens_to_vicuna(texts in texts("vicuna")) {
        check("vicuna", &texts)?;
    }

    #[test]
    fn the_model_writes_no_turns(texts in proptest::collection::vec(hostile_text("qwen3"), 2)) {
        let said = Message::new(Role::Assistant, vec![Content::Thinking(texts[0].clone()), Content::Text(texts[1].clone())]);
        let conversation = Conversation { path: vec![said], ..Conversation::default() };
        let turns = |tokens: Vec<u32>| tokens.into_iter().filter(|token| *token < 256 + 3).count();
        // The header and the end of its message, and the header of the answer.
        prop_assert_eq!(turns(prompt("qwen3", &conversation).0), 3);
    }

    #[test]
    fn any_reply_reads_alike_in_any_pieces((pieces, tools, open) in reply()) {
        let rendered = if open { "<|im_start|>assistant\n<think>\n" } else { "" };
        let mut preface = Preface::default();
        preface.tools.extend(tools.then(|| support::tool("weather")));
        let conversation = Conversation { preface, ..Conversation::default() };
        let whole = read(rendered, &conversation, &[pieces.concat()]);
        let in_pieces = read(rendered, &conversation, &pieces);
        prop_assert_eq!(&in_pieces.joined, &whole.message.parts);
        prop_assert_eq!(&in_pieces, &whole);
    }

    #[test]
    fn a_reply_without_markers_is_its_text(reply in "[^<]*") {
        let read = read("", &Conversation::default(), std::slice::from_ref(&reply));
        prop_assert_eq!(read.message.text(), reply);
    }
}

/// A reply in pieces, whether tools are offered, and whether the prompt has opened a thinking block.
fn reply() -> impl Strategy<Value = (Vec<String>, bool, bool)> {
    const FRAGMENTS: &[&str] = &[
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "\n",
        "\n\n",
        "<",
        "<thi",
        "nk>",
        "</",
        "tool_",
        "call>",
        "{\"name\": \"a\", \"arguments\": {}}",
        "{\"name\": \"",
        "b\"}",
        "\"",
        "\\",
        "é",
        "Hello",
        " ",
    ];
    let piece = proptest::collection::vec(proptest::sample::select(FRAGMENTS), 0..3);
    let pieces = proptest::collection::vec(piece.prop_map(|fragments| fragments.concat()), 0..12);
    (pieces, any::<bool>(), any::<bool>())
}

fn read(rendered: &str, conversation: &Conversation, pieces: &[String]) -> ReadReply {
    let parser = support::processor("qwen3").reply_parser(rendered, conversation.source());
    ReadReply::new(parser, pieces.iter().map(String::as_str))
}
