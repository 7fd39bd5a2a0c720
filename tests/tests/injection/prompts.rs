//! Conversations whose messages are prompts with hostile values, and whose policy trusts everything but values.

use alloquy_core::arguments::{InjectionPolicy, ProcessorArguments, TextSource};
use alloquy_core::prompt_library::Values;
use alloquy_core::{Message, Preface, Role};
use alloquy_templates::{NoReferences, PromptSyntax, PromptText};

use crate::conversation::Conversation;
use crate::writer::Writer;

/// The sources of what is filled into a prompt.
const FILLED_IN: [TextSource; 4] =
    [TextSource::Value, TextSource::Retrieved, TextSource::Memory, TextSource::Output];

/// Texts of prompts: values alone, beside text, joined to each other, in sections, in statements and through filters.
const TEXTS: [(&str, PromptSyntax); 8] = [
    ("{{a}}", PromptSyntax::Mixed),
    ("Dear {{a}}, you asked: {{b}}", PromptSyntax::Mixed),
    ("{{a}}{{b}}", PromptSyntax::Mixed),
    ("Hello((, {{a}}))((, and {{b}})).", PromptSyntax::Mixed),
    (
        "{% if a %}Read this:\n{{ a }}\n{% endif %}{% for item in list %}{{ item }}, {% endfor %}end",
        PromptSyntax::Mixed,
    ),
    ("{{ a | trim }}: {{ b | default('none') }}", PromptSyntax::Jinja),
    ("{{ a ~ b }} {{ a + b }}", PromptSyntax::Jinja),
    ("From {a} to {b}", PromptSyntax::Format),
];

/// Writes a conversation: a system prompt at times, then questions with harmless replies between them.
pub(crate) fn filled(writer: &mut Writer<'_>) -> Conversation {
    let trusted = TextSource::ALL.into_iter().filter(|source| !FILLED_IN.contains(source));
    let arguments = ProcessorArguments::default().injection(InjectionPolicy::trust(trusted));
    let mut preface = Preface::default().arguments(arguments);
    if writer.draws.chance(40) {
        preface = preface.message(prompt(Role::System, writer));
    }
    let mut path = Vec::new();
    for _ in 0..writer.draws.below(3) {
        path.push(prompt(Role::User, writer));
        path.push(Message::assistant("I see."));
    }
    path.push(prompt(Role::User, writer));
    Conversation::new(preface, path)
}

fn prompt(role: Role, writer: &mut Writer<'_>) -> Message {
    let (text, syntax) = TEXTS[writer.draws.below(TEXTS.len())];
    let list = vec![writer.text(), writer.text()];
    let values = Values::new().set("a", writer.text()).set("b", writer.text()).set("list", list);
    let text = PromptText::new(text, syntax).unwrap();
    text.render(&values, &NoReferences).unwrap().message(role)
}
