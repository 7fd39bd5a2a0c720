//! How threads wait for work, as far as the loaded library supports it.

use std::fmt;

use alloquy_core::Result;

use crate::runtime::loaded_numbers;

/// How threads that have nothing to do wait for more.
///
/// A step of a reply is hundreds of short pieces of work with a few microseconds between them, so the way of waiting decides
/// how fast a reply is. A session of ONNX Runtime cannot change it later.
///
/// ```
/// use alloquy_onnx::ThreadWaiting;
///
/// assert_eq!(ThreadWaiting::default(), ThreadWaiting::Brief);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThreadWaiting {
    /// Threads spin for 8 µs, which is less than it takes to wake a thread, and then sleep.
    ///
    /// This is as fast as [`Spin`](Self::Spin) on an idle machine, and within a tenth of [`Sleep`](Self::Sleep) beside other busy
    /// programs. It needs ONNX Runtime 1.26. Threads of an older one sleep, and
    /// [`OnnxEngine::waiting`](crate::OnnxEngine::waiting) reports that.
    #[default]
    Brief,
    /// Threads spin for some milliseconds. Beside one other busy program, both lose more than half of their speed.
    Spin,
    /// Threads sleep at once. This is a tenth slower than the others on an idle machine.
    Sleep,
}

impl ThreadWaiting {
    /// Returns how the threads of a library of that version wait.
    fn of_version(self, version: (u32, u32)) -> Self {
        if self == Self::Brief && version < BRIEF_SINCE {
            return Self::Sleep;
        }
        self
    }

    /// Returns how the threads of the loaded library wait.
    pub(crate) fn in_force(self) -> Result<Self> {
        Ok(self.of_version(loaded_numbers()?.unwrap_or_default()))
    }
}

impl fmt::Display for ThreadWaiting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Brief => "brief",
            Self::Spin => "spin",
            Self::Sleep => "sleep",
        })
    }
}

/// The first version of ONNX Runtime in which the time of spinning can be configured.
const BRIEF_SINCE: (u32, u32) = (1, 26);

/// How many microseconds threads spin before they sleep. Between two pieces of a step's work lie 3 to 10 microseconds.
///
/// With fewer, more waits end asleep, and a reply is slower on an idle machine (by a twentieth with 6). With 14 and more, threads
/// hardly ever sleep, and lose their core in the middle of a piece. Then, beside a busy program, a reply is a sixth slower than with
/// threads that sleep.
pub(crate) const BRIEF_MICROSECONDS: &str = "8";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_cannot_spin_briefly_sleeps() {
        for waiting in [ThreadWaiting::Brief, ThreadWaiting::Spin, ThreadWaiting::Sleep] {
            assert_eq!(waiting.of_version((1, 26)), waiting);
            assert_eq!(waiting.of_version((2, 0)), waiting);
        }
        assert_eq!(ThreadWaiting::Brief.of_version((1, 25)), ThreadWaiting::Sleep);
        assert_eq!(ThreadWaiting::Spin.of_version((1, 23)), ThreadWaiting::Spin);
    }
}
