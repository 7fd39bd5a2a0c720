//! The tools of the host in a request of any protocol: which are offered, which calls wait for an approval, and how approved calls run.

mod approvals;
mod mcp;
mod offered;
mod work;

pub(crate) use approvals::{Asker, Decisions, not_offered, unanswered, waiting};
pub(crate) use mcp::{GivenMcp, HostTools, note_lists};
pub(crate) use offered::{Offered, add_offered};
pub(crate) use work::{ApprovedTurn, Work};
