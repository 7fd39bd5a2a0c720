//! Reports on a reply: why it ended, its usage and timing, what was cached, and what was not done as requested.

mod cache_report;
mod cut_history;
mod facts;
mod finish_reason;
mod score;
mod speculation;
mod timing;
mod usage;
mod warning;

pub use cache_report::{CacheReport, MissReason};
pub use cut_history::{CutHistory, CutSummary};
pub use facts::ReplyFacts;
pub(crate) use facts::take;
pub use finish_reason::FinishReason;
pub use score::TextScore;
pub use speculation::{DraftSource, DraftStop, Speculation};
pub use timing::ReplyTiming;
pub use usage::Usage;
pub use warning::Warning;
