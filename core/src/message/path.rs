//! The path of messages from the first one to the one to answer. Copies of a path share its messages.

use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::media::Digest;
use crate::message::Message;
use crate::report::CutHistory;
use crate::tokenizer::TokenId;

mod outline;

use outline::Outlined;

pub use outline::PathOutline;

/// A path of messages. It dereferences to a slice.
///
/// A copy shares the messages, and so does a path that begins later, so the cost of a turn does not grow with the
/// conversation. Changing a shared path copies its messages first.
///
/// ```
/// use alloquy_core::Message;
/// use alloquy_core::message::MessagePath;
///
/// let mut path = MessagePath::from(vec![Message::user("Hi"), Message::assistant("Hello!")]);
/// let before = path.clone();
/// path.push(Message::user("And you?"));
/// assert_eq!((before.len(), path.len()), (2, 3));
/// assert_eq!(path[2].text(), "And you?");
/// ```
#[derive(Clone, Default)]
pub struct MessagePath {
    said: Arc<Said>,
    shown: Range<usize>,
    /// Whether replies with known token ids were left out.
    lost: bool,
}

/// The messages that paths share.
#[derive(Default)]
struct Said {
    messages: Vec<Message>,
    /// The token ids of replies, by their places.
    sampled: Vec<Sampled>,
    /// Where the histories in the prompts of replies began, by their places.
    cuts: Vec<(usize, CutHistory)>,
    /// The outline of the messages that were looked at so far.
    outline: Mutex<Outlined>,
}

/// The token ids of the reply at a place.
#[derive(Clone)]
struct Sampled {
    place: usize,
    ids: Arc<[TokenId]>,
}

impl Clone for Said {
    fn clone(&self) -> Self {
        let outline = Mutex::new(self.outline().clone());
        let messages = self.messages.clone();
        let sampled = self.sampled.clone();
        Self { messages, sampled, cuts: self.cuts.clone(), outline }
    }
}

impl Said {
    fn outline(&self) -> MutexGuard<'_, Outlined> {
        // The outline is valid for the messages that it covers, even if a thread panicked while it held the lock.
        self.outline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MessagePath {
    /// Returns the messages.
    pub fn as_slice(&self) -> &[Message] {
        self.said.messages.get(self.shown.clone()).unwrap_or_default()
    }

    /// Adds a message.
    pub fn push(&mut self, message: Message) {
        self.own().messages.push(message);
        self.shown.end += 1;
    }

    /// Adds a reply and its token ids, so that the next prompts use them.
    pub fn push_sampled(&mut self, message: Message, ids: Vec<TokenId>) {
        let place = self.len();
        let said = self.own();
        if !ids.is_empty() {
            said.sampled.push(Sampled { place, ids: ids.into() });
        }
        said.messages.push(message);
        self.shown.end += 1;
    }

    /// Notes where the history in the prompt of the last message began.
    pub(crate) fn note_cut(&mut self, cut: CutHistory) {
        if let Some(place) = self.len().checked_sub(1) {
            self.own().cuts.push((place, cut));
        }
    }

    /// Returns where the histories of earlier prompts began, each with the index of its reply, the last one first. A
    /// path that does not begin at the first message has none.
    ///
    /// A policy for a full context continues from the last one, also in another process: see
    /// [`Reply::cut`](crate::Reply::cut).
    pub fn history_cuts(&self) -> impl Iterator<Item = (usize, &CutHistory)> {
        let shown = if self.shown.start == 0 { self.shown.end } else { 0 };
        let known = self.said.cuts.iter().rev().map(|(place, cut)| (*place, cut));
        known.skip_while(move |(place, _)| *place >= shown)
    }

    /// Removes the last message and returns it.
    pub fn pop(&mut self) -> Option<Message> {
        let last = self.last()?.clone();
        self.truncate(self.len() - 1);
        Some(last)
    }

    /// Keeps the first `length` messages.
    pub fn truncate(&mut self, length: usize) {
        self.shown.end = self.shown.end.min(self.shown.start.saturating_add(length));
    }

    /// Replaces a message and returns the former one.
    pub fn replace(&mut self, place: usize, message: Message) -> Option<Message> {
        self.get(place)?;
        let said = self.own();
        said.sampled.retain(|sampled| sampled.place != place);
        // The prompts of the replies up to this place did not have the message.
        said.cuts.retain(|(reply, _)| *reply <= place);
        *said.outline.get_mut().unwrap_or_else(PoisonError::into_inner) = Outlined::default();
        said.messages.get_mut(place).map(|before| std::mem::replace(before, message))
    }

    /// Returns the messages for any change; the token ids of replies are dropped.
    pub fn to_mut(&mut self) -> MessagesMut<'_> {
        let said = self.own();
        said.sampled.clear();
        said.cuts.clear();
        *said.outline.get_mut().unwrap_or_else(PoisonError::into_inner) = Outlined::default();
        MessagesMut(self)
    }

    /// Returns the token ids of the replies, in their order.
    pub fn sampled(&self) -> impl Iterator<Item = &[TokenId]> {
        let (from, to) = self.sampled_within(&self.shown);
        self.said.sampled.get(from..to).unwrap_or_default().iter().map(|sampled| &*sampled.ids)
    }

    /// Returns whether replies with known token ids were left out.
    pub fn has_lost(&self) -> bool {
        self.lost
    }

    fn sampled_within(&self, places: &Range<usize>) -> (usize, usize) {
        let sampled = &self.said.sampled;
        let from = sampled.partition_point(|sampled| sampled.place < places.start);
        (from, sampled.partition_point(|sampled| sampled.place < places.end).max(from))
    }

    /// Returns the first `lead` messages, then `instead`, then those in `rest`, where `rest` begins after the lead.
    /// Replies keep their token ids.
    ///
    /// ```
    /// use alloquy_core::Message;
    /// use alloquy_core::message::MessagePath;
    ///
    /// let said = ["Be kind.", "Hi", "Hello!", "And you?"];
    /// let path: MessagePath = said.into_iter().map(Message::user).collect();
    /// let excerpt = path.excerpt(1, &[Message::system("They greeted.")], 3..4);
    /// let texts: Vec<_> = excerpt.iter().map(Message::text).collect();
    /// assert_eq!(texts, ["Be kind.", "They greeted.", "And you?"]);
    /// ```
    pub fn excerpt(&self, lead: usize, instead: &[Message], rest: Range<usize>) -> Self {
        let lead = lead.min(self.len());
        let end = rest.end.min(self.len()).max(lead);
        let rest = rest.start.clamp(lead, end)..end;
        let lost = lead..rest.start;
        let (from, to) = self.sampled_within(&self.shifted(&lost));
        let lost = self.lost || from < to;
        if lead == 0 && instead.is_empty() {
            return Self { said: Arc::clone(&self.said), shown: self.shifted(&rest), lost };
        }
        let kept = [self.get(..lead), Some(instead), self.get(rest.clone())];
        let messages: Vec<_> = kept.into_iter().flatten().flatten().cloned().collect();
        let mut sampled = self.sampled_from(&(0..lead), 0);
        sampled.extend(self.sampled_from(&rest, lead + instead.len()));
        let shown = 0..messages.len();
        Self { said: Arc::new(Said { messages, sampled, ..Said::default() }), shown, lost }
    }

    /// Returns the token ids of the replies in a range, moved to begin at another place.
    fn sampled_from(&self, places: &Range<usize>, begin: usize) -> Vec<Sampled> {
        let places = self.shifted(places);
        let (from, to) = self.sampled_within(&places);
        let known = self.said.sampled.get(from..to).unwrap_or_default().iter();
        known
            .map(|known| Sampled { place: known.place - places.start + begin, ids: Arc::clone(&known.ids) })
            .collect()
    }

    fn shifted(&self, range: &Range<usize>) -> Range<usize> {
        self.shown.start + range.start..self.shown.start + range.end
    }

    /// Returns the outline of the messages: their roles, calls and sizes. Paths that share messages share the outline,
    /// and each added message is read once.
    ///
    /// ```
    /// use alloquy_core::Message;
    /// use alloquy_core::message::MessagePath;
    ///
    /// let mut path = MessagePath::from(vec![Message::system("Be kind."), Message::user("Hi")]);
    /// assert_eq!(path.outline().system(), 1);
    /// path.push(Message::assistant("Hello!"));
    /// assert_eq!((path.outline().restarts(), path.outline().answers()), (&[1][..], &[2][..]));
    /// ```
    pub fn outline(&mut self) -> Arc<PathOutline> {
        self.become_whole();
        self.said.outline().reach(&self.said.messages)
    }

    /// Returns the digest of the first `length` messages. It is computed once for each message.
    pub fn digest(&mut self, length: usize) -> Digest {
        self.become_whole();
        self.said.outline().digest(&self.said.messages, length)
    }

    /// Returns the messages for a change, copied if they are shared.
    fn own(&mut self) -> &mut Said {
        self.become_whole();
        Arc::make_mut(&mut self.said)
    }

    /// Removes the messages that are outside of this path.
    fn become_whole(&mut self) {
        if self.shown == (0..self.said.messages.len()) {
            return;
        }
        let length = self.len();
        let is_beginning = self.shown.start == 0;
        match Arc::get_mut(&mut self.said).filter(|_| is_beginning) {
            Some(said) => {
                said.messages.truncate(length);
                said.sampled.retain(|sampled| sampled.place < length);
                said.cuts.retain(|(place, _)| *place < length);
                *said.outline.get_mut().unwrap_or_else(PoisonError::into_inner) = Outlined::default();
            }
            None => {
                let messages = self.to_vec();
                let sampled = self.sampled_from(&(0..length), 0);
                let mut cuts = if is_beginning { self.said.cuts.clone() } else { Vec::new() };
                cuts.retain(|(place, _)| *place < length);
                self.said = Arc::new(Said { messages, sampled, cuts, outline: Mutex::default() });
                self.shown = 0..length;
            }
        }
    }
}

/// The messages of a [`MessagePath`] while they are changed.
#[derive(Debug)]
pub struct MessagesMut<'a>(&'a mut MessagePath);

impl Deref for MessagesMut<'_> {
    type Target = Vec<Message>;

    fn deref(&self) -> &Vec<Message> {
        &self.0.said.messages
    }
}

impl DerefMut for MessagesMut<'_> {
    fn deref_mut(&mut self) -> &mut Vec<Message> {
        &mut Arc::make_mut(&mut self.0.said).messages
    }
}

impl Drop for MessagesMut<'_> {
    fn drop(&mut self) {
        self.0.shown = 0..self.0.said.messages.len();
    }
}

impl Deref for MessagePath {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        self.as_slice()
    }
}

impl From<Vec<Message>> for MessagePath {
    fn from(messages: Vec<Message>) -> Self {
        let shown = 0..messages.len();
        Self { said: Arc::new(Said { messages, ..Said::default() }), shown, lost: false }
    }
}

impl FromIterator<Message> for MessagePath {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        Vec::from_iter(messages).into()
    }
}

impl Extend<Message> for MessagePath {
    fn extend<I: IntoIterator<Item = Message>>(&mut self, messages: I) {
        for message in messages {
            self.push(message);
        }
    }
}

impl<'a> IntoIterator for &'a MessagePath {
    type Item = &'a Message;
    type IntoIter = std::slice::Iter<'a, Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

impl IntoIterator for MessagePath {
    type Item = Message;
    type IntoIter = std::vec::IntoIter<Message>;

    fn into_iter(mut self) -> Self::IntoIter {
        std::mem::take(&mut self.own().messages).into_iter()
    }
}

impl fmt::Debug for MessagePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(formatter)
    }
}

impl PartialEq for MessagePath {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl PartialEq<[Message]> for MessagePath {
    fn eq(&self, other: &[Message]) -> bool {
        self.as_slice() == other
    }
}

impl PartialEq<Vec<Message>> for MessagePath {
    fn eq(&self, other: &Vec<Message>) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<const N: usize> PartialEq<[Message; N]> for MessagePath {
    fn eq(&self, other: &[Message; N]) -> bool {
        self.as_slice() == other.as_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::Digest;

    /// A path of six messages, whose replies 1, 3 and 5 have cuts.
    fn path() -> MessagePath {
        let mut path = MessagePath::default();
        for place in 0..6 {
            path.push(Message::user(place.to_string()));
            if place % 2 == 1 {
                path.note_cut(CutHistory::new(Digest::of(b"policy"), place, 0));
            }
        }
        path
    }

    fn cuts(path: &MessagePath) -> Vec<usize> {
        path.history_cuts().map(|(place, _)| place).collect()
    }

    #[test]
    fn a_replacement_keeps_the_cuts_of_prompts_without_the_message() {
        for (place, kept) in [(5, vec![5, 3, 1]), (4, vec![3, 1]), (3, vec![3, 1]), (0, vec![])] {
            let mut path = path();
            path.replace(place, Message::user("other"));
            assert_eq!(cuts(&path), kept, "{place}");
        }
    }

    #[test]
    fn a_shared_path_that_was_shortened_forgets_the_cuts_after_its_end() {
        let whole = path();
        let mut shorter = whole.clone();
        shorter.truncate(2);
        for _ in 0..4 {
            shorter.push(Message::user("another"));
        }
        assert_eq!((cuts(&shorter), cuts(&whole)), (vec![1], vec![5, 3, 1]));
    }
}
