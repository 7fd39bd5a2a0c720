//! Defines what a host may change in a family, and checks it.

use alloquy_core::Result;
use alloquy_core::processor::Channel;
use serde::{Deserialize, Serialize};

use crate::call_markers::{CallMarkers, invalid};
use crate::family::Family;

/// A host's changes to a family. Absent fields stay as the family has them.
///
/// They are for tuned models: a model may write a channel besides thinking, or other markers around calls. A configuration is
/// read from JSON or any other format of serde's. An unknown field is an error.
///
/// ```
/// use alloquy_core::{Message, Preface};
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_core::processor::ProcessorInput;
/// use alloquy_core::template::PromptEnd;
/// use alloquy_processors::{DataProcessorConfig, named_with};
///
/// let config: DataProcessorConfig = serde_json::from_str(
///     r#"{"channels": [{"name": "joke", "start": "<joke>", "end": "</joke>"}], "stops": ["END"]}"#,
/// )?;
/// let processor = named_with("qwen3", &ModelInfo::default(), &config)?;
/// let names: Vec<_> = processor.channels().iter().map(|channel| channel.name.as_str()).collect();
/// assert_eq!(names, ["thinking", "joke"]);
/// assert_eq!(processor.stop_strings(), ["END"]);
///
/// let (preface, path) = (Preface::default(), [Message::user("A joke!")]);
/// let mut parser = processor.reply_parser("", ProcessorInput::new(&preface, &path, PromptEnd::Generation));
/// parser.push("Here: <joke>A crab walks");
/// parser.push(" into a bar.</joke>");
/// let (_, message) = parser.finish();
/// assert_eq!(message.text(), "Here: ");
/// assert_eq!(message.channel("joke").as_deref(), Some("A crab walks into a bar."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataProcessorConfig {
    /// Named sections of a reply. The channel `thinking` replaces the family's own; any other channel is added.
    ///
    /// The text of a channel other than thinking is kept unchanged, with the white space at its ends. A reply that is
    /// constrained by a grammar has no such channel, because the grammar begins right after the thinking.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Channel>,
    /// The markers around tool calls, instead of all those of the family. Unless they say how the calls are written, it is as
    /// the model's template shows, or else the family's first way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallMarkers>,
    /// Added tokens that are ordinary text, instead of the family's. A token that begins or ends a text stays a control
    /// token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordinary: Option<Vec<String>>,
    /// Texts that end a reply, instead of the family's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stops: Option<Vec<String>>,
}

/// What a marker does, in words for an error, and the marker.
type Named<'a> = (String, &'a str);

impl DataProcessorConfig {
    /// Adds a channel.
    ///
    /// ```
    /// use alloquy_core::processor::Channel;
    /// use alloquy_processors::DataProcessorConfig;
    ///
    /// let config = DataProcessorConfig::default().channel(Channel::new("plan", "<plan>", "</plan>"));
    /// assert_eq!(serde_json::to_string(&config)?, r#"{"channels":[{"name":"plan","start":"<plan>","end":"</plan>"}]}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn channel(mut self, channel: Channel) -> Self {
        self.channels.push(channel);
        self
    }

    /// Sets the markers around tool calls.
    #[must_use]
    pub fn calls(mut self, markers: CallMarkers) -> Self {
        self.calls = Some(markers);
        self
    }

    /// Checks the configuration of a family.
    pub(crate) fn check(&self, family: &Family) -> Result<()> {
        self.check_names()?;
        if let Some(syntax) = self.calls.as_ref().and_then(|markers| markers.syntax.as_ref()) {
            syntax.check().map_err(invalid)?;
        }
        for (what, marker) in self.starts().iter().chain(&self.ends()) {
            if marker.trim().is_empty() {
                return Err(invalid(format!("{what}, {marker:?}, is empty or white space")));
            }
        }
        let stops = self.stops.iter().flatten();
        if stops.chain(self.ordinary.iter().flatten()).any(String::is_empty) {
            return Err(invalid("a stop string or an ordinary token is empty"));
        }
        self.check_starts(family)
    }

    fn check_names(&self) -> Result<()> {
        for (index, Channel { name, start, end }) in self.channels.iter().enumerate() {
            if name.is_empty() {
                return Err(invalid(format!("the channel between {start:?} and {end:?} has an empty name")));
            }
            if self.channels.iter().take(index).any(|before| before.name == *name) {
                return Err(invalid(format!("there are two channels of the name {name:?}")));
            }
        }
        Ok(())
    }

    /// Checks that the start of a channel or of calls is no other marker. One text may end several channels.
    fn check_starts(&self, family: &Family) -> Result<()> {
        let starts = self.starts();
        for (index, (what, start)) in starts.iter().enumerate() {
            // Line breaks belong to the text or the thinking block before a marker.
            if start.starts_with('\n') {
                return Err(invalid(format!("{what}, {start:?}, begins with a line break")));
            }
            let mut others = starts.iter().take(index).cloned().chain(self.ends()).chain(kept(self, family));
            if let Some((taken, _)) = others.find(|(_, marker)| marker == start) {
                return Err(invalid(format!("{what}, {start:?}, is {taken} too")));
            }
        }
        Ok(())
    }

    fn starts(&self) -> Vec<Named<'_>> {
        let mut starts = Vec::new();
        for channel in &self.channels {
            starts.push((format!("the start of channel {:?}", channel.name), channel.start.as_str()));
        }
        if let Some(markers) = &self.calls {
            starts.push(("the start of calls".to_owned(), markers.start.as_str()));
        }
        starts
    }

    fn ends(&self) -> Vec<Named<'_>> {
        let mut ends = Vec::new();
        for channel in &self.channels {
            ends.push((format!("the end of channel {:?}", channel.name), channel.end.as_str()));
        }
        if let Some(markers) = &self.calls {
            ends.push(("the end of calls".to_owned(), markers.end.as_str()));
        }
        ends
    }
}

/// Returns the markers of the family that the configuration keeps.
fn kept<'a>(config: &'a DataProcessorConfig, family: &'a Family) -> Vec<Named<'a>> {
    let mut markers: Vec<&str> = Vec::new();
    for channel in &family.channels {
        let is_set = config.channels.iter().any(|set| set.name == channel.name);
        if !is_set {
            markers.extend([channel.start.as_str(), &channel.end]);
        }
    }
    if config.calls.is_none() {
        for calls in &family.calls {
            markers.extend([calls.start.as_str(), &calls.end]);
        }
    }
    markers.extend(family.silent.iter().map(String::as_str));
    let name = format!("a marker of family {:?}", family.name);
    markers.into_iter().map(|marker| (name.clone(), marker)).collect()
}
