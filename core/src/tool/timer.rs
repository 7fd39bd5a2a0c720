//! Time, as the host has it: this crate knows no runtime and has no clock.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;

/// Makes futures that end after a while.
///
/// Any function from a [`Duration`] to such a future is one: `tokio::time::sleep`, `async_io::Timer::after` behind a
/// closure, `futures_timer::Delay::new`.
///
/// ```
/// use alloquy_core::tool::Timer;
/// use std::time::Duration;
///
/// /// Hosts with a runtime pass its own function in this one's stead.
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
