//! Reads a reply as it arrives: text, thoughts, tool calls. Knows spans of text, not tokens or templates.
//!
//! White space around markers belongs to the markers, as templates print it back: line breaks at both ends of a
//! thought; those that begin the text after a thought; the one before a call, and those between a call and the
//! next, or the end. So a reply `<think>\n2 + 2\n</think>\n\n4.` is the thought `2 + 2` and the text `4.`.

mod call_ids;
pub(crate) mod markers;
mod transcript;

use std::sync::Arc;

use alloquy_core::message::{Malformed, ToolCall};
use alloquy_core::processor::{ArgumentsDelta, PromptSource, ReplyParser};
use alloquy_core::template::Ending;
use alloquy_core::{Delta, Message, ToolSpec};

use crate::calls::{Call, CallSyntax, Guess};
use crate::configured::{Configured, Stretch, StretchContent};
use call_ids::CallIds;
use markers::{first_marker, hold_from};
use transcript::Transcript;

/// Reads the replies of a family that is data.
#[derive(Debug)]
pub(crate) struct FamilyParser {
    family: Arc<Configured>,
    /// The stretches to look for.
    stretches: Vec<Arc<Stretch>>,
    /// The tools that are offered.
    tools: Vec<ToolSpec>,
    state: State,
    /// What has arrived and is not settled.
    held: String,
    /// No more text will come.
    ended: bool,
    transcript: Transcript,
    ids: CallIds,
}

/// What the held text belongs to.
#[derive(Clone, Debug)]
enum State {
    Text(Before),
    Thinking { stretch: Arc<Stretch>, begun: bool },
    Channel { stretch: Arc<Stretch> },
    Call(OpenCall),
}

/// What stands directly before the text that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// Nothing: the reply begins.
    Nothing,
    /// Text.
    Text,
    /// A thought.
    Thought,
    /// A call, readable or not.
    Call,
}

/// A call whose end has not come.
#[derive(Clone, Debug)]
struct OpenCall {
    /// What it stands in: both markers are empty for a call without one, the latter for one that ends by itself.
    stretch: Arc<Stretch>,
    syntax: Arc<CallSyntax>,
    /// The line breaks before it, for the case that it cannot be read.
    separator: String,
    /// How much of the held text has no closing marker.
    searched: usize,
    /// How much of the held text was looked through for arguments.
    shown: usize,
    /// The calls whose names have come: their ids, and how much of their arguments was handed out.
    begun: Vec<(String, usize)>,
}

impl OpenCall {
    fn new(stretch: Arc<Stretch>, syntax: Arc<CallSyntax>, separator: &str) -> Self {
        let separator = separator.to_owned();
        Self { stretch, syntax, separator, searched: 0, shown: 0, begun: Vec::new() }
    }
}

/// Arguments are handed out once the call has grown by one part in so many: looking through it takes as long as it is,
/// and a long call must not cost the square of its length.
const SHOWN_AT_ONCE: usize = 32;

impl FamilyParser {
    /// Starts reading the reply to `rendered`, which may have opened or closed a thought already.
    pub(crate) fn new(family: Arc<Configured>, rendered: &str, source: PromptSource<'_>) -> Self {
        let tools = source.preface.tools.clone();
        let counts = |stretch: &&Arc<Stretch>| !tools.is_empty() || stretch.channel().is_some();
        Self {
            state: opening_state(&family.stretches, rendered, source),
            stretches: family.stretches.iter().filter(counts).cloned().collect(),
            tools,
            held: String::new(),
            ended: false,
            transcript: Transcript::default(),
            ids: CallIds::after(source, family.data.call_ids),
            family,
        }
    }

    /// Reads on until nothing more can be settled.
    fn read(&mut self) {
        while match self.state.clone() {
            State::Text(before) => self.read_text(before),
            State::Thinking { stretch, begun } => self.read_thought(stretch, begun),
            State::Channel { stretch } => self.read_channel(&stretch),
            State::Call(call) => self.read_call(call),
        } {}
    }

    /// Reads text up to the next stretch. Like its siblings, says whether there is more to read.
    fn read_text(&mut self, before: Before) -> bool {
        if self.drops_breaks(before) {
            self.drop_leading_breaks();
        }
        if before != Before::Text && !self.tools.is_empty() {
            match self.unmarked_call() {
                (Guess::Maybe, _) if !self.ended => return false,
                (Guess::Yes, Some(syntax)) => {
                    let stretch = Arc::new(Stretch::unmarked(Arc::clone(&syntax)));
                    self.state = State::Call(OpenCall::new(stretch, syntax, ""));
                    return true;
                }
                _ => {}
            }
        }
        let opens = || self.stretches.iter().map(|stretch| stretch.open.as_str());
        let markers = || opens().chain(self.family.data.silent.iter().map(String::as_str));
        let hold = self.hold_from(markers());
        // A marker that another, longer one may still swallow has to wait for it.
        let found = first_marker(&self.held, markers()).filter(|(at, _)| *at < hold);
        let Some((at, open)) = found else {
            let settled = self.text_before_breaks(before, hold);
            let text = self.take(settled);
            self.settle_text(&text, before);
            return false;
        };
        let stretch = self.stretches.iter().find(|stretch| stretch.open == open).cloned();
        let marker = stretch.as_ref().map_or(open, |stretch| stretch.opening()).len();
        let text = self.take(at);
        self.held.drain(..marker);
        match stretch {
            Some(stretch) => self.open(stretch, &text, before),
            None if text.is_empty() => {}
            None => self.settle_text(&text, before),
        }
        true
    }

    /// Says whether what is held is a call that no marker announces.
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

    /// Line breaks at the beginning of the reply's text, behind a thought or a call, are not text.
    fn drops_breaks(&self, before: Before) -> bool {
        matches!(before, Before::Thought | Before::Call) && !self.transcript.has_text()
    }

    fn drop_leading_breaks(&mut self) {
        let breaks = self.held.len() - self.held.trim_start_matches('\n').len();
        self.held.drain(..breaks);
    }

    /// How much of the first `hold` bytes is text whatever follows: line breaks may lead to a call.
    fn text_before_breaks(&self, before: Before, hold: usize) -> usize {
        let text = self.held.get(..hold).unwrap_or_default();
        let words = text.trim_end_matches('\n').len();
        let calls = self.stretches.iter().any(|stretch| matches!(stretch.holds, StretchContent::Calls(_)));
        match (calls, self.ended) {
            (true, false) => words,
            (true, true) if before == Before::Call && words == 0 => 0,
            _ => hold,
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

    /// Begins `stretch`, with what stands between the last one and this.
    fn open(&mut self, stretch: Arc<Stretch>, text: &str, before: Before) {
        self.state = match &stretch.holds {
            StretchContent::Thinking => {
                self.transcript.text(text);
                State::Thinking { stretch, begun: false }
            }
            StretchContent::Channel(_) => {
                self.transcript.text(text);
                State::Channel { stretch }
            }
            StretchContent::Calls(syntax) => {
                let breaks_only = before == Before::Call && text.trim_matches('\n').is_empty();
                let words = if breaks_only { "" } else { text.strip_suffix('\n').unwrap_or(text) };
                self.transcript.text(words);
                let separator = text.get(words.len()..).unwrap_or_default().to_owned();
                let syntax = Arc::clone(syntax);
                State::Call(OpenCall::new(stretch, syntax, &separator))
            }
        };
    }

    fn read_thought(&mut self, stretch: Arc<Stretch>, begun: bool) -> bool {
        if !begun {
            self.drop_leading_breaks();
        }
        if let Some(at) = self.held.find(&stretch.close) {
            let thought = self.take(at);
            self.transcript.thinking(thought.trim_end_matches('\n'));
            self.held.drain(..stretch.close.len());
            self.state = State::Text(Before::Thought);
            return true;
        }
        let hold = self.hold_from([stretch.close.as_str()]);
        self.state = State::Thinking { stretch, begun: begun || !self.held.is_empty() };
        let settled = match self.ended {
            true => hold,
            false => self.held.get(..hold).unwrap_or_default().trim_end_matches('\n').len(),
        };
        let thought = self.take(settled);
        self.transcript.thinking(&thought);
        false
    }

    /// What a host's channel holds is the host's: nothing of it is taken off.
    fn read_channel(&mut self, stretch: &Stretch) -> bool {
        let end = self.held.find(&stretch.close);
        let said = self.take(end.unwrap_or_else(|| self.hold_from([stretch.close.as_str()])));
        self.transcript.channel(stretch.channel().unwrap_or_default(), &said);
        if end.is_some() {
            self.held.drain(..stretch.close.len());
            self.state = State::Text(Before::Nothing);
        }
        end.is_some()
    }

    fn read_call(&mut self, mut call: OpenCall) -> bool {
        match self.end_of_call(&mut call) {
            Some(end) => self.close(call, end),
            None if self.ended => return self.end_inside(call),
            None => {
                let settled = call.syntax.settled(&self.held, &call.stretch.close);
                if settled > call.shown + call.shown / SHOWN_AT_ONCE {
                    self.show_arguments(&mut call, settled);
                }
                self.state = State::Call(call);
                return false;
            }
        }
        true
    }

    /// Finds where the body of an open call ends.
    fn end_of_call(&self, call: &mut OpenCall) -> Option<usize> {
        if call.stretch.close.is_empty() {
            return call.syntax.end(&self.held);
        }
        while let Some(at) = self.held.get(call.searched..).and_then(|rest| rest.find(&call.stretch.close)) {
            let end = call.searched + at;
            call.searched = end + call.stretch.close.len();
            if !call.syntax.quotes(self.held.get(..end).unwrap_or_default()) {
                return Some(end);
            }
        }
        let searched =
            self.held.floor_char_boundary((self.held.len() + 1).saturating_sub(call.stretch.close.len()));
        call.searched = call.searched.max(searched);
        None
    }

    /// Hands out the arguments in the first `length` bytes of an open call that were not handed out yet.
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
                let piece = ArgumentsDelta { id: id.clone(), name: begun.name, text: text.to_owned() };
                self.transcript.arguments(piece);
            }
        }
    }

    /// Ends a call at the closing marker `end` bytes on.
    fn close(&mut self, mut call: OpenCall, end: usize) {
        self.show_arguments(&mut call, end);
        let body = |end: usize| self.held.get(..end).unwrap_or_default();
        let (end, read) = match call.syntax.read(body(end), &self.tools) {
            Ok(calls) => (end, Ok(calls)),
            // Unreadable, so what looked like a quotation was none: the first closing marker was meant.
            Err(_) => {
                let first = if call.stretch.close.is_empty() {
                    end
                } else {
                    self.held.find(&call.stretch.close).unwrap_or(end)
                };
                (first, call.syntax.read(body(first), &self.tools))
            }
        };
        let body = self.take(end);
        self.held.drain(..call.stretch.close.len());
        match read {
            Ok(calls) => {
                self.add_calls(calls, call.begun);
                self.transcript.text(&call.syntax.aside(&body));
            }
            Err(reason) => {
                let raw = format!("{}{}{body}{}", call.separator, call.stretch.opening(), call.stretch.close);
                self.transcript.malformed(Malformed { raw, reason });
            }
        }
        self.state = State::Text(Before::Call);
    }

    /// The reply ended inside a call: it may be whole, or a quotation that never ended hid its closing marker.
    fn end_inside(&mut self, mut call: OpenCall) -> bool {
        // As far as any chunking would have handed them out.
        let settled = call.syntax.settled(&self.held, &call.stretch.close);
        self.show_arguments(&mut call, settled);
        let read = call.syntax.read(&self.held, &self.tools);
        let end =
            self.held.find(&call.stretch.close).filter(|_| read.is_err() && !call.stretch.close.is_empty());
        if let Some(end) = end {
            self.close(call, end);
            return true;
        }
        self.show_arguments(&mut call, self.held.len());
        if let Ok(calls) = read {
            self.add_calls(calls, call.begun);
            self.transcript.text(&call.syntax.aside(&self.held));
        } else {
            let raw = format!("{}{}{}", call.separator, call.stretch.opening(), self.held);
            self.transcript.malformed(Malformed { raw, reason: "the reply ended inside a call".to_owned() });
        }
        self.held.clear();
        self.state = State::Text(Before::Call);
        false
    }

    /// Adds calls under the ids that their arguments had.
    fn add_calls(&mut self, calls: Vec<Call>, begun: Vec<(String, usize)>) {
        let mut ids = begun.into_iter().map(|(id, _)| id);
        for call in calls {
            let id = ids.next().unwrap_or_else(|| self.ids.next(None));
            self.transcript.call(ToolCall::new(id, call.name, call.arguments.into()));
        }
    }

    /// Where the end of the held text begins that may become one of `markers`.
    fn hold_from<'m>(&self, markers: impl IntoIterator<Item = &'m str>) -> usize {
        match self.ended {
            true => self.held.len(),
            false => hold_from(&self.held, markers),
        }
    }

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

/// What a reply begins in: templates open a thought or a channel for the model, or close a thought for it. A message that
/// is to be continued may have opened one itself.
fn opening_state(stretches: &[Arc<Stretch>], rendered: &str, source: PromptSource<'_>) -> State {
    let prompt = rendered.trim_end();
    let said = source.path.last().filter(|_| source.ending == Ending::Continue).map(Message::text);
    for stretch in stretches.iter().filter(|stretch| stretch.channel().is_some()) {
        let unclosed = |text: &String| text.rfind(&stretch.open) > text.rfind(&stretch.close);
        if prompt.ends_with(stretch.open.trim_end()) || said.as_ref().is_some_and(unclosed) {
            let stretch = Arc::clone(stretch);
            return match stretch.holds {
                StretchContent::Thinking => State::Thinking { stretch, begun: false },
                _ => State::Channel { stretch },
            };
        }
        if matches!(stretch.holds, StretchContent::Thinking) && prompt.ends_with(stretch.close.trim_end()) {
            return State::Text(Before::Thought);
        }
    }
    // A message that goes on may end in the middle of anything.
    State::Text(if said.is_some() { Before::Text } else { Before::Nothing })
}

#[cfg(test)]
mod tests {
    use alloquy_core::{Message, Preface};

    use super::{Arc, Configured, Ending, FamilyParser, PromptSource, ReplyParser};
    use crate::family::Family;
    use alloquy_core::processor::Channel;

    fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Message {
        let preface = Preface::default();
        let source = PromptSource::new(&preface, &[], Ending::Answer);
        let thinking = |start: &str| Channel::new(Channel::THINKING, start, "/");
        let family = Family::new("short").channel(thinking("<t")).channel(thinking("<t>x"));
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
