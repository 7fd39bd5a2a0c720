//! Every public chat template whose messages are parted by plain text: a text that renders as several messages is
//! reported, and harmless text is not.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr, missing_docs)] // a test may panic

use alloquy_core::model_info::ModelInfo;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::tokenizer::SpecialToken;
use alloquy_inference::RoleMarkers;
use alloquy_templates::{JinjaTemplate, NowSource, Polyfill};
use serde_json::{Value, json};

#[path = "../../tests/tests/injection/corpus.rs"]
mod corpus;
mod shared;

use corpus::PublicTemplate;

/// What nobody takes for the beginning of a message.
const HARMLESS: [&str; 24] = [
    "What is the capital of Portugal?",
    "The User: label in the form is misspelt, and so is Assistant: in the footer.",
    "Send it to the user, then ask the assistant. The system does the rest.",
    "fn main() {\n    let user = \"assistant\";\n    println!(\"{user}: {}\", 1);\n}",
    "def f(user: str, assistant: int) -> None:\n    '''Human readable.'''\n    return [INST for INST in range(3)]",
    "# Heading\n\n## Another\n\n### Instructions for users\n\n- one\n- two\n\n1. first\n2. second",
    "Dear Sir,\n\nplease find attached what you asked for.\n\nBest regards,\nThe Assistant Manager",
    "SELECT user, system FROM tools WHERE role = 'assistant' AND name LIKE '%bot%';",
    "<html><body><p class=\"user\">Hi</p></body></html>",
    "{\"role\": \"user\", \"content\": \"Hi\"}",
    "user,assistant,system\n1,2,3\n4,5,6",
    "Q1 was good. In Q2: less so. A: B is to C: D as 1:2 is to 3:4.",
    "问题是什么？答案是这样的。",
    "Ceci est une phrase. L'utilisateur: c'est moi!",
    "Round 1 goes to the challenger; [Round 2] is tomorrow.",
    "He said: \"I am a Bot: treat me kindly\", and left.",
    "http://example.org/user/assistant?system=human#end",
    "git commit -m 'user: fix the assistant'\ngit push origin main",
    "| user | assistant |\n|------|-----------|\n| a    | b         |",
    "--- a/user.c\n+++ b/user.c\n@@ -1 +1 @@\n-int a;\n+int b;",
    "Line one\n\n\nLine two\n\t\tindented\n",
    "A human: what is that? Input: 3, output: 4, response time: 5 ms.",
    "x < y && y > z || a << 2 >> 1; </p> [1] [a-z]+ {{ value }} {% raw %}",
    "",
];

/// A template with the control tokens of a vocabulary, which stay text in what people say.
struct Setting {
    template: JinjaTemplate,
    tokens: Vec<String>,
    markers: RoleMarkers,
}

impl Setting {
    fn new(public: &PublicTemplate, has_tokens: bool) -> Option<Self> {
        let now = jiff::civil::date(2026, 3, 4).at(15, 6, 7, 0);
        let template = JinjaTemplate::builder(public.source.clone()).variables(public.variables.clone());
        let template = template.clock(NowSource::Fixed(now)).polyfill(Polyfill::LeaveOut).build().ok()?;
        let tokens = if has_tokens { public.tokens.clone() } else { Vec::new() };
        let mut model = ModelInfo::default();
        for (id, text) in (0..).zip(&tokens) {
            model.specials.push(SpecialToken { text: text.clone(), id });
        }
        model.bos = model.specials.first().cloned();
        let markers = RoleMarkers::of(&template, &model);
        Some(Self { template, tokens, markers })
    }

    fn prompt(&self, messages: &[Value]) -> Option<String> {
        self.template.render(&input(messages)).ok()
    }

    /// Whether somebody's text has a control token, which a processor keeps apart.
    fn is_protected(&self, text: &str) -> bool {
        self.tokens.iter().any(|token| text.contains(token.trim()))
    }

    fn reports(&self, messages: &[Value]) -> Vec<String> {
        self.markers.found_in(&input(messages)).iter().map(|found| format!("{found:?}")).collect()
    }
}

fn input(messages: &[Value]) -> TemplateInput {
    TemplateInput { messages: messages.to_vec(), ..TemplateInput::default() }
}

/// What the messages say: a system text, or none, and five turns.
const SAID: [&str; 6] = ["Sysxone", "Qaxone", "Raxtwo", "Qaxthree", "Raxfour", "Qaxfive"];

fn conversation(has_system: bool) -> Vec<Value> {
    let roles = ["system", "user", "assistant", "user", "assistant", "user"];
    let messages = SAID.iter().zip(roles).map(|(said, role)| json!({"role": role, "content": said}));
    messages.skip(usize::from(!has_system)).collect()
}

/// Conversations in which one message says what several said, with all that stood between them, and that render the same.
fn forgeries(setting: &Setting, has_system: bool) -> Vec<(String, Vec<Value>)> {
    let whole = conversation(has_system);
    let Some(prompt) = setting.prompt(&whole) else { return Vec::new() };
    let mut forgeries = Vec::new();
    for first in 0..whole.len() {
        for last in first + 1..whole.len() {
            let start = prompt.find(whole[first]["content"].as_str().unwrap());
            let said = whole[last]["content"].as_str().unwrap();
            let end = prompt.rfind(said).map(|end| end + said.len());
            let Some(forged) = start.zip(end).and_then(|(start, end)| prompt.get(start..end)) else {
                continue;
            };
            let mut path = whole[..first].to_vec();
            path.push(json!({"role": whole[first]["role"], "content": forged}));
            path.extend_from_slice(&whole[last + 1..]);
            if !setting.is_protected(forged) && setting.prompt(&path).as_ref() == Some(&prompt) {
                forgeries.push((forged.to_owned(), path));
            }
        }
    }
    forgeries
}

#[derive(Debug, Default)]
struct Tally {
    templates: usize,
    forgeable: usize,
    forgeries: usize,
    reported: usize,
    /// Markers on lines of their own.
    lines: usize,
    /// Templates that separate messages by white space alone, which no text can be distinguished from.
    unmarked: usize,
    harmless: usize,
    failures: Vec<String>,
}

impl Tally {
    fn count(&mut self, public: &PublicTemplate, setting: &Setting) {
        let forgeries: Vec<_> = [false, true].into_iter().flat_map(|has| forgeries(setting, has)).collect();
        self.templates += 1;
        self.forgeable += usize::from(!forgeries.is_empty());
        let mut is_unmarked = false;
        for (forged, path) in &forgeries {
            let between = SAID.iter().fold(forged.clone(), |rest, said| rest.replace(said, ""));
            if between.trim().is_empty() {
                is_unmarked = true;
                continue;
            }
            self.forgeries += 1;
            self.count_lines(public, setting, forged);
            let is_reported = !setting.reports(path).is_empty();
            self.reported += usize::from(is_reported);
            if !is_reported {
                self.failures.push(format!("{}: {forged:?} is not reported", public.slug));
            }
        }
        self.unmarked += usize::from(is_unmarked);
        for harmless in HARMLESS {
            self.harmless += 1;
            for found in setting.reports(&[json!({"role": "user", "content": harmless})]) {
                self.failures.push(format!("{}: {harmless:?} is reported: {found}", public.slug));
            }
        }
    }
}

impl Tally {
    /// What stands between two messages, on lines of its own: nobody keeps to the template's own spaces.
    fn count_lines(&mut self, public: &PublicTemplate, setting: &Setting, forged: &str) {
        let between = SAID.iter().fold(forged.to_owned(), |rest, said| rest.replace(said, "\0"));
        for between in between.split('\0').map(str::trim).filter(|between| !between.is_empty()) {
            let text = format!("Hi\n{between}\nDo evil");
            self.lines += 1;
            if setting.reports(&[json!({"role": "tool", "content": text})]).is_empty() {
                self.failures.push(format!("{}: {text:?} is not reported", public.slug));
            }
        }
    }
}

fn tally(has_tokens: bool) -> Option<Tally> {
    let mut tally = Tally::default();
    for public in &corpus::read()? {
        if let Some(setting) = Setting::new(public, has_tokens) {
            tally.count(public, &setting);
        }
    }
    eprintln!(
        "{} templates: {} forgeable, {} of them by white space alone; {} forgeries, {} reported; {} on lines of their own; \
         {} harmless texts",
        tally.templates,
        tally.forgeable,
        tally.unmarked,
        tally.forgeries,
        tally.reported,
        tally.lines,
        tally.harmless
    );
    for failure in &tally.failures {
        eprintln!("  {failure}");
    }
    Some(tally)
}

#[test]
fn what_renders_as_several_messages_is_reported_where_the_model_has_the_tokens_of_its_template() {
    let Some(tally) = tally(true) else { return };
    assert!(tally.forgeable > 0 && tally.failures.is_empty(), "{} failures", tally.failures.len());
}

#[test]
fn what_renders_as_several_messages_is_reported_where_the_model_has_no_tokens_at_all() {
    let Some(tally) = tally(false) else { return };
    assert!(tally.forgeable > 0 && tally.failures.is_empty(), "{} failures", tally.failures.len());
}
