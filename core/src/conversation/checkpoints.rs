//! Places of a conversation with names, to go back to. Knows no model.

use super::Conversation;
use crate::{Error, ErrorKind, Result};

impl Conversation {
    /// Gives the present place a name, to come back with [`Conversation::rewind`]; a name that is taken moves here.
    ///
    /// What is pending is not part of the place.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use alloquy_core::{Conversation, Preface};
    /// use alloquy_testing::EchoModel;
    ///
    /// let mut conversation = Conversation::new(Arc::new(EchoModel), Preface::default());
    /// conversation.send_message("one")?;
    /// conversation.checkpoint("after one");
    /// conversation.send_message("two")?;
    /// conversation.rewind("after one")?;
    /// assert_eq!(conversation.history().len(), 2);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn checkpoint(&mut self, label: impl Into<String>) {
        self.checkpoints.insert(label.into(), self.history.len());
    }

    /// Returns the names of places with how many messages there are up to each, in the order of their names.
    pub fn checkpoints(&self) -> impl Iterator<Item = (&str, usize)> {
        self.checkpoints.iter().map(|(label, place)| (label.as_str(), *place))
    }

    /// Goes back to a place: forgets what was said since, what is pending, and the names of later places. What the model
    /// computed up to there is used on.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a name that no place has; nothing changes then.
    pub fn rewind(&mut self, label: &str) -> Result<()> {
        let place = self.checkpoints.get(label).copied().ok_or_else(|| self.no_checkpoint(label))?;
        self.truncate(place);
        Ok(())
    }

    /// Returns how many steps were taken: messages that were said, answers included. What is pending is no step.
    pub fn step(&self) -> usize {
        self.history.len()
    }

    /// Goes back to where so many steps were taken, as [`Conversation::rewind`] goes back to a name.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a step that was not taken; nothing changes then.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use alloquy_core::{Conversation, Preface};
    /// use alloquy_testing::EchoModel;
    ///
    /// let mut conversation = Conversation::new(Arc::new(EchoModel), Preface::default());
    /// conversation.send_message("one")?;
    /// let step = conversation.step();
    /// conversation.send_message("two")?;
    /// conversation.rewind_to(step)?;
    /// assert_eq!(conversation.history().len(), 2);
    /// assert!(conversation.rewind_to(3).is_err());
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn rewind_to(&mut self, step: usize) -> Result<()> {
        let taken = self.step();
        if step > taken {
            let message = format!("step {step} was not taken, at most {taken}");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        self.truncate(step);
        Ok(())
    }

    fn no_checkpoint(&self, label: &str) -> Error {
        let known: Vec<_> = self.checkpoints.keys().map(|label| format!("{label:?}")).collect();
        let known = if known.is_empty() {
            "there is none".to_owned()
        } else {
            format!("one of: {}", known.join(", "))
        };
        Error::new(ErrorKind::NotFound, format!("checkpoint {label:?} does not exist; {known}"))
    }
}
