//! A tool that a request offers: one of its client, or one of the host.

use alloquy_core::ToolSpec;
use alloquy_core::tool::Tools;

/// A tool that a request offers.
#[derive(Clone, Debug)]
pub(super) struct Offered {
    pub(super) spec: ToolSpec,
    /// The server that has it; `None` for one that the client runs.
    pub(super) server: Option<OfferedBy>,
}

/// The server of a tool.
#[derive(Clone, Debug)]
pub(super) struct OfferedBy {
    pub(super) label: String,
    /// Whether its calls wait for an approval.
    pub(super) waits: bool,
    /// The tools of the server.
    pub(super) tools: Tools,
}

impl Offered {
    /// Returns its name.
    pub(super) fn name(&self) -> &str {
        &self.spec.name
    }

    /// Returns the label of its server.
    pub(super) fn label(&self) -> Option<&str> {
        Some(&self.server.as_ref()?.label)
    }
}
