//! A family as a host has set it: its data, and what a configuration says otherwise. Knows no reply and no prompt.

use std::sync::Arc;

use alloquy_core::Channel;

use crate::calls::Syntax;
use crate::config::{DataProcessorConfig, Fences};
use crate::family::{Family, Holds, Span};

/// A family with everything that a host may change.
#[derive(Debug)]
pub(crate) struct Configured {
    /// What no host changes.
    pub(crate) data: &'static Family,
    /// The marked stretches of a reply.
    pub(crate) stretches: Vec<Arc<Stretch>>,
    /// Calls that no marker announces.
    pub(crate) unmarked: &'static [&'static Syntax],
    /// Added tokens that are text.
    pub(crate) ordinary: Vec<String>,
    /// Texts that end a reply.
    pub(crate) stops: Vec<String>,
}

/// A stretch of a reply between two markers: a [`Span`] whose markers somebody may have set.
#[derive(Debug)]
pub(crate) struct Stretch {
    /// The text that begins it; empty for calls that no marker announces.
    pub(crate) open: String,
    /// The text that ends it; empty where the calls themselves tell.
    pub(crate) close: String,
    /// How many bytes at the end of `open` belong to what stands between.
    pub(crate) kept: usize,
    /// What stands between.
    pub(crate) holds: StretchContent,
}

/// What a [`Stretch`] holds.
#[derive(Debug)]
pub(crate) enum StretchContent {
    /// What the model thinks before it answers.
    Thinking,
    /// What it says in the channel of this name.
    Channel(String),
    /// Tool calls; looked for only where tools are offered.
    Calls(&'static Syntax),
}

impl Configured {
    /// The family as it is.
    pub(crate) fn of(data: &'static Family) -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self {
            data,
            stretches: data.spans.iter().map(|span| Arc::new(Stretch::of(span))).collect(),
            unmarked: data.unmarked,
            ordinary: texts(data.ordinary),
            stops: texts(data.stops),
        }
    }

    /// The family with what `config` says otherwise; `fenced` is how its calls are written between fences that `config` sets.
    pub(crate) fn new(
        data: &'static Family,
        config: &DataProcessorConfig,
        fenced: Option<&'static Syntax>,
    ) -> Self {
        let mut configured = Self::of(data);
        if let Some(fences) = &config.calls
            && let Some(syntax) = fenced
        {
            configured.fence(fences, syntax);
        }
        configured.stretches.retain(|stretch| {
            let name = stretch.channel();
            name.is_none_or(|name| config.channels.iter().all(|channel| channel.name != name))
        });
        configured.stretches.extend(config.channels.iter().map(Stretch::named).map(Arc::new));
        configured.ordinary = config.ordinary.clone().unwrap_or(configured.ordinary);
        configured.stops = config.stops.clone().unwrap_or(configured.stops);
        configured
    }

    /// Looks for calls between these fences, and nowhere else.
    fn fence(&mut self, fences: &Fences, syntax: &'static Syntax) {
        self.unmarked = &[];
        self.stretches.retain(|stretch| !matches!(stretch.holds, StretchContent::Calls(_)));
        let Fences { start: open, end: close } = fences.clone();
        self.stretches.push(Arc::new(Stretch { open, close, kept: 0, holds: StretchContent::Calls(syntax) }));
    }

    /// Returns every text that means something in a reply.
    pub(crate) fn markers(&self) -> impl Iterator<Item = &str> {
        let ends = self.stretches.iter().flat_map(|stretch| [stretch.open.as_str(), &stretch.close]);
        ends.filter(|marker| !marker.is_empty()).chain(self.data.silent.iter().copied())
    }

    /// Returns the channels, with the markers as the model is trained to write them.
    pub(crate) fn channels(&self) -> Vec<Channel> {
        self.stretches.iter().filter_map(|stretch| Some(trained(stretch.channel()?, stretch))).collect()
    }
}

/// Templates print line breaks at both ends of a thought in `<think>`, and an empty line behind it.
fn trained(name: &str, stretch: &Stretch) -> Channel {
    match stretch.open.as_str() {
        "<think>" if name == Channel::THINKING => {
            Channel::new(name, "<think>\n", format!("\n{}\n\n", stretch.close))
        }
        open => Channel::new(name, open, &stretch.close),
    }
}

impl Stretch {
    fn of(span: &Span) -> Self {
        let holds = match span.holds {
            Holds::Thinking => StretchContent::Thinking,
            Holds::Calls(syntax) => StretchContent::Calls(syntax),
        };
        Self { open: span.open.to_owned(), close: span.close.to_owned(), kept: span.kept, holds }
    }

    fn named(channel: &Channel) -> Self {
        let holds = match channel.name.as_str() {
            Channel::THINKING => StretchContent::Thinking,
            name => StretchContent::Channel(name.to_owned()),
        };
        Self { open: channel.start.clone(), close: channel.end.clone(), kept: 0, holds }
    }

    /// Calls that no marker announces or ends.
    pub(crate) fn unmarked(syntax: &'static Syntax) -> Self {
        Self { open: String::new(), close: String::new(), kept: 0, holds: StretchContent::Calls(syntax) }
    }

    /// Returns the name of the channel that this is, if it is one.
    pub(crate) fn channel(&self) -> Option<&str> {
        match &self.holds {
            StretchContent::Thinking => Some(Channel::THINKING),
            StretchContent::Channel(name) => Some(name),
            StretchContent::Calls(_) => None,
        }
    }

    /// Returns the marker without what belongs to the calls behind it.
    pub(crate) fn opening(&self) -> &str {
        self.open.get(..self.open.len() - self.kept).unwrap_or_default()
    }
}
