//! What a turn adds to the warnings of its replies: a template that has changed, and calls of tools that do not exist.

use std::collections::BTreeMap;

use crate::chat_model::Reply;
use crate::media::Digest;
use crate::preface::ToolSpec;
use crate::report::Warning;
use crate::tool::Tools;

/// How often in a row the model is called again after it called tools that do not exist, and no other.
const AGAIN: usize = 2;

/// What a turn has to report of its replies so far.
#[derive(Debug)]
pub(super) struct TurnWarnings {
    /// The template of the last reply before the turn, if it is known.
    template: Option<Digest>,
    /// How often each tool that does not exist was called.
    unknown: BTreeMap<String, usize>,
    /// How many replies in a row have called such tools alone.
    in_row: usize,
}

impl TurnWarnings {
    pub(super) fn new(template: Option<Digest>) -> Self {
        Self { template, unknown: BTreeMap::new(), in_row: 0 }
    }

    /// Adds the warnings of the turn to a reply. Each reply has those of the replies before it, because the caller gets
    /// only the last one.
    pub(super) fn add_to(&mut self, reply: &mut Reply, tools: &Tools, offered: &[ToolSpec]) {
        let changed = match (self.template, reply.template) {
            (Some(before), Some(now)) if before != now => Some(Warning::TemplateChanged { before, now }),
            _ => None,
        };
        reply.warnings.extend(changed);
        self.note_calls(reply, tools, offered);
        for (name, times) in &self.unknown {
            reply.warnings.push(Warning::UnknownToolCalled { name: name.clone(), times: *times });
        }
    }

    /// Returns whether the model calls tools that do not exist again and again, although it reads each time which ones
    /// there are.
    pub(super) fn is_stuck(&self) -> bool {
        self.in_row > AGAIN
    }

    fn note_calls(&mut self, reply: &Reply, tools: &Tools, offered: &[ToolSpec]) {
        let mut calls = 0;
        let mut unknown = 0;
        for call in reply.message.tool_calls() {
            calls += 1;
            if !is_known(&call.name, tools, offered) {
                unknown += 1;
                *self.unknown.entry(call.name.clone()).or_default() += 1;
            }
        }
        if calls > 0 && calls == unknown {
            self.in_row += 1;
        } else {
            self.in_row = 0;
        }
    }
}

fn is_known(name: &str, tools: &Tools, offered: &[ToolSpec]) -> bool {
    tools.has(name) || offered.iter().any(|spec| spec.name == name)
}
