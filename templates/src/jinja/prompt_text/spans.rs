//! Collects the output of a render as spans with their sources.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::Source;
use alloquy_core::prompt_library::RenderedPrompt;

/// What a render has found out so far. The printing functions and the [`Sink`] share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// The index of the source of the text that is printed now.
    pub(super) current: Option<usize>,
    sources: Vec<Source>,
    indices: HashMap<Source, usize>,
    pub(super) missing: Vec<String>,
    pub(super) missing_prompts: Vec<String>,
    /// The prompt that was rendered last by a reference.
    pub(super) reference: Option<RenderedPrompt>,
}

impl Progress {
    /// Locks the state for a moment. No code that may fail runs meanwhile.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the index of a source.
    pub(super) fn index_of(&mut self, source: &Source) -> usize {
        if let Some(index) = self.indices.get(source) {
            return *index;
        }
        let index = self.sources.len();
        self.sources.push(source.clone());
        self.indices.insert(source.clone(), index);
        index
    }

    /// Returns the source of an index.
    pub(super) fn source(&self, index: Option<usize>) -> Option<Source> {
        index.and_then(|index| self.sources.get(index)).cloned()
    }
}

/// The output of a render, up to a limit. The engine writes here what is printed, but not what a block or macro captures.
#[derive(Debug)]
pub(super) struct Sink {
    progress: Progress,
    text: Vec<u8>,
    /// Where the spans end, with their sources.
    ends: Vec<(usize, Option<usize>)>,
    pub(super) limit: usize,
    /// Whether more was written than the limit allows.
    pub(super) is_full: bool,
}

impl Sink {
    pub(super) fn new(progress: Progress, limit: usize) -> Self {
        Self { progress, text: Vec::new(), ends: Vec::new(), limit, is_full: false }
    }

    /// Returns the spans. The engine writes whole texts, so the bytes are always valid.
    pub(super) fn finish(self) -> RenderedPrompt {
        let text = String::from_utf8(self.text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let state = self.progress.lock();
        let mut rendered = RenderedPrompt::default();
        let mut start = 0;
        for (end, source) in self.ends {
            let source = state.source(source);
            rendered.push(text.get(start..end).unwrap_or_default(), source);
            start = end;
        }
        rendered
    }
}

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len() + bytes.len() > self.limit {
            self.is_full = true;
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        self.text.extend_from_slice(bytes);
        let end = self.text.len();
        let source = self.progress.lock().current;
        match self.ends.last_mut().filter(|(_, last)| *last == source) {
            Some((last, _)) => *last = end,
            None => self.ends.push((end, source)),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
