//! Redacts the kinds of text of a reply side by side, and shows them in the order in which they arrived.

use std::collections::{BTreeMap, VecDeque};

use alloquy_core::message::{ChannelText, ToolCall};
use alloquy_core::processor::ToolCallDelta;
use alloquy_core::{Content, Delta, Result};

use super::blocks::Blocks;
use super::redactor::{Counts, Piece, Redaction, Redactor, add_counts};

/// The texts of a reply. Those of one kind are one text, however many parts it has.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Channel(String),
}

impl Kind {
    fn delta(&self, text: String) -> Delta {
        match self {
            Self::Text => Delta::Text(text),
            Self::Thinking => Delta::Thinking(text),
            Self::Channel(name) => Delta::Channel(ChannelText::new(name.clone(), text)),
        }
    }
}

/// The text of one kind.
#[derive(Debug)]
struct OneKind {
    kind: Kind,
    redaction: Redaction,
    /// Its parts with text that is not decided yet.
    waiting: VecDeque<usize>,
}

/// A run of text of one kind, or a delta that is complete.
#[derive(Debug)]
struct Segment {
    /// Which part of the message it is, counted from 0.
    part: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Text {
        /// Which of the kinds.
        kind: usize,
        /// How many bytes are not decided yet.
        undecided: usize,
        /// What is decided and not shown yet.
        shown: String,
    },
    Whole(Vec<Delta>),
}

/// The redaction of one reply.
///
/// A text of one kind may be interrupted by another kind, and a match may begin before the interruption and end after it. So each
/// kind has a redaction of its own. A segment is shown only after all earlier segments, so that the order stays.
#[derive(Debug)]
pub(super) struct Ordered {
    redactor: Redactor,
    blocks: Blocks,
    kinds: Vec<OneKind>,
    /// The kind of the last text, until a delta of another kind.
    open: Option<usize>,
    segments: VecDeque<Segment>,
    /// How many segments there were. Each has its number as `part`.
    parts: usize,
    /// The pieces of arguments of calls that are not complete, by id.
    arguments: BTreeMap<String, ToolCallDelta>,
    ids: Ids,
    counts: Counts,
}

/// The ids of calls that contain a match, in the order in which they arrived.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// Makes the ids unique in a conversation.
    prefix: String,
    replaced: Vec<String>,
}

impl Ids {
    pub(super) fn new(prefix: String) -> Self {
        Self { prefix, replaced: Vec::new() }
    }

    /// Replaces an id that contains a match. The same id has the same replacement.
    pub(super) fn redact(&mut self, id: &mut String, redactor: &Redactor, counts: &mut Counts) -> Result<()> {
        if redactor.counted(id, counts)? == *id {
            return Ok(());
        }
        let known = self.replaced.iter().position(|replaced| replaced == id);
        let number = known.unwrap_or(self.replaced.len());
        if known.is_none() {
            self.replaced.push(id.clone());
        }
        *id = format!("{}{number}", self.prefix);
        Ok(())
    }
}

impl Ordered {
    pub(super) fn new(redactor: &Redactor, blocks: Blocks, ids: Ids) -> Self {
        Self {
            redactor: redactor.clone(),
            blocks,
            kinds: Vec::new(),
            open: None,
            segments: VecDeque::new(),
            parts: 0,
            arguments: BTreeMap::new(),
            ids,
            counts: Counts::new(),
        }
    }

    /// Receives a delta, and returns what can be shown now, each delta with the index of its part.
    pub(super) fn push(&mut self, delta: Delta) -> Result<Vec<(usize, Delta)>> {
        match delta {
            Delta::Text(text) => self.text(Kind::Text, &text)?,
            Delta::Thinking(text) => self.text(Kind::Thinking, &text)?,
            Delta::Channel(said) => self.text(Kind::Channel(said.name), &said.text)?,
            Delta::Arguments(piece) => {
                // Arguments are JSON text, in which a match may be escaped, so they are shown with the parsed call.
                let known = self.arguments.entry(piece.id.clone());
                let known = known.or_insert_with(|| ToolCallDelta { text: String::new(), ..piece.clone() });
                known.text += &piece.text;
            }
            Delta::ToolCall(call) => {
                let deltas = self.call(call)?;
                self.whole(deltas)?;
            }
            Delta::Malformed(mut malformed) => {
                malformed.raw = self.redactor.counted(&malformed.raw, &mut self.counts)?;
                malformed.reason = self.redactor.counted(&malformed.reason, &mut self.counts)?;
                self.whole(vec![Delta::Malformed(malformed)])?;
            }
            // A kind of delta that this version does not know cannot be redacted, and is not shown.
            _ => {}
        }
        Ok(self.ready())
    }

    /// Begins a new part, also if the next text has the same kind.
    pub(super) fn end_part(&mut self) {
        self.begin(State::Whole(Vec::new()));
    }

    /// Ends the reply, and returns what was held back.
    pub(super) fn finish(&mut self) -> Result<Vec<(usize, Delta)>> {
        for kind in 0..self.kinds.len() {
            self.finish_kind(kind)?;
        }
        Ok(self.ready())
    }

    /// Returns how often each pattern matched, and the ids.
    pub(super) fn into_counts(mut self) -> (Counts, Ids) {
        for kind in self.kinds {
            add_counts(&mut self.counts, kind.redaction.counts);
        }
        (self.counts, self.ids)
    }

    fn finish_kind(&mut self, kind: usize) -> Result<()> {
        let Some(one) = self.kinds.get_mut(kind) else { return Ok(()) };
        let pieces = one.redaction.finish_pieces()?;
        self.distribute(kind, pieces);
        Ok(())
    }

    fn text(&mut self, kind: Kind, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let known = self.kinds.iter().position(|known| known.kind == kind);
        let index = known.unwrap_or(self.kinds.len());
        if known.is_none() {
            self.kinds.push(OneKind { kind, redaction: self.redactor.stream(), waiting: VecDeque::new() });
        }
        self.end_block(Some(index))?;
        self.open = Some(index);
        let part = match self.segments.back_mut() {
            Some(Segment { part, state: State::Text { kind, undecided, .. } }) if *kind == index => {
                *undecided += text.len();
                *part
            }
            _ => {
                let state = State::Text { kind: index, undecided: text.len(), shown: String::new() };
                self.begin(state)
            }
        };
        let Some(one) = self.kinds.get_mut(index) else { return Ok(()) };
        if one.waiting.back() != Some(&part) {
            one.waiting.push_back(part);
        }
        let pieces = one.redaction.push_pieces(text)?;
        self.distribute(index, pieces);
        Ok(())
    }

    /// Adds a segment, and returns its number.
    fn begin(&mut self, state: State) -> usize {
        let part = self.parts;
        self.segments.push_back(Segment { part, state });
        self.parts += 1;
        part
    }

    /// Ends the text of thinking or a channel where another kind follows, if each block is a text of its own.
    fn end_block(&mut self, next: Option<usize>) -> Result<()> {
        let Some(open) = self.open.filter(|open| next != Some(*open)) else { return Ok(()) };
        self.open = None;
        let is_text = self.kinds.get(open).is_some_and(|one| one.kind == Kind::Text);
        if self.blocks == Blocks::Separate && !is_text {
            self.finish_kind(open)?;
        }
        Ok(())
    }

    fn whole(&mut self, deltas: Vec<Delta>) -> Result<()> {
        self.end_block(None)?;
        self.begin(State::Whole(deltas));
        Ok(())
    }

    /// Redacts a call. Its pieces of arguments are shown with it if nothing in the call was removed.
    fn call(&mut self, mut call: ToolCall) -> Result<Vec<Delta>> {
        let pieces = self.arguments.remove(&call.id);
        let before = call.clone();
        self.redact_call(&mut call)?;
        let mut deltas = Vec::new();
        if let Some(pieces) = pieces
            && call == before
            && self.redactor.redact(&pieces.text)? == pieces.text
        {
            deltas.push(Delta::Arguments(pieces));
        }
        deltas.push(Delta::ToolCall(call));
        Ok(deltas)
    }

    fn redact_call(&mut self, call: &mut ToolCall) -> Result<()> {
        self.ids.redact(&mut call.id, &self.redactor, &mut self.counts)?;
        call.name = self.redactor.counted(&call.name, &mut self.counts)?;
        self.redactor.value(&mut call.arguments, &mut self.counts)
    }

    /// Gives decided pieces of a kind to its segments, in their order. A replacement is in the segment where its match begins.
    fn distribute(&mut self, kind: usize, pieces: Vec<Piece>) {
        let first = self.segments.front().map_or(0, |segment| segment.part);
        let Some(kind) = self.kinds.get_mut(kind) else { return };
        for piece in pieces {
            let (mut kept, mut removed, mut replacement) = match piece {
                Piece::Kept(text) => (text, 0, String::new()),
                Piece::Replaced { removed, shown } => (String::new(), removed, shown),
            };
            while !kept.is_empty() || removed > 0 {
                let Some(part) = kind.waiting.front() else { break };
                let segment = self.segments.get_mut(part - first).map(|segment| &mut segment.state);
                let Some(State::Text { undecided, shown, .. }) = segment else { break };
                shown.push_str(&std::mem::take(&mut replacement));
                let taken = kept.len().min(*undecided);
                let rest = kept.split_off(taken);
                shown.push_str(&kept);
                kept = rest;
                let dropped = removed.min(*undecided - taken);
                removed -= dropped;
                *undecided -= taken + dropped;
                if *undecided == 0 {
                    kind.waiting.pop_front();
                }
            }
        }
    }

    /// Returns the decided text of the segments up to the first one that is not decided.
    fn ready(&mut self) -> Vec<(usize, Delta)> {
        let mut ready = Vec::new();
        while let Some(segment) = self.segments.front_mut() {
            match &mut segment.state {
                State::Whole(deltas) => {
                    for delta in deltas.drain(..) {
                        ready.push((segment.part, delta));
                    }
                }
                State::Text { kind, undecided, shown } => {
                    if !shown.is_empty()
                        && let Some(one) = self.kinds.get(*kind)
                    {
                        ready.push((segment.part, one.kind.delta(std::mem::take(shown))));
                    }
                    if *undecided > 0 {
                        break;
                    }
                }
            }
            // The last segment may continue.
            if self.segments.len() == 1 {
                break;
            }
            self.segments.pop_front();
        }
        ready
    }
}

/// Returns the delta that makes a part of a message, if a delta makes such a part.
pub(crate) fn delta_of(content: &Content) -> Option<Delta> {
    match content.clone() {
        Content::Text(text) => Some(Delta::Text(text)),
        Content::Thinking(text) => Some(Delta::Thinking(text)),
        Content::Channel(said) => Some(Delta::Channel(said)),
        Content::ToolCall(call) => Some(Delta::ToolCall(call)),
        Content::Malformed(malformed) => Some(Delta::Malformed(malformed)),
        _ => None,
    }
}
