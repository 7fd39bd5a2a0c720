//! Finds as many of the best notes as have room in a number of tokens.

use alloquy_core::prompt::PromptCounter;
use alloquy_core::template::PromptEnd;
use alloquy_core::{Request, Result};

use crate::lines::listed;
use crate::note::StoredNote;
use crate::placement::Placement;

/// How many notes that are too long are passed over for shorter ones.
const SKIPS: usize = 3;

/// How notes are shown in a prompt.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) heading: String,
    pub(crate) has_ids: bool,
    pub(crate) placement: Placement,
}

impl Shown {
    /// Returns a request with notes.
    pub(crate) fn with(&self, request: &Request, notes: &[StoredNote]) -> Request {
        let mut request = request.clone();
        if !notes.is_empty() {
            self.placement.put(&mut request, listed(&self.heading, notes, self.has_ids), notes);
        }
        request
    }
}

/// Counts the prompts of a request with some notes.
pub(crate) struct Fitting<'a> {
    counter: &'a dyn PromptCounter,
    shown: &'a Shown,
    /// The request, with the ending of one that is answered.
    request: Request,
    bare: usize,
    most: usize,
}

/// Notes that fit, and how many tokens they take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fitted {
    pub(crate) notes: Vec<StoredNote>,
    pub(crate) tokens: usize,
}

impl<'a> Fitting<'a> {
    /// Prepares for notes that take at most `most` tokens.
    pub(crate) fn new(
        counter: &'a dyn PromptCounter,
        shown: &'a Shown,
        request: &Request,
        most: usize,
    ) -> Result<Self> {
        let mut request = request.clone();
        // A prompt that is computed ahead has the notes of the one that is answered.
        if request.ending == PromptEnd::Closed {
            request.ending = PromptEnd::Generation;
        }
        let bare = counter.units(&request)?;
        Ok(Self { counter, shown, request, bare, most })
    }

    /// Returns as many of the best notes as fit. A note that is too long does not hinder those after it.
    pub(crate) fn best(&self, found: &[StoredNote]) -> Result<Fitted> {
        let mut fitted = Fitted::default();
        let mut rest = found;
        for _ in 0..=SKIPS {
            let (more, tokens) = self.first(&fitted, rest)?;
            fitted.notes.extend(rest.iter().take(more).cloned());
            fitted.tokens = tokens;
            // The note after those that fit is the one that is too long.
            rest = rest.get(more + 1..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
        }
        Ok(fitted)
    }

    /// Returns how many of the first notes of `rest` fit after those that are chosen, and how many tokens all of them take.
    fn first(&self, chosen: &Fitted, rest: &[StoredNote]) -> Result<(usize, usize)> {
        let whole = self.tokens(chosen, rest)?;
        if whole <= self.most {
            return Ok((rest.len(), whole));
        }
        // `fits` notes fit and take `tokens`; `too_many` do not fit. Both are counted, so the limit holds exactly.
        let mut fits = 0;
        let mut tokens = chosen.tokens;
        let mut too_many = rest.len();
        while too_many - fits > 1 {
            let middle = fits + (too_many - fits) / 2;
            let counted = self.tokens(chosen, rest.get(..middle).unwrap_or_default())?;
            if counted <= self.most {
                fits = middle;
                tokens = counted;
            } else {
                too_many = middle;
            }
        }
        Ok((fits, tokens))
    }

    /// Returns by how many tokens the chosen notes and `more` make the prompt longer.
    fn tokens(&self, chosen: &Fitted, more: &[StoredNote]) -> Result<usize> {
        let mut notes = chosen.notes.clone();
        notes.extend_from_slice(more);
        if notes.is_empty() {
            return Ok(0);
        }
        let counted = self.counter.units(&self.shown.with(&self.request, &notes))?;
        Ok(counted.saturating_sub(self.bare))
    }
}
