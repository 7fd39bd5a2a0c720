//! Models of the Hugging Face Hub: fetches them, and shows how far that is.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::hub::{
    CachedModel, Choice, Hub, HubError, Listing, ModelName, PullEvent, choose, choose_description, human,
};

use crate::asking;
use crate::notes::Notes;
use crate::progress::{Counted, Progress};

/// Converts an error, so that it is printed as all others are.
#[allow(clippy::needless_pass_by_value)] // it is called by `map_err`
pub(crate) fn error(error: HubError) -> Error {
    let kind = match error {
        HubError::Name { .. } | HubError::Endpoint { .. } | HubError::UnknownVariant { .. } => {
            ErrorKind::Invalid
        }
        HubError::NoVariant { .. } | HubError::NoTokenizer { .. } => ErrorKind::Unsupported,
        _ => ErrorKind::NotFound,
    };
    let message = error.to_string();
    match std::error::Error::source(&error) {
        // The message of the error itself does not contain its cause.
        Some(cause) => Error::new(kind, format!("{message}: {cause}")),
        None => Error::new(kind, message),
    }
}

/// Offers to fetch a model of the Hub that is not on this machine. After a refusal, opening the model fails.
pub(crate) fn offer(path: &Path, notes: Notes) -> Result<()> {
    if path.exists() || !asking::can_ask() {
        return Ok(());
    }
    let Some(name) = path.to_str().and_then(|name| name.parse::<ModelName>().ok()) else { return Ok(()) };
    let hub = Hub::from_env().map_err(error)?;
    if hub.cache().find(&name).map_err(error)?.is_some() {
        return Ok(());
    }
    let listing = hub.list(&name.repository, name.revision()).map_err(error)?;
    let choice = choose(&listing, name.variant.as_deref(), hub.machine()).map_err(error)?;
    let question = format!("{name} is not on this machine. Fetch {} now? [Y/n] ", human(choice.bytes));
    if is_wanted(&question) {
        pull(&hub, &name, &listing, &choice, notes).map_err(error)?;
    }
    Ok(())
}

/// Fetches the files that describe a model of the Hub, unless they are on this machine. They are small, so there is no question first.
pub(crate) fn fetch_description(path: &Path, notes: Notes) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let Some(name) = path.to_str().and_then(|name| name.parse::<ModelName>().ok()) else { return Ok(()) };
    let hub = Hub::from_env().map_err(error)?;
    if hub.cache().find_description(&name).map_err(error)?.is_some() {
        return Ok(());
    }
    let fetched = pull_description(&hub, &name, notes);
    fetched.map(drop).map_err(|failure| error(failure).context(format_args!("there is no folder {path:?}")))
}

/// Fetches the files that describe a model, without its weights.
fn pull_description(hub: &Hub, name: &ModelName, notes: Notes) -> Result<CachedModel, HubError> {
    let listing = hub.list(&name.repository, name.revision())?;
    let choice = choose_description(&listing)?;
    pull(hub, name, &listing, &choice, notes)
}

/// Asks a person. An empty line is a yes, no line is a no.
fn is_wanted(question: &str) -> bool {
    let answer = asking::ask(question).map(|line| line.trim().to_lowercase());
    answer.is_some_and(|answer| ["", "y", "yes"].contains(&answer.as_str()))
}

/// Fetches what the cache lacks of a variant.
pub(crate) fn pull(
    hub: &Hub,
    name: &ModelName,
    listing: &Listing,
    choice: &Choice,
    notes: Notes,
) -> Result<CachedModel, HubError> {
    notes.say(headline(name, listing, choice));
    let mut progress = PullProgress { notes, bar: None, before: 0, file: 0 };
    hub.pull_choice(name, listing, choice, &mut |event| {
        progress.show(event);
        ControlFlow::Continue(())
    })
}

/// Returns what is fetched, why this variant, and under which licence.
fn headline(name: &ModelName, listing: &Listing, choice: &Choice) -> String {
    let Choice { variant, bytes, reason, .. } = choice;
    let mut line = format!("{}: variant {}, {} ({reason})", name.repository, variant.name, human(*bytes));
    if let Some(licence) = &listing.licence {
        let _ = write!(line, ", licence {licence}");
    }
    if listing.is_gated {
        line += ", gated";
    }
    line
}

/// Shows a bar for all files together.
struct PullProgress {
    notes: Notes,
    bar: Option<Counted>,
    /// The bytes of the files before this one.
    before: u64,
    /// The size of this file.
    file: u64,
}

impl PullProgress {
    fn show(&mut self, event: PullEvent<'_>) {
        match event {
            PullEvent::Begins { bytes, cached, .. } if cached < bytes => {
                if cached > 0 {
                    self.notes.say(format_args!("{} of it are here already", human(cached)));
                }
                self.bar = Some(Progress::of_bytes(self.notes, bytes - cached));
            }
            PullEvent::File { bytes, cached, .. } => self.file = bytes - cached,
            PullEvent::Received { .. } | PullEvent::Checked { .. } => self.advance(event),
            PullEvent::Locked { path } => {
                self.notes.say(format_args!("another program is fetching {path}; waiting for it"));
            }
            PullEvent::Waiting { reason, wait } => {
                self.notes.say(format_args!("{reason}; trying again in {} s", wait.as_secs().max(1)));
            }
            _ => {}
        }
    }

    fn advance(&mut self, event: PullEvent<'_>) {
        let Some(bar) = &mut self.bar else { return };
        match event {
            PullEvent::Received { fetched, .. } => bar.advance_to(self.before + fetched),
            _ => {
                self.before += self.file;
                bar.advance_to(self.before);
            }
        }
    }
}
