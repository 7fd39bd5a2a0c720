//! Processor time and bytes, as Linux counts them for a process.

use std::time::Duration;

/// What this process has used, of all its threads; nothing where the system does not say.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    pub(crate) processor: Duration,
    /// Handed to `write`.
    pub(crate) bytes: u64,
}

impl Spent {
    pub(crate) fn so_far() -> Self {
        Self { processor: processor().unwrap_or_default(), bytes: written().unwrap_or_default() }
    }
}

fn processor() -> Option<Duration> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let spent = |task: std::fs::DirEntry| {
        let counts = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        counts.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    };
    Some(tasks.flatten().filter_map(spent).sum())
}

fn written() -> Option<u64> {
    let counts = std::fs::read_to_string("/proc/self/io").ok()?;
    counts.lines().find_map(|line| line.strip_prefix("wchar: "))?.parse().ok()
}
