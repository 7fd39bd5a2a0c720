//! What a host may set otherwise than a family has it. Knows that it must make sense, not what it does.

use alloquy_core::Result;
use alloquy_core::processor::Channel;
use serde::{Deserialize, Serialize};

use crate::call_markers::{CallMarkers, invalid};
use crate::family::Family;

/// What a host sets otherwise than a family has it; what is absent stays as the family has it.
///
/// For models tuned to write something of their own: a channel beside thinking, other markers around calls. It reads as
/// JSON, or as any format of serde's, and a field that there is not is an error.
///
/// ```
/// use alloquy_core::{Message, Preface};
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_core::processor::PromptSource;
/// use alloquy_core::template::Ending;
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
/// let mut parser = processor.reply_parser("", PromptSource::new(&preface, &path, Ending::Answer));
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
    /// Named stretches of a reply: `thinking` stands in the place of the family's own, any other is a channel more.
    ///
    /// What is said in a channel other than thinking is kept as it is, with the white space at its ends. A reply in a
    /// demanded form has no such channel: the form begins behind the thoughts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Channel>,
    /// What is around tool calls, in the place of all markers that the family has for them. Unless it says how the calls
    /// are written, they are as the model's template shows them, or as most of the family's are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallMarkers>,
    /// Added tokens that are ordinary text unless they begin or end a text, in the place of the family's. What ends a
    /// text stays a control token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordinary: Option<Vec<String>>,
    /// Texts that end a reply, in the place of the family's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stops: Option<Vec<String>>,
}

/// What a marker does, for the sentence that says it is taken.
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

    /// Sets what stands around tool calls.
    #[must_use]
    pub fn calls(mut self, markers: CallMarkers) -> Self {
        self.calls = Some(markers);
        self
    }

    /// Says what makes no sense for a family.
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

    /// What begins something is nothing else, whereas one text may end several.
    fn check_starts(&self, family: &Family) -> Result<()> {
        let starts = self.starts();
        for (index, (what, start)) in starts.iter().enumerate() {
            // Line breaks belong to the text or the thought before a marker.
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
        let channels = self.channels.iter();
        let channels =
            channels.map(|one| (format!("the start of channel {:?}", one.name), one.start.as_str()));
        let calls =
            self.calls.iter().map(|markers| ("the start of calls".to_owned(), markers.start.as_str()));
        channels.chain(calls).collect()
    }

    fn ends(&self) -> Vec<Named<'_>> {
        let channels = self.channels.iter();
        let channels = channels.map(|one| (format!("the end of channel {:?}", one.name), one.end.as_str()));
        let calls = self.calls.iter().map(|markers| ("the end of calls".to_owned(), markers.end.as_str()));
        channels.chain(calls).collect()
    }
}

/// The markers of the family that stay.
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
