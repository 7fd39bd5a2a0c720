//! Whether a server gets requests. Knows no connections: it is given the time and what happened.

use std::time::{Duration, Instant};

use alloquy_core::{Error, ErrorKind};

use crate::fault::Fault;

#[cfg(test)]
mod tests;

/// How long the first rest of a server is. Each further one is twice as long.
const FIRST_REST: Duration = Duration::from_secs(1);

/// The longest rest that the server has not requested.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// The longest rest that a server can request.
const LONGEST_REQUESTED: Duration = Duration::from_secs(3600);

/// The health of a server.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    pub(crate) state: HealthState,
    /// How many rests in a row had no successful request between them.
    failures: u32,
    /// How many rests there were. A request that was sent before a rest says nothing about what follows it.
    pub(crate) rests: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum HealthState {
    Healthy,
    Resting(Rest),
}

/// A time without requests.
#[derive(Clone, Debug)]
pub(crate) struct Rest {
    pub(crate) until: Instant,
    pub(crate) error: Error,
    /// Whether it may serve another model afterwards. One that was only overloaded does not.
    pub(crate) is_outage: bool,
    /// Whether it answers, and is not the server that it should be.
    pub(crate) is_refused: bool,
}

impl Health {
    /// A server that gets requests.
    pub(crate) fn healthy() -> Self {
        Self { state: HealthState::Healthy, failures: 0, rests: 0 }
    }

    pub(crate) fn is_healthy(&self) -> bool {
        matches!(self.state, HealthState::Healthy)
    }

    pub(crate) fn rest(&self) -> Option<&Rest> {
        match &self.state {
            HealthState::Healthy => None,
            HealthState::Resting(rest) => Some(rest),
        }
    }

    /// Notes a fault of a request that was sent after so many rests. Returns whether a rest begins with it.
    pub(crate) fn fail(&mut self, sent: u64, fault: &Fault, now: Instant) -> bool {
        if let HealthState::Resting(rest) = &mut self.state {
            // Requests that were in flight fail together, and that is one failure. A longer rest may be requested.
            if let Some(requested) = fault.retry_after {
                rest.until = rest.until.max(now + requested.min(LONGEST_REQUESTED));
            }
            rest.is_outage |= !is_overload(fault);
            return false;
        }
        if sent != self.rests {
            return false;
        }
        self.begin_rest(fault, !is_overload(fault), false, now);
        true
    }

    /// Notes what a check has found.
    pub(crate) fn checked(&mut self, outcome: Result<(), Fault>, now: Instant) {
        match outcome {
            Ok(()) => self.state = HealthState::Healthy,
            Err(fault) => self.begin_rest(&fault, true, is_refusal(&fault), now),
        }
    }

    /// Notes that a request has its first token.
    pub(crate) fn succeed(&mut self) {
        self.failures = 0;
    }

    fn begin_rest(&mut self, fault: &Fault, is_outage: bool, is_refused: bool, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.rests += 1;
        let rest = match fault.retry_after {
            Some(requested) => requested.min(LONGEST_REQUESTED),
            None if is_refused => LONGEST_REST,
            None => FIRST_REST.saturating_mul(2_u32.saturating_pow(self.failures - 1)).min(LONGEST_REST),
        };
        self.state = HealthState::Resting(Rest {
            until: now + rest,
            error: fault.error.clone(),
            is_outage,
            is_refused,
        });
    }
}

/// Returns whether a fault is the server's and not the request's, so that another server may do better.
pub(crate) fn blames_server(fault: &Fault) -> bool {
    fault.is_passing
        || matches!(fault.error.kind(), ErrorKind::Backend | ErrorKind::Busy | ErrorKind::NotFound)
}

/// Returns whether the server said when it will take requests again. Then it runs, and has not become another one.
fn is_overload(fault: &Fault) -> bool {
    fault.retry_after.is_some()
}

/// Returns whether a check has found that a server answers and is not what it should be.
fn is_refusal(fault: &Fault) -> bool {
    !fault.is_passing && !matches!(fault.error.kind(), ErrorKind::Backend | ErrorKind::Busy)
}
