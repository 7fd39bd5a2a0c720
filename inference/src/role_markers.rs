//! Finds texts of a conversation that contain the plain text by which a template separates messages.
//!
//! A template may write roles as text, such as `USER:`. Text of users cannot be kept apart from it as from control tokens: a user
//! who writes `USER:` writes what the template prints. So the markers are learnt from the template, and a text with a marker is
//! reported. No marker is listed by name. Small conversations are rendered, and the text between their messages is the marker.
//!
//! ```text
//! USER: Zqalphazq ASSISTANT: Zqbravozq USER: Zqcharliezq     the markers are `USER:` and `ASSISTANT:`
//! ```
//!
//! Markers with a control token of the model are left out. Processors keep such texts apart, and report those that a policy lets
//! through.

use std::collections::BTreeMap;

use aho_corasick::AhoCorasick;
use serde_json::Value;

use alloquy_core::arguments::TextSource;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::report::Warning;
use alloquy_core::template::{PromptTemplate, TemplateInput};

mod header;
mod marker;
mod probes;
mod units;

use marker::Marker;

/// The plain text by which a template separates the messages of a prompt.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_core::template::TemplateInput;
/// use alloquy_inference::RoleMarkers;
/// use alloquy_testing::TaggedTemplate;
/// use serde_json::json;
///
/// let markers = RoleMarkers::of(&TaggedTemplate, &ModelInfo::default());
/// let mut input = TemplateInput::default();
/// input.messages.push(json!({"role": "user", "content": "What does <user> mean?"}));
/// assert_eq!(markers.found_in(&input).len(), 1);
/// input.messages[0]["content"] = "What does a user mean?".into();
/// assert!(markers.found_in(&input).is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct RoleMarkers {
    markers: Vec<Marker>,
    /// Finds the longest constant text of each marker.
    anchors: Option<AhoCorasick>,
}

/// Where a text of the input is.
#[derive(Clone, Copy, Debug)]
struct Place {
    source: TextSource,
    message: Option<usize>,
}

/// The places of one marker in the texts of one source.
#[derive(Clone, Copy, Debug)]
struct Found {
    message: Option<usize>,
    times: usize,
}

type Findings<'m> = BTreeMap<(TextSource, &'m str), Found>;

impl RoleMarkers {
    /// Learns the markers of a template from about twenty small conversations. Those that the template refuses are skipped.
    pub fn of(template: &dyn PromptTemplate, model: &ModelInfo) -> Self {
        let markers = header::markers(&probes::seams(template), model);
        let anchors = AhoCorasick::new(markers.iter().map(Marker::anchor)).ok();
        Self { anchors: anchors.filter(|_| !markers.is_empty()), markers }
    }

    /// Returns the markers as the template prints them, without the white space around them.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.markers.iter().map(Marker::text)
    }

    /// Reports the markers in the texts of `input` as [`Warning::RoleMarkerInText`], each marker once for each source.
    ///
    /// Only markers that a model would read as such are reported.
    pub fn found_in(&self, input: &TemplateInput) -> Vec<Warning> {
        let mut findings = Findings::new();
        if self.anchors.is_some() {
            each_text(input, &mut |place, text| self.look(place, text, &mut findings));
        }
        findings.into_iter().map(|((source, marker), found)| reported(source, marker, found)).collect()
    }

    /// Looks for markers in one text. Of markers that overlap, the first counts, and of several at one place the longest.
    fn look<'m>(&'m self, place: Place, text: &str, findings: &mut Findings<'m>) {
        let Some(anchors) = &self.anchors else { return };
        let mut hits = Vec::new();
        for hit in anchors.find_overlapping_iter(text) {
            let marker = self.markers.get(hit.pattern().as_usize());
            let Some(marker) = marker else { continue };
            hits.extend(marker.around(text, hit.range()).map(|range| (range, marker)));
        }
        hits.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut done = 0;
        for (range, marker) in hits {
            if range.start < done {
                continue;
            }
            done = range.end;
            let found = findings.entry((place.source, marker.text()));
            found.or_insert(Found { message: place.message, times: 0 }).times += 1;
        }
    }
}

fn reported(source: TextSource, marker: &str, found: Found) -> Warning {
    let Found { message, times } = found;
    Warning::RoleMarkerInText { marker: marker.to_owned(), source, message, times }
}

type Visit<'v, 'i> = dyn FnMut(Place, &'i str) + 'v;

/// Visits every text that a template may print, also the names of fields.
fn each_text<'i>(input: &'i TemplateInput, visit: &mut Visit<'_, 'i>) {
    for (index, message) in input.messages.iter().enumerate() {
        let place = Place { source: source_of(message), message: Some(index) };
        for (name, value) in message.as_object().into_iter().flatten() {
            if name != "role" {
                each_text_of(value, place, visit);
            }
        }
    }
    let tools = Place { source: TextSource::ToolSpecs, message: None };
    for tool in input.tools.iter().flatten() {
        each_text_of(tool, tools, visit);
    }
    let variables = Place { source: TextSource::Variables, message: None };
    for document in input.documents.iter().flatten() {
        each_text_of(document, variables, visit);
    }
    for (name, value) in &input.extra {
        // A host that sets `bos_token` and the like wants the token.
        if !name.ends_with("_token") {
            each_text_of(value, variables, visit);
        }
    }
}

/// Returns the source of a message. An unknown role counts as the user's, which is trusted least.
fn source_of(message: &Value) -> TextSource {
    let role = message.get("role").and_then(Value::as_str);
    let sources = [TextSource::System, TextSource::Assistant, TextSource::Tool];
    let known = sources.into_iter().find(|source| Some(source.as_str()) == role);
    known.unwrap_or(TextSource::User)
}

fn each_text_of<'i>(value: &'i Value, place: Place, visit: &mut Visit<'_, 'i>) {
    match value {
        Value::String(text) => visit(place, text),
        Value::Array(values) => {
            for value in values {
                each_text_of(value, place, visit);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                visit(place, name);
                each_text_of(value, place, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
