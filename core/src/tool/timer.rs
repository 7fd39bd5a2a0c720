//! Timers of the host's runtime; this crate does not depend on a runtime.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;

/// Creates futures that end after a given time.
///
/// Any function from a [`Duration`] to such a future is a timer: `tokio::time::sleep`, `futures_timer::Delay::new`, or
/// a closure that calls `async_io::Timer::after`.
///
/// ```
/// use alloquy_core::tool::Timer;
/// use std::time::Duration;
///
/// /// Hosts with a runtime pass the runtime's function instead.
/// async fn sleep(duration: Duration) {
///     std::thread::sleep(duration);
/// }
/// # pollster::block_on(Timer::sleep(&sleep, Duration::from_millis(1)));
/// ```
pub trait Timer: Send + Sync {
    /// Returns a future that ends after `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

impl<F, S> Timer for F
where
    F: Fn(Duration) -> S + Send + Sync,
    S: Future<Output = ()> + Send + 'static,
{
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(self(duration))
    }
}

impl fmt::Debug for dyn Timer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Timer")
    }
}
