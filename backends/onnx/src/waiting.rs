//! How threads wait for work, and what of it the loaded library can do. Starts none.

use std::fmt;

use alloquy_core::Result;

use crate::runtime::loaded_numbers;

/// How threads that have nothing to do wait for more.
///
/// A step of a reply is hundreds of short pieces of work with a few microseconds between them, so how threads wait decides
/// what a reply costs. A session of ONNX Runtime waits in one way for as long as it lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waiting {
    /// Busily for 8 µs, less than it takes to wake a thread, then asleep: as fast as [`Spin`](Self::Spin) on a machine that does
    /// nothing else, and within a tenth of [`Sleep`](Self::Sleep) beside other programs. ONNX Runtime has it from 1.26 on; threads
    /// of an older one sleep, and [`OnnxEngine::waiting`](crate::OnnxEngine::waiting) says so.
    #[default]
    Brief,
    /// Busily, for some milliseconds. Beside one other busy program it loses more than half of its speed, and the other program as
    /// much.
    Spin,
    /// Asleep at once: a tenth slower than the others on a machine that does nothing else.
    Sleep,
}

impl Waiting {
    /// Returns the way in which the threads of a library of that version wait.
    fn of_version(self, version: (u32, u32)) -> Self {
        if self == Self::Brief && version < BRIEF_SINCE {
            return Self::Sleep;
        }
        self
    }

    /// Returns the way in which the threads of the loaded library wait.
    pub(crate) fn in_force(self) -> Result<Self> {
        Ok(self.of_version(loaded_numbers()?.unwrap_or_default()))
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Brief => "brief",
            Self::Spin => "spin",
            Self::Sleep => "sleep",
        })
    }
}

/// The first version of ONNX Runtime whose threads can be told how long to spin.
const BRIEF_SINCE: (u32, u32) = (1, 26);

/// How many microseconds threads spin before they sleep. Between two pieces of a step's work lie 3 to 10 of them. With fewer, more waits
/// end asleep, and a reply is written slower on a machine that does nothing else (6: by a twentieth); with 14 and more, threads that
/// hardly ever sleep lose their core in the middle of a piece, and beside a busy program a reply is written a sixth slower than by threads
/// that sleep.
pub(crate) const BRIEF_MICROSECONDS: &str = "8";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_cannot_spin_briefly_sleeps() {
        for waiting in [Waiting::Brief, Waiting::Spin, Waiting::Sleep] {
            assert_eq!(waiting.of_version((1, 26)), waiting);
            assert_eq!(waiting.of_version((2, 0)), waiting);
        }
        assert_eq!(Waiting::Brief.of_version((1, 25)), Waiting::Sleep);
        assert_eq!(Waiting::Spin.of_version((1, 23)), Waiting::Spin);
    }
}
