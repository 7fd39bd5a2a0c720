//! Recorded replies of every family: what each is read as, and that no cut of one changes it.
//!
//! A file a family, `fixtures/replies/<family>.json`: a list of `{about, reply}`, with `rendered` where the prompt's end
//! matters and `tools` where other tools are offered than `weather` and `add`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use alloquy_core::processor::{DataProcessor, ProcessorInput};
use alloquy_core::template::PromptEnd;
use alloquy_core::{Message, Preface, ToolSpec};
use alloquy_testing::{ReadReply, laws};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support;

/// A recorded reply.
#[derive(Debug)]
pub(crate) struct Recorded {
    about: String,
    pub(crate) reply: String,
    rendered: String,
    preface: Preface,
}

/// The replies of a family.
pub(crate) fn of(family: &str) -> Vec<Recorded> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/replies/{family}.json"));
    let file = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases: Vec<Value> = serde_json::from_str(&file).unwrap();
    cases.iter().map(Recorded::of).collect()
}

impl Recorded {
    pub(crate) fn of(case: &Value) -> Self {
        let text = |key: &str| case.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let offered = case.get("tools").is_none();
        let tools = if offered { tools() } else { Vec::new() };
        let preface = tools.into_iter().fold(Preface::default(), Preface::tool);
        Self { about: text("about"), reply: text("reply"), rendered: text("rendered"), preface }
    }

    /// Reads the reply, or another in its place, in pieces.
    pub(crate) fn read<'a>(
        &self,
        processor: &dyn DataProcessor,
        pieces: impl IntoIterator<Item = &'a str>,
    ) -> ReadReply {
        let path = [Message::user("Hi")];
        let source = ProcessorInput::new(&self.preface, &path, PromptEnd::Generation);
        ReadReply::new(processor.reply_parser(&self.rendered, source), pieces)
    }
}

fn tools() -> Vec<ToolSpec> {
    let parameters = json!({"type": "object", "properties": {
        "a": {"type": "integer"}, "b": {"type": "number"}, "c": {"type": ["integer", "null"]},
        "flag": {"type": "boolean"}, "list": {"type": "array"}, "object": {"type": "object"},
    }});
    let city = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    vec![ToolSpec::new("weather", "Tells the weather", city), ToolSpec::new("add", "Adds", parameters)]
}

#[test]
fn every_recorded_reply_is_read_as_it_was() {
    for family in alloquy_processors::families() {
        let processor = support::processor(family);
        let mut outcome = String::new();
        for recorded in of(family) {
            let ReadReply { arguments, message, .. } = recorded.read(&*processor, [recorded.reply.as_str()]);
            writeln!(outcome, "# {}\n{:?}", recorded.about, recorded.reply).unwrap();
            for (id, (name, text)) in arguments {
                writeln!(outcome, "  {id} {name} {text:?}").unwrap();
            }
            for part in message.parts {
                writeln!(outcome, "  {}", json!(part)).unwrap();
            }
        }
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(family, outcome) });
    }
}

/// A cut inside of a character is none to the parser: whoever turns tokens into text keeps the first bytes back, so cuts
/// of bytes are the cuts before their characters. Here the second cut is near the first or at every sixteenth place; the
/// fuzz test makes every two cuts.
#[test]
fn no_two_cuts_change_a_recorded_reply() {
    let mut total = 0;
    for family in alloquy_processors::families() {
        let processor = support::processor(family);
        for recorded in of(family) {
            two_cuts(&*processor, &recorded);
            total += 1;
        }
    }
    assert!(total >= 400, "only {total} replies are recorded");
}

/// Each of the two cuts anywhere.
pub(crate) fn every_two_cuts(processor: &dyn DataProcessor, recorded: &Recorded) {
    cut_twice(processor, recorded, |_, _| true);
}

fn two_cuts(processor: &dyn DataProcessor, recorded: &Recorded) {
    cut_twice(processor, recorded, |left, right| right <= left + 1 || (right - left) % 16 == 7);
}

/// Cuts a reply twice, where the numbers of the borders are to be tried.
fn cut_twice(processor: &dyn DataProcessor, recorded: &Recorded, is_tried: impl Fn(usize, usize) -> bool) {
    let reply = recorded.reply.as_str();
    let whole = recorded.read(processor, [reply]);
    let borders: Vec<_> = reply.char_indices().map(|(border, _)| border).chain([reply.len()]).collect();
    for (index, &left) in borders.iter().enumerate() {
        let tried = |&(place, _): &(usize, &usize)| is_tried(index, place);
        for (_, &right) in borders.iter().enumerate().skip(index).filter(tried) {
            let pieces = [&reply[..left], &reply[left..right], &reply[right..]];
            assert_eq!(recorded.read(processor, pieces), whole, "{pieces:?} of {}", processor.name());
        }
    }
}

#[test]
fn every_recorded_reply_obeys_the_laws() {
    for family in alloquy_processors::families() {
        let processor = support::processor(family);
        // Every third, for each is read some hundred times.
        for recorded in of(family).iter().step_by(3) {
            laws::processor::deltas_join_to_the_message(&*processor, &recorded.reply);
            laws::processor::any_chunking_reads_alike(&*processor, &recorded.reply);
            // An id that stands behind the arguments it names is not the call's: those have one by then.
            if !recorded.about.contains("an id") {
                laws::processor::nothing_is_lost(&*processor, &recorded.reply);
            }
        }
    }
}

/// A piece of a recorded reply: which family's, which, and where it is cut, as shares.
fn piece() -> impl Strategy<Value = (usize, f64, f64)> {
    (any::<usize>(), 0.0..1.0, 0.0..1.0)
}

fn cut(reply: &str, left: f64, right: f64) -> &str {
    // Shares of a short text: no precision to lose.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let place = |share: f64| reply.floor_char_boundary((share * reply.len() as f64) as usize);
    &reply[place(left.min(right))..place(left.max(right))]
}

proptest! {
    #[test]
    fn random_replies_of_any_family_read_alike_in_any_pieces(
        family in proptest::sample::select(alloquy_processors::families().collect::<Vec<_>>()),
        pieces in proptest::collection::vec(piece(), 1..12),
    ) {
        let recorded = of(family);
        let pieces: Vec<&str> = pieces
            .iter()
            .map(|&(index, left, right)| cut(&recorded[index % recorded.len()].reply, left, right))
            .collect();
        let processor = support::processor(family);
        let whole = recorded[0].read(&*processor, [pieces.concat().as_str()]);
        prop_assert_eq!(recorded[0].read(&*processor, pieces.iter().copied()), whole);
    }
}
