//! Combines a family's data with the configuration of a host.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::processor::Channel;

use crate::built_in::{BuiltIn, Shape};
use crate::call_markers::CallMarkers;
use crate::calls::{CallSyntax, JSON};
use crate::config::DataProcessorConfig;
use crate::families;
use crate::family::Family;

/// A family, with copies of everything that a host may change.
#[derive(Debug)]
pub(crate) struct Configured {
    /// The family's own data.
    pub(crate) data: Family,
    /// Changes the template's input to the form that the family's templates expect.
    pub(crate) shape: Option<Shape>,
    /// The marked sections of a reply.
    pub(crate) sections: Vec<Arc<Section>>,
    /// Calls without markers.
    pub(crate) unmarked: Vec<Arc<CallSyntax>>,
    /// Added tokens that are ordinary text.
    pub(crate) ordinary: Vec<String>,
    /// Texts that end a reply.
    pub(crate) stops: Vec<String>,
}

/// A section of a reply between two markers.
#[derive(Debug)]
pub(crate) struct Section {
    /// The text that begins it; empty for calls without markers.
    pub(crate) open: String,
    /// The text that ends it; empty if the calls end by themselves.
    pub(crate) close: String,
    /// How many bytes at the end of `open` belong to the calls.
    pub(crate) kept: usize,
    /// What is between the markers.
    pub(crate) holds: SectionContent,
}

/// What is in a [`Section`].
#[derive(Debug)]
pub(crate) enum SectionContent {
    /// The model's thinking before it answers.
    Thinking,
    /// The text of the channel of this name.
    Channel(String),
    /// Tool calls. They are looked for only if tools are offered.
    Calls(Arc<CallSyntax>),
}

impl Configured {
    /// Returns a family without changes.
    ///
    /// # Errors
    /// As [`Configured::shape_of`].
    pub(crate) fn of(data: Family) -> Result<Self> {
        let shape = Self::shape_of(&data)?;
        Ok(Self::with_shape(data, shape))
    }

    /// Returns a family of this crate without changes.
    pub(crate) fn built_in(family: &BuiltIn) -> Self {
        Self::with_shape(family.family(), family.shape)
    }

    fn with_shape(data: Family, shape: Option<Shape>) -> Self {
        let channels = data.channels.iter().map(Section::named);
        let calls = data.calls.iter().map(|markers| {
            let syntax = markers.syntax.clone().unwrap_or_else(|| JSON.clone());
            Section::of_calls(markers, Arc::new(syntax))
        });
        Self {
            shape,
            sections: channels.chain(calls).map(Arc::new).collect(),
            unmarked: data.unmarked_calls.iter().cloned().map(Arc::new).collect(),
            ordinary: data.ordinary.clone(),
            stops: data.stops.clone(),
            data,
        }
    }

    /// Returns the function that changes the template's input to the form that the templates of a family expect.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](alloquy_core::ErrorKind::NotFound) if `template_input` names no family of this crate.
    pub(crate) fn shape_of(data: &Family) -> Result<Option<Shape>> {
        let Some(name) = &data.template_input else { return Ok(None) };
        let built_in = families::named(name).map_err(|error| error.context("\"template_input\""))?;
        Ok(built_in.shape)
    }

    /// Applies a configuration. `fenced` is how calls are written between the markers that it sets.
    pub(crate) fn set(&mut self, config: &DataProcessorConfig, fenced: Option<Arc<CallSyntax>>) {
        if let Some(markers) = &config.calls
            && let Some(syntax) = fenced
        {
            self.fence(markers, syntax);
        }
        self.sections.retain(|section| {
            let name = section.channel();
            name.is_none_or(|name| config.channels.iter().all(|channel| channel.name != name))
        });
        self.sections.extend(config.channels.iter().map(Section::named).map(Arc::new));
        if let Some(ordinary) = &config.ordinary {
            self.ordinary.clone_from(ordinary);
        }
        if let Some(stops) = &config.stops {
            self.stops.clone_from(stops);
        }
    }

    /// Replaces all markers of calls.
    fn fence(&mut self, markers: &CallMarkers, syntax: Arc<CallSyntax>) {
        self.unmarked.clear();
        self.sections.retain(|section| !matches!(section.holds, SectionContent::Calls(_)));
        self.sections.push(Arc::new(Section::of_calls(markers, syntax)));
    }

    /// Returns every marker of a reply.
    pub(crate) fn markers(&self) -> impl Iterator<Item = &str> {
        let ends = self.sections.iter().flat_map(|section| [section.open.as_str(), &section.close]);
        ends.filter(|marker| !marker.is_empty()).chain(self.data.silent.iter().map(String::as_str))
    }

    /// Returns the channels, with their markers as the model was trained to write them.
    pub(crate) fn channels(&self) -> Vec<Channel> {
        self.sections.iter().filter_map(|section| Some(trained(section.channel()?, section))).collect()
    }
}

/// Adds the white space that templates print: line breaks at both ends of a thinking block in `<think>`, and an empty line after it.
fn trained(name: &str, section: &Section) -> Channel {
    match section.open.as_str() {
        "<think>" if name == Channel::THINKING => {
            Channel::new(name, "<think>\n", format!("\n{}\n\n", section.close))
        }
        open => Channel::new(name, open, &section.close),
    }
}

impl Section {
    fn of_calls(markers: &CallMarkers, syntax: Arc<CallSyntax>) -> Self {
        Self {
            open: format!("{}{}", markers.start, markers.followed_by),
            close: markers.end.clone(),
            kept: markers.followed_by.len(),
            holds: SectionContent::Calls(syntax),
        }
    }

    fn named(channel: &Channel) -> Self {
        let holds = match channel.name.as_str() {
            Channel::THINKING => SectionContent::Thinking,
            name => SectionContent::Channel(name.to_owned()),
        };
        Self { open: channel.start.clone(), close: channel.end.clone(), kept: 0, holds }
    }

    /// Returns the section of calls without markers.
    pub(crate) fn unmarked(syntax: Arc<CallSyntax>) -> Self {
        Self { open: String::new(), close: String::new(), kept: 0, holds: SectionContent::Calls(syntax) }
    }

    /// Returns the name of the channel, if this is one.
    pub(crate) fn channel(&self) -> Option<&str> {
        match &self.holds {
            SectionContent::Thinking => Some(Channel::THINKING),
            SectionContent::Channel(name) => Some(name),
            SectionContent::Calls(_) => None,
        }
    }

    /// Returns the first marker, without the bytes at its end that belong to the calls.
    pub(crate) fn opening(&self) -> &str {
        self.open.get(..self.open.len() - self.kept).unwrap_or_default()
    }
}
