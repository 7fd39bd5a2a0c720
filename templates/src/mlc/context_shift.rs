//! Context shift: chooses the messages that a prompt omits when it no longer fits, by their numbers of tokens.
//!
//! Reference: `GetInputTokens` of `cpp/llm_chat.cc` in MLC LLM of March 2024.

use std::ops::Range;

use alloquy_core::{Error, ErrorKind, Result};

use super::part::{Part, PartKind};

/// MLC's policy for a conversation that outgrows its window.
///
/// A prompt that leaves no room for a reply is shortened. The new one has its front, its system text, and as many of its last
/// messages as fill a share of the window. This is MLC's arithmetic for the parts of one prompt. `HistoryShift` of
/// alloquy-context applies the same numbers to conversations with any template.
///
/// ```
/// use alloquy_templates::mlc::{ContextShift, PartKind, PartLength};
///
/// let shift = ContextShift::new(100).with_mean_gen_len(20);
/// let kinds = [PartKind::System, PartKind::User, PartKind::Assistant, PartKind::User, PartKind::Header];
/// let parts = kinds.map(|kind| PartLength { kind, tokens: 19 });
/// assert!(shift.is_due(0, 95));
/// let shifted = shift.plan(&parts)?;
/// assert_eq!(shifted.dropped(), 1..2);
/// assert_eq!(shifted.tokens, 76);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ContextShift {
    /// How many tokens fit, prompt and reply together.
    pub window: usize,
    /// The expected tokens of a reply.
    pub mean_gen_len: usize,
    /// The share of the window that the new prompt fills; above 0 and at most 1.
    pub shift_fill_factor: f64,
    /// The message with which the new prompt may continue.
    pub restart: Restart,
}

/// The message with which a shortened prompt may continue after its system text.
///
/// ```
/// use alloquy_templates::mlc::{ContextShift, PartKind, PartLength, Restart};
///
/// let shift = ContextShift::new(100).with_mean_gen_len(20);
/// let kinds = [PartKind::System, PartKind::User, PartKind::Assistant, PartKind::User, PartKind::Header];
/// let parts = kinds.map(|kind| PartLength { kind, tokens: 19 });
/// assert_eq!(shift.plan(&parts)?.dropped(), 1..2);
/// let shift = shift.with_restart(Restart::UserMessage);
/// assert_eq!(shift.plan(&parts)?.dropped(), 1..3);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restart {
    /// Any message, also one of the assistant.
    #[default]
    AnyMessage,
    /// A message of the user: the next one from the chosen message on.
    UserMessage,
    /// As MLC up to May 2024, with its defects. The system text is printed twice when nothing can be dropped. Tokens that do
    /// not fit are cut at the start, so that BOS and the system text are lost.
    AsMlc,
}

/// The length of a part of a prompt.
///
/// [`ContextShift`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLength {
    /// The kind of the part.
    pub kind: PartKind,
    /// How many tokens it has.
    pub tokens: usize,
}

/// A shortened prompt.
///
/// [`ContextShift`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shift {
    /// How many parts are kept at the start: the front and the system text.
    pub kept: usize,
    /// The index of the part with which the prompt continues.
    pub restart: usize,
    /// The tokens of the new prompt that still do not fit and must be cut; empty when all fit.
    pub cut: Range<usize>,
    /// How many tokens the new prompt has, without those that are cut.
    pub tokens: usize,
    /// How many tokens are left for the reply. These are fewer than expected when the messages that must be kept are long.
    pub room: usize,
}

/// MLC's own `mean_gen_len`.
pub(super) const MEAN_GEN_LEN: usize = 128;

/// MLC's own `shift_fill_factor`.
pub(super) const SHIFT_FILL_FACTOR: f64 = 0.3;

impl ContextShift {
    /// Returns MLC's policy for a window: replies of 128 tokens, and a fill factor of 0.3.
    pub fn new(window: usize) -> Self {
        Self {
            window,
            mean_gen_len: MEAN_GEN_LEN,
            shift_fill_factor: SHIFT_FILL_FACTOR,
            restart: Restart::default(),
        }
    }

    /// Sets the expected tokens of a reply.
    #[must_use]
    pub fn with_mean_gen_len(mut self, tokens: usize) -> Self {
        self.mean_gen_len = tokens;
        self
    }

    /// Sets the share of the window that the new prompt fills.
    #[must_use]
    pub fn with_fill_factor(mut self, share: f64) -> Self {
        self.shift_fill_factor = share;
        self
    }

    /// Sets with which message the new prompt may continue.
    #[must_use]
    pub fn with_restart(mut self, restart: Restart) -> Self {
        self.restart = restart;
        self
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the value and the valid range.
    pub fn validate(&self) -> Result<()> {
        let share = self.shift_fill_factor;
        if !(share > 0.0 && share <= 1.0) {
            let message = format!("shift_fill_factor {share} is not above 0 and at most 1");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let reply = self.mean_gen_len;
        let window = self.window;
        if reply >= window {
            let message = format!("mean_gen_len {reply} is not below the window of {window} tokens");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(())
    }

    /// Returns whether a conversation of `held` tokens must be shortened before `new` tokens are added.
    pub fn is_due(&self, held: usize, new: usize) -> bool {
        held.saturating_add(new).saturating_add(self.mean_gen_len) >= self.window
    }

    /// Decides which parts of a prompt are kept.
    ///
    /// The last two parts, a question and the header of its reply, are always kept.
    ///
    /// # Errors
    /// [`ErrorKind::ContextOverflow`] when front and system text alone leave no room for a reply.
    pub fn plan(&self, parts: &[PartLength]) -> Result<Shift> {
        let lead = parts.iter().take_while(|part| matches!(part.kind, PartKind::Front | PartKind::System));
        let kept = lead.count();
        let lead = tokens(parts.iter().take(kept));
        let restart = self.restart_of(parts, kept);
        let whole = lead.saturating_add(tokens(parts.iter().skip(restart)));
        let cut = if whole < self.window { 0..0 } else { self.cut(lead, whole)? };
        let left = whole - cut.len();
        Ok(Shift { kept, restart, cut, tokens: left, room: self.window.saturating_sub(left) })
    }

    /// Returns the index of the part with which the prompt continues.
    fn restart_of(&self, parts: &[PartLength], kept: usize) -> usize {
        match (self.fitting(parts), self.restart) {
            (Some(found), Restart::UserMessage) => {
                let next = parts.iter().skip(found).position(|part| part.kind == PartKind::User);
                next.map_or(found, |further| found + further)
            }
            (Some(found), Restart::AnyMessage | Restart::AsMlc) => found,
            // No suffix fills the share: all messages are kept, and in MLC the system text is repeated.
            (None, Restart::AsMlc) => after_front(parts),
            (None, Restart::AnyMessage | Restart::UserMessage) => kept,
        }
    }

    /// Returns the first message, counted from the end, with which the messages after it fill the share. The part after the
    /// front counts, too.
    fn fitting(&self, parts: &[PartLength]) -> Option<usize> {
        let first = after_front(parts);
        let mut filled = parts.get(first)?.tokens;
        let share = self.shift_fill_factor * self.window as f64;
        for (position, part) in parts.iter().enumerate().skip(first + 1).rev() {
            filled = filled.saturating_add(part.tokens);
            if filled as f64 >= share && position + 2 < parts.len() {
                return Some(position);
            }
        }
        None
    }

    /// Returns the tokens to cut from a prompt of `whole` tokens, the first `lead` of which are front and system text.
    fn cut(&self, lead: usize, whole: usize) -> Result<Range<usize>> {
        let fitting = self.window.saturating_sub(self.mean_gen_len);
        let excess = whole - fitting;
        match self.restart {
            Restart::AsMlc => Ok(0..excess),
            Restart::AnyMessage | Restart::UserMessage if lead < fitting => {
                Ok(lead..lead.saturating_add(excess))
            }
            Restart::AnyMessage | Restart::UserMessage => Err(Error::new(
                ErrorKind::ContextOverflow,
                format!(
                    "the system text has {lead} tokens, of a window of {} tokens {} are for the reply",
                    self.window, self.mean_gen_len
                ),
            )),
        }
    }
}

impl Shift {
    /// Returns the parts that the new prompt omits; none when MLC repeats one.
    pub fn dropped(&self) -> Range<usize> {
        self.kept..self.restart.max(self.kept)
    }

    /// Returns the text of the new prompt, which still contains the tokens of [`Shift::cut`].
    pub fn text(&self, parts: &[Part]) -> String {
        let lead = parts.iter().take(self.kept);
        lead.chain(parts.iter().skip(self.restart)).map(|part| part.text.as_str()).collect()
    }
}

/// Returns the index of the first part after the front.
fn after_front(parts: &[PartLength]) -> usize {
    parts.iter().take_while(|part| part.kind == PartKind::Front).count()
}

fn tokens<'a>(parts: impl Iterator<Item = &'a PartLength>) -> usize {
    parts.fold(0, |sum, part| sum.saturating_add(part.tokens))
}
