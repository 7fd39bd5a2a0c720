//! Reads a reply as it arrives, and splits it into text, thinking and tool calls.
//!
//! White space around markers belongs to the markers, because templates print it again:
//!
//! - line breaks at both ends of a thinking block,
//! - line breaks that begin the text after a thinking block,
//! - the line break before a call, and those between a call and the next, or the end.
//!
//! So the reply `<think>\n2 + 2\n</think>\n\n4.` is the thinking block `2 + 2` and the text `4.`.

mod call_ids;
pub(crate) mod markers;
mod transcript;

use std::sync::Arc;

use alloquy_core::message::{Malformed, ToolCall};
use alloquy_core::processor::{ProcessorInput, ReplyParser, ToolCallDelta};
use alloquy_core::template::PromptEnd;
use alloquy_core::{Delta, Message, ToolSpec};

use crate::calls::{Call, CallSyntax, Guess};
use crate::configured::{Configured, Section, SectionContent};
use call_ids::CallIds;
use markers::{first_marker, hold_from};
use transcript::Transcript;

/// Reads the reply of a model.
#[derive(Debug)]
pub(crate) struct FamilyParser {
    family: Arc<Configured>,
    /// The sections to look for.
    sections: Vec<Arc<Section>>,
    /// The tools that are offered.
    tools: Vec<ToolSpec>,
    state: State,
    /// The text that has arrived and whose meaning is not certain yet.
    held: String,
    /// Whether the reply has ended.
    ended: bool,
    transcript: Transcript,
    ids: CallIds,
}

/// What the held text belongs to.
#[derive(Clone, Debug)]
enum State {
    Text(Before),
    Thinking { section: Arc<Section>, begun: bool },
    Channel { section: Arc<Section> },
    Call(OpenCall),
}

/// What directly precedes the text that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// Nothing: the reply begins.
    Nothing,
    /// Text.
    Text,
    /// A thinking block.
    Thought,
    /// A call, readable or not.
    Call,
}

/// A call whose end has not come.
#[derive(Clone, Debug)]
struct OpenCall {
    /// The section around it. Both markers are empty for a call without markers, the last one for a call that ends by itself.
    section: Arc<Section>,
    syntax: Arc<CallSyntax>,
    /// The line breaks before it. They are text again if the call cannot be read.
    separator: String,
    /// How many bytes of the held text were searched for the closing marker.
    searched: usize,
    /// How many bytes of the held text were read for arguments.
    shown: usize,
    /// The calls whose names are known: their ids, and how many bytes of their arguments were emitted.
    begun: Vec<(String, usize)>,
}

impl OpenCall {
    fn new(section: Arc<Section>, syntax: Arc<CallSyntax>, separator: &str) -> Self {
        let separator = separator.to_owned();
        Self { section, syntax, separator, searched: 0, shown: 0, begun: Vec::new() }
    }
}

/// New arguments are emitted each time the call has grown by this fraction of its length. Finding them means reading the
/// whole call, so doing that for each piece would cost the square of the length.
const SHOWN_AT_ONCE: usize = 32;

impl FamilyParser {
    /// Starts reading the reply to the prompt `rendered`, which may have opened or closed a thinking block already.
    pub(crate) fn new(family: Arc<Configured>, rendered: &str, source: ProcessorInput<'_>) -> Self {
        let tools = source.preface.tools.clone();
        let mut sections = family.sections.clone();
        if tools.is_empty() {
            sections.retain(|section| section.channel().is_some());
        }
        Self {
            state: opening_state(&family.sections, rendered, source),
            sections,
            tools,
            held: String::new(),
            ended: false,
            transcript: Transcript::default(),
            ids: CallIds::after(source, family.data.call_ids),
            family,
        }
    }

    /// Reads until the meaning of the rest depends on text that has not arrived.
    fn read(&mut self) {
        while match self.state.clone() {
            State::Text(before) => self.read_text(before),
            State::Thinking { section, begun } => self.read_thought(section, begun),
            State::Channel { section } => self.read_channel(&section),
            State::Call(call) => self.read_call(call),
        } {}
    }

    /// Reads text up to the next section. Like the other `read_*` methods, returns whether more can be read.
    fn read_text(&mut self, before: Before) -> bool {
        if self.drops_breaks(before) {
            self.drop_leading_breaks();
        }
        if before != Before::Text && !self.tools.is_empty() {
            match self.unmarked_call() {
                (Guess::Maybe, _) if !self.ended => return false,
                (Guess::Yes, Some(syntax)) => {
                    let section = Arc::new(Section::unmarked(Arc::clone(&syntax)));
                    self.state = State::Call(OpenCall::new(section, syntax, ""));
                    return true;
                }
                _ => {}
            }
        }
        let hold = self.hold_from(self.markers());
        // A marker that may still become a longer one has to wait: `<t>` may be the beginning of `<t>x`.
        let found = first_marker(&self.held, self.markers()).filter(|(at, _)| *at < hold);
        let Some((at, open)) = found else {
            let settled = self.text_before_breaks(before, hold);
            let text = self.take(settled);
            self.settle_text(&text, before);
            return false;
        };
        let section = self.sections.iter().find(|section| section.open == open).cloned();
        let marker = section.as_ref().map_or(open, |section| section.opening()).len();
        let text = self.take(at);
        self.held.drain(..marker);
        match section {
            Some(section) => self.open(section, &text, before),
            None if text.is_empty() => {}
            None => self.settle_text(&text, before),
        }
        true
    }

    /// Returns the texts that begin a section, and the silent ones.
    fn markers(&self) -> impl Iterator<Item = &str> {
        let opens = self.sections.iter().map(|section| section.open.as_str());
        opens.chain(self.family.data.silent.iter().map(String::as_str))
    }

    /// Guesses whether the held text is a call without markers.
    fn unmarked_call(&self) -> (Guess, Option<Arc<CallSyntax>>) {
        let mut best = (Guess::No, None);
        for syntax in &self.family.unmarked {
            let guess = syntax.guess(&self.held, &self.tools);
            if guess >= best.0 {
                best = (guess, Some(Arc::clone(syntax)));
            }
        }
        best
    }

    /// Returns whether line breaks are dropped: those at the beginning of the reply's text, after a thinking block or a call.
    fn drops_breaks(&self, before: Before) -> bool {
        matches!(before, Before::Thought | Before::Call) && !self.transcript.has_text()
    }

    fn drop_leading_breaks(&mut self) {
        let breaks = self.held.len() - self.held.trim_start_matches('\n').len();
        self.held.drain(..breaks);
    }

    /// Returns how many of the first `hold` bytes are text whatever follows. Line breaks at the end may belong to a call.
    fn text_before_breaks(&self, before: Before, hold: usize) -> usize {
        let text = self.held.get(..hold).unwrap_or_default();
        let words = text.trim_end_matches('\n').len();
        let calls = self.sections.iter().any(|section| matches!(section.holds, SectionContent::Calls(_)));
        if calls && !self.ended {
            words
        } else if calls && before == Before::Call && words == 0 {
            0
        } else {
            hold
        }
    }

    fn settle_text(&mut self, text: &str, before: Before) {
        if !text.is_empty() {
            self.transcript.text(text);
            self.state = State::Text(Before::Text);
        } else if self.ended && before == Before::Call {
            self.held.clear();
        }
    }

    /// Begins `section` after `text`, which follows the section before.
    fn open(&mut self, section: Arc<Section>, text: &str, before: Before) {
        self.state = match &section.holds {
            SectionContent::Thinking => {
                self.transcript.text(text);
                State::Thinking { section, begun: false }
            }
            SectionContent::Channel(_) => {
                self.transcript.text(text);
                State::Channel { section }
            }
            SectionContent::Calls(syntax) => {
                let breaks_only = before == Before::Call && text.trim_matches('\n').is_empty();
                let words = if breaks_only { "" } else { text.strip_suffix('\n').unwrap_or(text) };
                self.transcript.text(words);
                let separator = text.get(words.len()..).unwrap_or_default().to_owned();
                let syntax = Arc::clone(syntax);
                State::Call(OpenCall::new(section, syntax, &separator))
            }
        };
    }

    fn read_thought(&mut self, section: Arc<Section>, begun: bool) -> bool {
        if !begun {
            self.drop_leading_breaks();
        }
        if let Some(at) = self.held.find(&section.close) {
            let thought = self.take(at);
            self.transcript.thinking(thought.trim_end_matches('\n'));
            self.held.drain(..section.close.len());
            self.state = State::Text(Before::Thought);
            return true;
        }
        let hold = self.hold_from([section.close.as_str()]);
        self.state = State::Thinking { section, begun: begun || !self.held.is_empty() };
        let settled = if self.ended {
            hold
        } else {
            self.held.get(..hold).unwrap_or_default().trim_end_matches('\n').len()
        };
        let thought = self.take(settled);
        self.transcript.thinking(&thought);
        false
    }

    /// Reads a host's channel. Its text is kept unchanged.
    fn read_channel(&mut self, section: &Section) -> bool {
        let end = self.held.find(&section.close);
        let said = self.take(end.unwrap_or_else(|| self.hold_from([section.close.as_str()])));
        self.transcript.channel(section.channel().unwrap_or_default(), &said);
        if end.is_some() {
            self.held.drain(..section.close.len());
            self.state = State::Text(Before::Nothing);
        }
        end.is_some()
    }

    fn read_call(&mut self, mut call: OpenCall) -> bool {
        match self.end_of_call(&mut call) {
            Some(end) => self.close(call, end),
            None if self.ended => return self.end_inside(call),
            None => {
                let settled = call.syntax.settled(&self.held, &call.section.close);
                if settled > call.shown + call.shown / SHOWN_AT_ONCE {
                    self.show_arguments(&mut call, settled);
                }
                self.state = State::Call(call);
                return false;
            }
        }
        true
    }

    /// Finds where the body of an open call ends: at the first closing marker that is not inside a quotation.
    fn end_of_call(&self, call: &mut OpenCall) -> Option<usize> {
        if call.section.close.is_empty() {
            return call.syntax.end(&self.held);
        }
        while let Some(at) = self.held.get(call.searched..).and_then(|rest| rest.find(&call.section.close)) {
            let end = call.searched + at;
            call.searched = end + call.section.close.len();
            if !call.syntax.quotes(self.held.get(..end).unwrap_or_default()) {
                return Some(end);
            }
        }
        let searched =
            self.held.floor_char_boundary((self.held.len() + 1).saturating_sub(call.section.close.len()));
        call.searched = call.searched.max(searched);
        None
    }

    /// Emits the new arguments in the first `length` bytes of an open call.
    fn show_arguments(&mut self, call: &mut OpenCall, length: usize) {
        let body = self.held.get(..length).unwrap_or_default();
        call.shown = length;
        for (index, begun) in call.syntax.begun(body).into_iter().enumerate() {
            if index == call.begun.len() {
                call.begun.push((self.ids.next(begun.id), 0));
            }
            let (Some((id, shown)), Some(part)) = (call.begun.get_mut(index), begun.arguments) else {
                continue;
            };
            let text = body.get(part.start + *shown..part.end.min(length)).unwrap_or_default();
            *shown += text.len();
            if !text.is_empty() {
                let piece = ToolCallDelta { id: id.clone(), name: begun.name, text: text.to_owned() };
                self.transcript.arguments(piece);
            }
        }
    }

    /// Ends a call whose body has `end` bytes.
    fn close(&mut self, mut call: OpenCall, end: usize) {
        self.show_arguments(&mut call, end);
        let mut end = end;
        let mut read = call.syntax.read(self.held.get(..end).unwrap_or_default(), &self.tools);
        // A call that is unreadable may have a quotation mark that opens no quotation. Then the first closing marker ends it.
        if read.is_err()
            && !call.section.close.is_empty()
            && let Some(first) = self.held.find(&call.section.close)
        {
            end = first;
            read = call.syntax.read(self.held.get(..end).unwrap_or_default(), &self.tools);
        }
        let body = self.take(end);
        self.held.drain(..call.section.close.len());
        match read {
            Ok(calls) => {
                self.add_calls(calls, call.begun);
                self.transcript.text(&call.syntax.aside(&body));
            }
            Err(reason) => {
                let raw = format!("{}{}{body}{}", call.separator, call.section.opening(), call.section.close);
                self.transcript.malformed(Malformed { raw, reason });
            }
        }
        self.state = State::Text(Before::Call);
    }

    /// Ends a reply inside a call. The call may be complete, or a quotation that never ended may have hidden its closing marker.
    fn end_inside(&mut self, mut call: OpenCall) -> bool {
        // These are emitted however the reply was split into pieces, so that the deltas do not depend on the pieces.
        let settled = call.syntax.settled(&self.held, &call.section.close);
        self.show_arguments(&mut call, settled);
        let read = call.syntax.read(&self.held, &self.tools);
        let end =
            self.held.find(&call.section.close).filter(|_| read.is_err() && !call.section.close.is_empty());
        if let Some(end) = end {
            self.close(call, end);
            return true;
        }
        self.show_arguments(&mut call, self.held.len());
        if let Ok(calls) = read {
            self.add_calls(calls, call.begun);
            self.transcript.text(&call.syntax.aside(&self.held));
        } else {
            let raw = format!("{}{}{}", call.separator, call.section.opening(), self.held);
            self.transcript.malformed(Malformed { raw, reason: "the reply ended inside a call".to_owned() });
        }
        self.held.clear();
        self.state = State::Text(Before::Call);
        false
    }

    /// Adds calls. Those whose arguments were emitted keep their ids.
    fn add_calls(&mut self, calls: Vec<Call>, begun: Vec<(String, usize)>) {
        let mut ids = begun.into_iter().map(|(id, _)| id);
        for call in calls {
            let id = ids.next().unwrap_or_else(|| self.ids.next(None));
            self.transcript.call(ToolCall::new(id, call.name, call.arguments.into()));
        }
    }

    /// Returns where the end of the held text begins that may become one of `markers`.
    fn hold_from<'m>(&self, markers: impl IntoIterator<Item = &'m str>) -> usize {
        if self.ended { self.held.len() } else { hold_from(&self.held, markers) }
    }

    /// Takes the first `length` bytes of the held text.
    fn take(&mut self, length: usize) -> String {
        let rest = self.held.split_off(length);
        std::mem::replace(&mut self.held, rest)
    }
}

impl ReplyParser for FamilyParser {
    fn push(&mut self, text: &str) -> Vec<Delta> {
        self.held += text;
        self.read();
        self.transcript.take_deltas()
    }

    fn finish(mut self: Box<Self>) -> (Vec<Delta>, Message) {
        self.ended = true;
        self.read();
        (self.transcript.take_deltas(), self.transcript.into_message())
    }
}

/// Returns the state in which a reply begins. Templates may open a thinking block or a channel for the model, or close a thinking block for
/// it. A message that the reply continues may have opened one itself.
fn opening_state(sections: &[Arc<Section>], rendered: &str, source: ProcessorInput<'_>) -> State {
    let prompt = rendered.trim_end();
    let said = source.path.last().filter(|_| source.ending == PromptEnd::Continuation).map(Message::text);
    for section in sections.iter().filter(|section| section.channel().is_some()) {
        let is_unclosed =
            said.as_ref().is_some_and(|text| text.rfind(&section.open) > text.rfind(&section.close));
        if prompt.ends_with(section.open.trim_end()) || is_unclosed {
            let section = Arc::clone(section);
            return match section.holds {
                SectionContent::Thinking => State::Thinking { section, begun: false },
                _ => State::Channel { section },
            };
        }
        if matches!(section.holds, SectionContent::Thinking) && prompt.ends_with(section.close.trim_end()) {
            return State::Text(Before::Thought);
        }
    }
    // A message that the reply continues may end in the middle of a line.
    State::Text(if said.is_some() { Before::Text } else { Before::Nothing })
}

#[cfg(test)]
mod tests {
    use alloquy_core::{Message, Preface};

    use super::{Arc, Configured, FamilyParser, ProcessorInput, PromptEnd, ReplyParser};
    use crate::family::Family;
    use alloquy_core::processor::Channel;

    fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Message {
        let preface = Preface::default();
        let source = ProcessorInput::new(&preface, &[], PromptEnd::Generation);
        let family = Family::new("short")
            .channel(Channel::new(Channel::THINKING, "<t", "/"))
            .channel(Channel::new(Channel::THINKING, "<t>x", "/"));
        let mut parser = Box::new(FamilyParser::new(Arc::new(Configured::of(family).unwrap()), "", source));
        for piece in pieces {
            let _ = parser.push(piece);
        }
        parser.finish().1
    }

    #[test]
    fn a_marker_that_begins_another_waits_for_it() {
        for (reply, thought) in [("<t>x1/", "1"), ("<t>y/", ">y"), ("<t>", ">"), ("<t/", "")] {
            let whole = read([reply]);
            assert_eq!(whole.thinking().unwrap_or_default(), thought, "{reply:?}");
            assert_eq!(read(reply.split_inclusive(|_| true)), whole, "{reply:?}");
        }
    }
}
