//! Reads a reply as it arrives: text, thoughts, tool calls. Knows spans of text, not tokens or templates.
//!
//! White space around markers belongs to the markers, as templates print it back: line breaks at both ends of a
//! thought; those that begin the text after a thought; the one before a call, and those between a call and the
//! next, or the end. So a reply `<think>\n2 + 2\n</think>\n\n4.` is the thought `2 + 2` and the text `4.`.

mod call_ids;
mod markers;
mod transcript;

use alloquy_core::{
    ArgumentsDelta, Delta, Ending, Malformed, Message, PromptSource, ReplyParser, ToolCall, ToolSpec,
};

use crate::calls::{Call, Guess, Syntax};
use crate::family::{Family, Holds, Span};
use call_ids::CallIds;
use markers::first_marker;
pub(crate) use markers::hold_from;
use transcript::Transcript;

/// Reads the replies of a family that is data.
#[derive(Debug)]
pub(crate) struct FamilyParser {
    family: &'static Family,
    /// The spans to look for.
    spans: Vec<&'static Span>,
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
    Thinking { close: &'static str, begun: bool },
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
    /// The markers around it; both are empty for a call without one, the latter for one that ends by itself.
    open: &'static str,
    close: &'static str,
    syntax: &'static Syntax,
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
    fn new(open: &'static str, close: &'static str, syntax: &'static Syntax, separator: &str) -> Self {
        let separator = separator.to_owned();
        Self { open, close, syntax, separator, searched: 0, shown: 0, begun: Vec::new() }
    }
}

/// Arguments are handed out once the call has grown by one part in so many: looking through it takes as long as it is,
/// and a long call must not cost the square of its length.
const SHOWN_AT_ONCE: usize = 32;

impl FamilyParser {
    /// Starts reading the reply to `rendered`, which may have opened or closed a thought already.
    pub(crate) fn new(family: &'static Family, rendered: &str, source: PromptSource<'_>) -> Self {
        let tools = source.preface.tools.clone();
        let counts = |span: &&Span| !tools.is_empty() || matches!(span.holds, Holds::Thinking);
        Self {
            family,
            state: opening_state(family.spans, rendered, source),
            spans: family.spans.iter().filter(counts).collect(),
            tools,
            held: String::new(),
            ended: false,
            transcript: Transcript::default(),
            ids: CallIds::after(source, family.call_id),
        }
    }

    /// Reads on until nothing more can be settled.
    fn read(&mut self) {
        while match self.state.clone() {
            State::Text(before) => self.read_text(before),
            State::Thinking { close, begun } => self.read_thought(close, begun),
            State::Call(call) => self.read_call(call),
        } {}
    }

    /// Reads text up to the next span. Like its siblings, says whether there is more to read.
    fn read_text(&mut self, before: Before) -> bool {
        if self.drops_breaks(before) {
            self.drop_leading_breaks();
        }
        if before != Before::Text && !self.tools.is_empty() {
            match self.unmarked_call() {
                (Guess::Maybe, _) if !self.ended => return false,
                (Guess::Yes, Some(syntax)) => {
                    self.state = State::Call(OpenCall::new("", "", syntax, ""));
                    return true;
                }
                _ => {}
            }
        }
        let markers = || self.spans.iter().map(|span| span.open).chain(self.family.silent.iter().copied());
        let hold = self.hold_from(markers());
        // A marker that another, longer one may still swallow has to wait for it.
        let found = first_marker(&self.held, markers()).filter(|(at, _)| *at < hold);
        let Some((at, open)) = found else {
            let settled = self.text_before_breaks(before, hold);
            let text = self.take(settled);
            self.settle_text(&text, before);
            return false;
        };
        let text = self.take(at);
        let span = self.spans.iter().copied().find(|span| span.open == open);
        self.held.drain(..open.len() - span.map_or(0, |span| span.kept));
        match span {
            Some(span) => self.open(span, &text, before),
            None if text.is_empty() => {}
            None => self.settle_text(&text, before),
        }
        true
    }

    /// Says whether what is held is a call that no marker announces.
    fn unmarked_call(&self) -> (Guess, Option<&'static Syntax>) {
        let guesses =
            self.family.unmarked.iter().map(|syntax| (syntax.guess(&self.held, &self.tools), Some(*syntax)));
        guesses.max_by_key(|(guess, _)| *guess).unwrap_or((Guess::No, None))
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
        let calls = self.spans.iter().any(|span| matches!(span.holds, Holds::Calls(_)));
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

    /// Begins `span`, with what stands between the last one and this.
    fn open(&mut self, span: &'static Span, text: &str, before: Before) {
        self.state = match span.holds {
            Holds::Thinking => {
                self.transcript.text(text);
                State::Thinking { close: span.close, begun: false }
            }
            Holds::Calls(syntax) => {
                let breaks_only = before == Before::Call && text.trim_matches('\n').is_empty();
                let words = if breaks_only { "" } else { text.strip_suffix('\n').unwrap_or(text) };
                self.transcript.text(words);
                let separator = text.get(words.len()..).unwrap_or_default().to_owned();
                let open = span.open.get(..span.open.len() - span.kept).unwrap_or_default();
                State::Call(OpenCall::new(open, span.close, syntax, &separator))
            }
        };
    }

    fn read_thought(&mut self, close: &'static str, begun: bool) -> bool {
        if !begun {
            self.drop_leading_breaks();
        }
        self.state = State::Thinking { close, begun: begun || !self.held.is_empty() };
        if let Some(at) = self.held.find(close) {
            let thought = self.take(at);
            self.transcript.thinking(thought.trim_end_matches('\n'));
            self.held.drain(..close.len());
            self.state = State::Text(Before::Thought);
            return true;
        }
        let hold = self.hold_from([close]);
        let settled = match self.ended {
            true => hold,
            false => self.held.get(..hold).unwrap_or_default().trim_end_matches('\n').len(),
        };
        let thought = self.take(settled);
        self.transcript.thinking(&thought);
        false
    }

    fn read_call(&mut self, mut call: OpenCall) -> bool {
        match self.end_of_call(&mut call) {
            Some(end) => self.close(call, end),
            None if self.ended => return self.end_inside(call),
            None => {
                let settled = call.syntax.settled(&self.held, call.close);
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
        if call.close.is_empty() {
            return call.syntax.end(&self.held);
        }
        while let Some(at) = self.held.get(call.searched..).and_then(|rest| rest.find(call.close)) {
            let end = call.searched + at;
            call.searched = end + call.close.len();
            if !call.syntax.quotes(self.held.get(..end).unwrap_or_default()) {
                return Some(end);
            }
        }
        let searched = self.held.floor_char_boundary((self.held.len() + 1).saturating_sub(call.close.len()));
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
                let first =
                    if call.close.is_empty() { end } else { self.held.find(call.close).unwrap_or(end) };
                (first, call.syntax.read(body(first), &self.tools))
            }
        };
        let body = self.take(end);
        self.held.drain(..call.close.len());
        match read {
            Ok(calls) => {
                self.add_calls(calls, call.begun);
                self.transcript.text(&call.syntax.aside(&body));
            }
            Err(reason) => {
                let raw = format!("{}{}{body}{}", call.separator, call.open, call.close);
                self.transcript.malformed(Malformed { raw, reason });
            }
        }
        self.state = State::Text(Before::Call);
    }

    /// The reply ended inside a call: it may be whole, or a quotation that never ended hid its closing marker.
    fn end_inside(&mut self, mut call: OpenCall) -> bool {
        // As far as any chunking would have handed them out.
        let settled = call.syntax.settled(&self.held, call.close);
        self.show_arguments(&mut call, settled);
        let read = call.syntax.read(&self.held, &self.tools);
        let end = self.held.find(call.close).filter(|_| read.is_err() && !call.close.is_empty());
        if let Some(end) = end {
            self.close(call, end);
            return true;
        }
        self.show_arguments(&mut call, self.held.len());
        if let Ok(calls) = read {
            self.add_calls(calls, call.begun);
            self.transcript.text(&call.syntax.aside(&self.held));
        } else {
            let raw = format!("{}{}{}", call.separator, call.open, self.held);
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
    fn hold_from(&self, markers: impl IntoIterator<Item = &'static str>) -> usize {
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

/// What a reply begins in: templates open a thought for the model, or close one for it. A message that is to be
/// continued may have opened one itself.
fn opening_state(spans: &[Span], rendered: &str, source: PromptSource<'_>) -> State {
    let prompt = rendered.trim_end();
    let said = source.path.last().filter(|_| source.ending == Ending::Continue).map(Message::text);
    let thoughts = spans.iter().filter(|span| matches!(span.holds, Holds::Thinking));
    for span in thoughts {
        let unclosed = |text: &String| text.rfind(span.open) > text.rfind(span.close);
        if prompt.ends_with(span.open) || said.as_ref().is_some_and(unclosed) {
            return State::Thinking { close: span.close, begun: false };
        }
        if prompt.ends_with(span.close) {
            return State::Text(Before::Thought);
        }
    }
    // A message that goes on may end in the middle of anything.
    State::Text(if said.is_some() { Before::Text } else { Before::Nothing })
}

#[cfg(test)]
mod tests {
    use alloquy_core::{Message, Preface};

    use super::{Ending, Family, FamilyParser, PromptSource, ReplyParser};
    use crate::family::thinking;

    static FAMILY: Family = Family { spans: &[thinking("<t", "/"), thinking("<t>x", "/")], ..Family::PLAIN };

    fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Message {
        let preface = Preface::default();
        let source = PromptSource::new(&preface, &[], Ending::Answer);
        let mut parser = Box::new(FamilyParser::new(&FAMILY, "", source));
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
