//! Limits for the time and the memory that a server may use.

use std::time::Duration;

/// How much time and memory a server may use. Exceeding a limit is an error that names the limit.
///
/// ```
/// use std::time::Duration;
/// use alloquy_mcp::McpLimits;
///
/// let limits = McpLimits::default().call(Some(Duration::from_secs(30))).message(1 << 20);
/// assert_eq!((limits.message, limits.tools), (1 << 20, 1_024));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpLimits {
    /// How many bytes one message may have: 16 MiB. A longer answer fails its call; the connection stays.
    ///
    /// Over HTTP this is the limit of an event of a stream. Other bodies have a fixed limit of the protocol's library, 16 MiB
    /// at most.
    pub message: usize,
    /// How many tools a server may list: 1,024.
    pub tools: usize,
    /// How many bytes the list of tools may have as JSON: 4 MiB.
    pub listing: usize,
    /// How long a server may take from its start until it has listed its tools: 60 seconds. Each later list has the same limit.
    pub start: Duration,
    /// How long a call may take: 10 minutes; `None` for no limit.
    pub call: Option<Duration>,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            message: 16 << 20,
            tools: 1_024,
            listing: 4 << 20,
            start: Duration::from_secs(60),
            call: Some(Duration::from_secs(600)),
        }
    }
}

impl McpLimits {
    /// Sets how many bytes one message may have.
    #[must_use]
    pub fn message(mut self, bytes: usize) -> Self {
        self.message = bytes;
        self
    }

    /// Sets how many tools a server may list.
    #[must_use]
    pub fn tools(mut self, tools: usize) -> Self {
        self.tools = tools;
        self
    }

    /// Sets how many bytes the list of tools may have as JSON.
    #[must_use]
    pub fn listing(mut self, bytes: usize) -> Self {
        self.listing = bytes;
        self
    }

    /// Sets how long a server may take until it has listed its tools.
    #[must_use]
    pub fn start(mut self, time: Duration) -> Self {
        self.start = time;
        self
    }

    /// Sets how long a call may take; `None` for no limit.
    #[must_use]
    pub fn call(mut self, time: Option<Duration>) -> Self {
        self.call = time;
        self
    }
}
