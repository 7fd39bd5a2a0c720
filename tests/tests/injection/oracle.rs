//! Judges one conversation by its benign twin. Knows neither templates nor families.
//!
//! The twin has harmless letters wherever the conversation has text of users, systems, tools or documents, so each
//! of its control tokens is the template's. The hostile prompt must have the same ones in the same order.

use alloquy_core::ErrorKind;
use alloquy_core::processor::PromptPart;
use alloquy_core::tokenizer::{Tokenizer, TokenizerInput, decode};

use crate::conversation::Conversation;
use crate::draws::Draws;
use crate::setting::{Prompted, Setting};
use crate::writer::{Voice, Writer};

/// What a conversation was found to break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Breach {
    /// Text became a control token, or made the template print one.
    Control,
    /// The parts do not join to what the template prints of the conversation without marks.
    Text,
    /// A literal part is encoded to something that is not its text, or to a control token.
    Literal,
    /// A conversation that spells no control token was touched.
    Untouched,
    /// The processor or the tokenizer refuses what the template took.
    Refused,
}

/// What came of one conversation.
#[derive(Debug, Default)]
pub(crate) struct ApprovalDecision {
    pub(crate) messages: usize,
    pub(crate) renders: usize,
    /// The template refuses the conversation, hostile or not.
    pub(crate) refused: usize,
    /// The twin's ids were compared with those of `tokenizers`.
    pub(crate) compared: usize,
    /// Control tokens that the twin lacks.
    pub(crate) control: usize,
    pub(crate) breaches: Vec<(Breach, String)>,
    /// Everything that the conversation says, where there is a breach to explain.
    pub(crate) said: String,
}

impl ApprovalDecision {
    fn breach(&mut self, breach: Breach, detail: String) {
        self.breaches.push((breach, detail));
    }
}

/// Writes a conversation.
pub(crate) type Write = fn(&mut Writer<'_>) -> Conversation;

/// Writes the conversation that `draws` determine, and its twin, and compares.
pub(crate) fn judge(setting: &Setting, draws: &Draws, write: Write) -> ApprovalDecision {
    let hostile = written(setting, draws, write, Voice::Hostile);
    let twin = written(setting, draws, write, Voice::Benign { spoken: setting.spoken });
    let mut verdict =
        ApprovalDecision { messages: hostile.messages(), renders: 3, ..ApprovalDecision::default() };
    let prompted = match setting.prompt(hostile.source()) {
        Ok(prompted) => Some(prompted),
        Err(error) => {
            verdict.refused = 1;
            if error.kind() != ErrorKind::Template {
                verdict.breach(Breach::Refused, format!("{error:#}"));
            }
            None
        }
    };
    if let Some(prompted) = &prompted {
        compare_text(setting, &hostile, prompted, &mut verdict);
        check_literals(setting, prompted, &mut verdict);
    }
    match setting.prompt(twin.source()) {
        Ok(benign) => {
            check_untouched(setting, &twin, &benign, &mut verdict);
            if let Some(prompted) = &prompted {
                compare_control(setting, prompted, &benign, &mut verdict);
            }
        }
        // Refused alike, or the template asks for something of the text that the twin lacks.
        Err(_) => verdict.refused = 1,
    }
    if !verdict.breaches.is_empty() {
        verdict.said = hostile.said();
    }
    verdict
}

fn written(setting: &Setting, draws: &Draws, write: Write, voice: Voice<'_>) -> Conversation {
    write(&mut Writer::new(draws.clone(), &setting.tokens, voice))
}

fn compare_control(setting: &Setting, hostile: &Prompted, benign: &Prompted, verdict: &mut ApprovalDecision) {
    let found = setting.control(&hostile.tokens);
    let wanted = setting.control(&benign.tokens);
    if found == wanted {
        return;
    }
    verdict.control = surplus(&found, &wanted);
    let same = found.iter().zip(&wanted).take_while(|(found, wanted)| found == wanted).count();
    let around =
        |tokens: &[&str]| tokens.iter().skip(same.saturating_sub(2)).take(6).copied().collect::<String>();
    verdict.breach(Breach::Control, format!("…{} instead of …{}", around(&found), around(&wanted)));
}

/// How many of `found` are not in `wanted`.
fn surplus(found: &[&str], wanted: &[&str]) -> usize {
    let mut wanted = wanted.to_vec();
    let missing = |token: &&&str| match wanted.iter().position(|other| other == *token) {
        Some(place) => {
            wanted.swap_remove(place);
            false
        }
        None => true,
    };
    found.iter().filter(missing).count()
}

fn compare_text(
    setting: &Setting,
    hostile: &Conversation,
    prompted: &Prompted,
    verdict: &mut ApprovalDecision,
) {
    let joined: String = prompted.parts.iter().map(text).collect();
    match setting.unmarked(hostile.source()) {
        Ok(unmarked) if unmarked == joined => {}
        Ok(unmarked) => {
            let same = joined.chars().zip(unmarked.chars()).take_while(|(left, right)| left == right).count();
            let around = |text: &str| text.chars().skip(same.saturating_sub(20)).take(60).collect::<String>();
            verdict.breach(Breach::Text, format!("{:?} instead of {:?}", around(&joined), around(&unmarked)));
        }
        Err(error) => verdict.breach(Breach::Text, format!("without marks: {error:#}")),
    }
}

fn check_literals(setting: &Setting, prompted: &Prompted, verdict: &mut ApprovalDecision) {
    for part in &prompted.parts {
        let PromptPart::Literal(literal) = part else { continue };
        let tokens =
            setting.tokenizer.encode(&[TokenizerInput::Text("a"), TokenizerInput::Literal(literal)]).unwrap();
        let decoded = decode(&setting.tokenizer, &tokens).unwrap();
        let controls = tokens.iter().any(|token| setting.is_control(*token));
        if controls || decoded.strip_prefix('a') != Some(&setting.read_back(literal)) {
            verdict.breach(Breach::Literal, format!("{literal:?} reads {decoded:?}, {tokens:?}"));
        }
    }
}

fn check_untouched(
    setting: &Setting,
    twin: &Conversation,
    benign: &Prompted,
    verdict: &mut ApprovalDecision,
) {
    let rendered = setting.unmarked(twin.source()).unwrap_or_default();
    verdict.compared = 1;
    verdict.renders += 1;
    let untouched = match benign.parts.as_slice() {
        [PromptPart::Text(text)] => *text == rendered,
        [] => rendered.is_empty(),
        _ => false,
    };
    if !untouched {
        verdict.breach(Breach::Untouched, format!("{:?} of {rendered:?}", benign.parts));
    } else if benign.tokens != setting.reference(&rendered) {
        verdict.breach(Breach::Untouched, format!("other ids of {rendered:?}"));
    }
}

fn text(part: &PromptPart) -> &str {
    match part {
        PromptPart::Text(text) | PromptPart::Literal(text) => text,
        other => panic!("{other:?}"),
    }
}
