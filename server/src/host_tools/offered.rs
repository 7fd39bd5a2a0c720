//! A tool that a request offers: one of its client, or one of the host.

use alloquy_core::ToolSpec;
use alloquy_core::tool::Tools;

use crate::error::{ApiError, ApiResult};

/// A tool that a request offers.
#[derive(Clone, Debug)]
pub(crate) struct Offered {
    pub(crate) spec: ToolSpec,
    /// The server that has it; `None` for one that the client runs.
    pub(crate) server: Option<OfferedBy>,
}

/// The server of a tool.
#[derive(Clone, Debug)]
pub(crate) struct OfferedBy {
    pub(crate) label: String,
    /// Whether its calls wait for an approval.
    pub(crate) waits: bool,
    /// The tools of the server.
    pub(crate) tools: Tools,
}

impl Offered {
    /// Returns its name.
    pub(crate) fn name(&self) -> &str {
        &self.spec.name
    }

    /// Returns whether its calls wait for an approval.
    pub(crate) fn waits(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.waits)
    }

    /// Returns the label of its server.
    pub(crate) fn label(&self) -> Option<&str> {
        Some(&self.server.as_ref()?.label)
    }
}

/// Adds the tools of an entry of a request, whose place is `place`.
///
/// # Errors
/// 400 where one of the names is taken.
pub(crate) fn add_offered(offered: &mut Vec<Offered>, new: Vec<Offered>, place: &str) -> ApiResult<()> {
    for tool in new {
        if offered.iter().any(|other| other.name() == tool.name()) {
            return Err(taken(place, &tool));
        }
        offered.push(tool);
    }
    Ok(())
}

fn taken(place: &str, tool: &Offered) -> ApiError {
    let name = tool.name();
    match tool.label() {
        None => {
            let place = format!("{place}.name");
            ApiError::invalid(place.clone(), format!("{place}: another tool has the name {name:?}"))
        }
        Some(label) => {
            let message = format!(
                "{place}: another tool has the name {name:?}, which one of {label:?} has too: name the others in allowed_tools"
            );
            ApiError::invalid(format!("{place}.allowed_tools"), message)
        }
    }
}
