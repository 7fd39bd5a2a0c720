//! How much of the server one client can use: sizes, times and numbers.

use std::time::Duration;

/// How much of the server one client can use.
///
/// Every number has a default for a server in a local network. A request that exceeds one of them is answered with an error that
/// names the number.
///
/// ```
/// use std::time::Duration;
///
/// use alloquy_server::RequestLimits;
///
/// let mut limits = RequestLimits::default();
/// limits.body_bytes = 1 << 20;
/// limits.running = 2;
/// assert_eq!(limits.header_time, Duration::from_secs(10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestLimits {
    /// The most bytes of a request's body: 32 MiB.
    pub body_bytes: usize,
    /// The longest time in which a body arrives, and in which its media are fetched: 60 seconds each.
    pub body_time: Duration,
    /// The most bytes of a request's headers: 64 KiB, and at least 8 KiB.
    pub header_bytes: usize,
    /// The most headers of a request: 100.
    pub headers: usize,
    /// The longest time in which the headers arrive, counted from the end of the response before: 10 seconds. So it ends idle
    /// connections as well.
    pub header_time: Duration,
    /// The most connections at once: 4,096. Others wait until they are accepted.
    pub connections: usize,
    /// The most requests of one connection: 1,000. After them, the client opens another one.
    pub requests_of_connection: usize,
    /// The most requests of one owner that a model answers at once: 8. The limit of a key counts instead.
    pub running: usize,
    /// The most requests of one owner that wait for one of these places: 32. Further ones are refused with 429.
    pub waiting: usize,
    /// The longest time that a request waits for a place: 60 seconds. After it, the request is refused with 429.
    pub waiting_time: Duration,
    /// The most event streams that one owner holds open: 64. They are those of changes, and of responses in the background. Further ones
    /// are refused with 429.
    pub event_streams: usize,
    /// The most bytes of a piece of media that is fetched from an address: 16 MiB. All pieces of a request have at most 128 MiB.
    pub media_bytes: usize,
    /// The longest time in which such a piece arrives: 10 seconds.
    pub media_time: Duration,
    /// The longest time that the server waits for a client that does not read: 30 seconds. After it, a reply that streams is cancelled,
    /// and the connection is closed.
    pub stalled_time: Duration,
    /// The time between the comments that keep a silent stream open: 15 seconds.
    pub heartbeat: Duration,
    /// How long a stream waits for the first word before it begins without it: 5 seconds. An error before it has a status of its
    /// own; a later one is an event of the stream.
    pub first_event: Duration,
    /// How long running replies may take once the server ends: 30 seconds. After it, they are cancelled, and those that are stored
    /// are kept as far as they came.
    pub drain: Duration,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            body_bytes: 32 << 20,
            body_time: Duration::from_secs(60),
            header_bytes: 64 << 10,
            headers: 100,
            header_time: Duration::from_secs(10),
            connections: 4096,
            requests_of_connection: 1000,
            running: 8,
            waiting: 32,
            waiting_time: Duration::from_secs(60),
            event_streams: 64,
            media_bytes: 16 << 20,
            media_time: Duration::from_secs(10),
            stalled_time: Duration::from_secs(30),
            heartbeat: Duration::from_secs(15),
            first_event: Duration::from_secs(5),
            drain: Duration::from_secs(30),
        }
    }
}
