//! Texts that already contain the characters that a processor inserts.

use std::collections::BTreeSet;

use alloquy_core::processor::{DataProcessor, ProcessorInput, PromptPart};
use alloquy_core::template::PromptEnd;
use alloquy_core::{Preface, Role, ToolSpec};
use serde_json::{Value, json};

use super::prompts::{each_speaker, input, parts, render, text_of};

/// The number of rounds in which a processor may choose further characters.
const ROUNDS: usize = 3;

/// A text that already contains the characters with which a processor marks control tokens stays text, unchanged.
///
/// The law finds these characters in the input of the template, whichever a family has chosen. Where a family chooses another
/// character because a text has the first, the next text has both.
///
/// # Panics
/// When the law is broken.
pub fn what_a_processor_adds_is_no_way_in(processor: &dyn DataProcessor, special: &str) {
    let mut known = added_to(processor, special, &format!("a {special} b"));
    known.extend(added_to_tools(processor, special));
    let mut fresh = known.clone();
    for _ in 0..ROUNDS {
        let mut found = BTreeSet::new();
        for text in texts_with(&fresh, &known, special) {
            check_texts(processor, special, &text, &known);
            check_tools(processor, special, &text, &known);
            found.extend(added_to(processor, special, &text));
        }
        fresh = found.difference(&known).copied().collect();
        if fresh.is_empty() {
            return;
        }
        known.extend(&fresh);
    }
}

/// Returns the characters that a template prints for a text and that are not in the text.
fn added_to(processor: &dyn DataProcessor, special: &str, text: &str) -> BTreeSet<char> {
    let mut added = BTreeSet::new();
    each_speaker(text, |source, role| {
        let printed = render(&input(processor, source), |text| text);
        added.append(&mut without(&printed, &format!("[{role}]\n{text}{special}")));
    });
    added
}

fn added_to_tools(processor: &dyn DataProcessor, special: &str) -> BTreeSet<char> {
    let preface = preface(special);
    let source = ProcessorInput::new(&preface, &[], PromptEnd::Closed);
    let tools = Value::from(input(processor, source).tools.unwrap_or_default()).to_string();
    let plain = preface_words(&preface);
    without(&tools, &format!("{plain}{special}\"\\{{}}[]:,typefunction name description parameters"))
}

fn preface_words(preface: &Preface) -> String {
    let tools = preface.tools.iter();
    tools.map(|tool| format!("{}{}{}", tool.name, tool.description, tool.parameters)).collect()
}

fn preface(special: &str) -> Preface {
    let parameters = json!({"properties": {"a": {"description": special}}});
    Preface::default().tool(ToolSpec::new("tool", format!("Runs {special}"), parameters))
}

fn without(printed: &str, known: &str) -> BTreeSet<char> {
    let known: BTreeSet<_> = known.chars().collect();
    printed.chars().filter(|symbol| !known.contains(symbol)).collect()
}

/// Returns texts with the control token and marking characters, in every order that a family may use itself.
fn texts_with(fresh: &BTreeSet<char>, known: &BTreeSet<char>, special: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for one in fresh {
        for two in known {
            texts.extend([
                format!("x{one}{special}{two}y"),
                format!("x{two}{special}{one}y"),
                format!("x{one}{two}{special}y"),
                format!("x{special}{one}{two}y"),
                format!("{one}{special}{two}{special}"),
            ]);
        }
        for border in special.char_indices().map(|(border, _)| border).chain([special.len()]) {
            let (left, right) = special.split_at(border);
            texts.push(format!("x{left}{one}{right} {special}"));
            texts.push(format!("{special}{left}{one}{one}{right}"));
        }
        let between: String = special.chars().flat_map(|symbol| [symbol, *one]).collect();
        texts.push(format!("x{one}{between} {special}"));
        texts.push(format!("{one}x"));
        texts.push(format!("{one}x{special}"));
        texts.push(format!("{one}{special}"));
        texts.push(format!("{special}{one}"));
        texts.push(format!("x\\u{:04x}{special}\\U{:08x}{special}", u32::from(*one), u32::from(*one)));
    }
    texts
}

fn check_texts(processor: &dyn DataProcessor, special: &str, text: &str, marks: &BTreeSet<char>) {
    each_speaker(text, |source, role| {
        let rendered = render(&input(processor, source), |text| text);
        let parts = parts(processor, &rendered, source);
        check(processor, special, text, (role, &parts), marks);
        let joined = text_of(&parts);
        let plain = format!("[{role}]{text}\n");
        assert_eq!(
            joined,
            plain,
            "{:?} inserts {} into texts, and changes {text:?} of role {role}, which already has some",
            processor.name(),
            named(marks)
        );
    });
}

/// Checks the texts of tools: they are not trusted either.
fn check_tools(processor: &dyn DataProcessor, special: &str, text: &str, marks: &BTreeSet<char>) {
    let preface = preface(text);
    let source = ProcessorInput::new(&preface, &[], PromptEnd::Closed);
    let printed = Value::from(input(processor, source).tools.unwrap_or_default()).to_string();
    let parts = parts(processor, &printed, source);
    check(processor, special, text, (Role::Tool, &parts), marks);
}

fn check(
    processor: &dyn DataProcessor,
    special: &str,
    text: &str,
    (role, parts): (Role, &[PromptPart]),
    marks: &BTreeSet<char>,
) {
    for part in parts {
        if let PromptPart::Text(found) = part {
            assert!(
                !found.contains(special),
                "{:?} marks control tokens in texts with {}, so a text with these characters passes a control token: \
                 {special:?} of {text:?} of role {role} became one in {parts:?}; choose a character that the conversation \
                 does not have",
                processor.name(),
                named(marks)
            );
        }
    }
}

fn named(marks: &BTreeSet<char>) -> String {
    let names: Vec<_> = marks.iter().map(|mark| format!("U+{:04X}", u32::from(*mark))).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::what_a_processor_adds_is_no_way_in;
    use crate::doubles::TaggedProcessor;
    use alloquy_core::Result;
    use alloquy_core::processor::{DataProcessor, ProcessorInput, PromptPart, ReplyParser};
    use alloquy_core::template::TemplateInput;

    const TOKEN: &str = "[INST]";

    /// Families that each mark tokens in another way, with a character that never changes.
    #[derive(Debug)]
    enum Fixed {
        /// One character before the token and the same after it.
        Between,
        /// A character before the token, unless the text contains it already.
        Once,
        /// A character after the first letter of the token, removed from the whole text later.
        Inside,
    }

    const MARK: char = '\u{F8F0}';

    impl Fixed {
        fn marked(&self, text: &str) -> String {
            match self {
                Self::Between => text.replace(TOKEN, &format!("{MARK}{TOKEN}{MARK}")),
                Self::Once if text.contains(MARK) => text.to_owned(),
                Self::Once => text.replace(TOKEN, &format!("{MARK}{TOKEN}")),
                Self::Inside => text.replace(TOKEN, &format!("[{MARK}INST]")),
            }
        }

        fn cut(&self, rendered: &str) -> Vec<PromptPart> {
            let literal = match self {
                Self::Between => {
                    let pieces = rendered.split(MARK).enumerate();
                    return pieces.map(|(index, piece)| part(piece, index % 2 == 1)).collect();
                }
                Self::Once => format!("{MARK}{TOKEN}"),
                Self::Inside => format!("[{MARK}INST]"),
            };
            let mut parts = Vec::new();
            for (index, piece) in rendered.split(&literal).enumerate() {
                parts.extend((index > 0).then(|| part(TOKEN, true)));
                parts.push(part(&piece.replace(MARK, ""), false));
            }
            parts
        }
    }

    fn part(text: &str, is_literal: bool) -> PromptPart {
        if is_literal { PromptPart::Literal(text.to_owned()) } else { PromptPart::Text(text.to_owned()) }
    }

    impl DataProcessor for Fixed {
        fn name(&self) -> &str {
            "fixed"
        }

        fn template_input(&self, source: ProcessorInput<'_>) -> Result<TemplateInput> {
            let mut input = TaggedProcessor.template_input(source)?;
            for message in &mut input.messages {
                let marked = message["content"].as_str().map(|text| self.marked(text));
                message["content"] = marked.into();
            }
            Ok(input)
        }

        fn prompt_parts(&self, rendered: &str, _: ProcessorInput<'_>) -> Result<Vec<PromptPart>> {
            Ok(self.cut(rendered))
        }

        fn reply_parser(&self, rendered: &str, source: ProcessorInput<'_>) -> Box<dyn ReplyParser> {
            TaggedProcessor.reply_parser(rendered, source)
        }

        fn stop_strings(&self) -> Vec<String> {
            Vec::new()
        }
    }

    #[test]
    #[should_panic(
        expected = "marks control tokens in texts with U+F8F0, so a text with these characters passes a control token"
    )]
    fn a_mark_around_tokens_that_users_can_write_is_caught() {
        what_a_processor_adds_is_no_way_in(&Fixed::Between, TOKEN);
    }

    #[test]
    #[should_panic(expected = "U+F8F0")]
    fn a_mark_that_is_left_out_of_texts_that_have_it_is_caught() {
        what_a_processor_adds_is_no_way_in(&Fixed::Once, TOKEN);
    }

    #[test]
    #[should_panic(expected = "U+F8F0")]
    fn a_mark_that_is_taken_out_of_texts_that_had_it_is_caught() {
        what_a_processor_adds_is_no_way_in(&Fixed::Inside, TOKEN);
    }
}
