//! One of the servers of a decoder.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use alloquy_core::Error;

use crate::admission::Examined;
use crate::description::RemoteDescription;
use crate::fault::Fault;
use crate::health::{Health, HealthState};
use crate::http::Http;
use crate::memory::Memory;
use crate::slots::SlotQueue;

/// A server of a decoder, as it is now. [`RemoteDecoder::endpoints`](crate::RemoteDecoder::endpoints) returns it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RemoteEndpoint {
    /// The address.
    pub url: String,
    /// What it says of itself; `None` as long as it has not answered.
    pub description: Option<RemoteDescription>,
    /// How many requests it gets compared with the others.
    pub weight: u32,
    /// Whether it gets requests.
    pub health: EndpointHealth,
    /// How many requests it works on.
    pub in_flight: usize,
    /// How many requests it has completed.
    pub done: u64,
}

/// Whether a server gets requests.
///
/// ```
/// use alloquy_openai::{EndpointHealth, RemoteDecoder};
///
/// fn print(decoder: &RemoteDecoder) {
///     for endpoint in decoder.endpoints() {
///         match endpoint.health {
///             EndpointHealth::Healthy => println!("{}: {} in flight", endpoint.url, endpoint.in_flight),
///             EndpointHealth::Resting { remaining, error } => println!("{}: {error}, for {remaining:?}", endpoint.url),
///             EndpointHealth::Refused { error, .. } => println!("{}: {error}", endpoint.url),
///             _ => {}
///         }
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EndpointHealth {
    /// It gets requests.
    Healthy,
    /// It failed, and is checked after some time.
    Resting {
        /// How long it rests from now.
        remaining: Duration,
        /// How it failed.
        error: Error,
    },
    /// It answers, and has another model, tokenizer, context or protocol than the other servers. It is checked again after some
    /// time.
    Refused {
        /// How long from now.
        remaining: Duration,
        /// What is different.
        error: Error,
    },
}

/// A server with its state.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) http: Arc<Http>,
    pub(crate) weight: u32,
    pub(crate) memory: Arc<Mutex<Memory>>,
    state: Mutex<EndpointState>,
}

#[derive(Debug)]
struct EndpointState {
    description: Option<Arc<RemoteDescription>>,
    /// The queue for the slots of the server, where it has slots.
    slots: Option<Arc<SlotQueue>>,
    health: Health,
    in_flight: usize,
    done: u64,
}

impl EndpointState {
    fn take(&mut self, examined: Examined) {
        let former = self.description.as_ref().and_then(|description| description.slots);
        self.slots = match (self.slots.take(), examined.slots) {
            // Requests that are in flight have slots of the former queue.
            (Some(known), Some(slots))
                if former == Some(slots.count) && known.identity() == slots.identity =>
            {
                Some(known)
            }
            (_, slots) => slots.map(|slots| SlotQueue::new(slots.count, slots.identity)),
        };
        self.description = Some(Arc::new(examined.description));
    }
}

impl Endpoint {
    pub(crate) fn new(http: Http, weight: u32) -> Self {
        let state = EndpointState {
            description: None,
            slots: None,
            health: Health::healthy(),
            in_flight: 0,
            done: 0,
        };
        Self { http: Arc::new(http), weight, memory: Arc::default(), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, EndpointState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many requests are in flight; `None` if it gets none now.
    pub(crate) fn load(&self) -> Option<usize> {
        let state = self.state();
        (state.health.is_healthy() && state.description.is_some()).then_some(state.in_flight)
    }

    /// Returns what it says of itself, if it has answered.
    pub(crate) fn description(&self) -> Option<Arc<RemoteDescription>> {
        self.state().description.clone()
    }

    /// Returns the queue for its slots, where it has slots.
    pub(crate) fn slots(&self) -> Option<Arc<SlotQueue>> {
        self.state().slots.clone()
    }

    /// Returns how long it rests from now, and why; `None` if it does not.
    pub(crate) fn rest(&self) -> Option<(Duration, Error)> {
        let state = self.state();
        let rest = state.health.rest()?;
        Some((rest.until.saturating_duration_since(Instant::now()), rest.error.clone()))
    }

    /// Returns whether it may be another server after its rest.
    pub(crate) fn is_outage(&self) -> bool {
        let state = self.state();
        state.description.is_none() || state.health.rest().is_some_and(|rest| rest.is_outage)
    }

    /// Notes what a check found.
    pub(crate) fn checked(&self, found: Result<Examined, Fault>) {
        let mut state = self.state();
        let outcome = found.map(|examined| state.take(examined));
        state.health.checked(outcome, Instant::now());
    }

    /// Ends a rest without a check.
    pub(crate) fn wake(&self) {
        self.state().health.checked(Ok(()), Instant::now());
    }

    /// Gives it a request, if it still gets any.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<InFlight> {
        let mut state = self.state();
        let description = state.description.clone()?;
        if !state.health.is_healthy() {
            return None;
        }
        state.in_flight += 1;
        let slots = state.slots.clone();
        Some(InFlight { endpoint: Arc::clone(self), description, slots, sent: state.health.rests })
    }

    pub(crate) fn report(&self) -> RemoteEndpoint {
        let state = self.state();
        let health = match &state.health.state {
            HealthState::Healthy => EndpointHealth::Healthy,
            HealthState::Resting(rest) => {
                let remaining = rest.until.saturating_duration_since(Instant::now());
                let error = rest.error.clone();
                if rest.is_refused {
                    EndpointHealth::Refused { remaining, error }
                } else {
                    EndpointHealth::Resting { remaining, error }
                }
            }
        };
        RemoteEndpoint {
            url: self.http.address().to_owned(),
            description: state.description.as_deref().cloned(),
            weight: self.weight,
            health,
            in_flight: state.in_flight,
            done: state.done,
        }
    }
}

/// A request at a server, which counts as long as this is kept.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) description: Arc<RemoteDescription>,
    /// The queue for the slots of the server, where it has slots.
    pub(crate) slots: Option<Arc<SlotQueue>>,
    /// How many rests the server had when the request was sent.
    sent: u64,
}

impl InFlight {
    /// Notes that the reply has begun.
    pub(crate) fn succeed(&self) {
        self.endpoint.state().health.succeed();
    }

    /// Notes that the reply is complete.
    pub(crate) fn complete(&self) {
        self.endpoint.state().done += 1;
    }

    /// Notes that the server failed. Returns whether it rests from now on.
    pub(crate) fn fail(&self, fault: &Fault) -> bool {
        self.endpoint.state().health.fail(self.sent, fault, Instant::now())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut state = self.endpoint.state();
        state.in_flight = state.in_flight.saturating_sub(1);
    }
}
