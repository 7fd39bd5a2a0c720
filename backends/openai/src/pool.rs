//! The servers of a decoder: which one gets a request, and what happens when one fails.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result};
use futures::future::join_all;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

use crate::adapter;
use crate::admission::{Admission, Examined, Reference};
use crate::choice::{self, Candidate};
use crate::description::RemoteDescription;
use crate::dialect::Dialect;
use crate::endpoint::{Endpoint, InFlight, RemoteEndpoint};
use crate::fault::Fault;
use crate::memory::Held;
use crate::request::{Adapters, RemoteRequest};
use crate::saved::SlotSaver;

/// All servers of a decoder.
#[derive(Debug)]
pub(crate) struct Pool {
    endpoints: Vec<Arc<Endpoint>>,
    admission: Admission,
    /// Notified when a rest ends.
    rested: Notify,
}

/// A request at a server.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) place: InFlight,
    /// The length of the stem of the prompt.
    pub(crate) stem: usize,
    /// How many leading tokens of the prompt another server has of the conversation.
    pub(crate) elsewhere: usize,
}

/// What a decoder reports of its servers.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The first server that answered.
    pub(crate) description: RemoteDescription,
    pub(crate) context_length: usize,
}

impl Pool {
    pub(crate) fn new(endpoints: Vec<Endpoint>, admission: Admission) -> Self {
        let endpoints = endpoints.into_iter().map(Arc::new).collect();
        Self { endpoints, admission, rested: Notify::new() }
    }

    /// Returns whether there is one server alone, which never rests.
    pub(crate) fn is_single(&self) -> bool {
        self.endpoints.len() == 1
    }

    /// Examines all servers. Those that do not answer rest. It runs on the thread of the decoder.
    ///
    /// # Errors
    /// When none answers, and when one is not like the others.
    pub(crate) async fn open(self: &Arc<Self>, context_length: usize) -> Result<Opened> {
        let examining = self.endpoints.iter().map(|endpoint| self.admission.examine(&endpoint.http));
        let mut answered: Vec<Examined> = Vec::new();
        let mut absent = Vec::new();
        for (endpoint, examined) in self.endpoints.iter().zip(join_all(examining).await) {
            match examined {
                Ok(examined) => {
                    if let Some(first) = answered.first() {
                        first.check_same(&examined)?;
                    }
                    endpoint.checked(Ok(examined.clone()));
                    answered.push(examined);
                }
                Err(fault) if self.is_single() => return Err(fault.error),
                Err(fault) if !fault.is_passing => return Err(self.refusal(endpoint, fault.error)),
                Err(fault) => absent.push((endpoint, fault)),
            }
        }
        let contexts = answered.iter().filter_map(|examined| examined.description.context_length);
        let context_length = contexts.fold(context_length, usize::min);
        let Some(first) = answered.into_iter().next() else { return Err(none_answers(absent)) };
        let description = first.description.clone();
        self.admission.refer(Reference { examined: first, context_length });
        for (endpoint, fault) in absent {
            tracing::warn!(server = endpoint.http.address(), error = %fault.error, "server does not answer");
            endpoint.checked(Err(fault));
            self.recover(endpoint);
        }
        Ok(Opened { description, context_length })
    }

    /// Returns the error for a server that cannot be used with the others.
    fn refusal(&self, refused: &Arc<Endpoint>, error: Error) -> Error {
        let others = self.endpoints.iter().filter(|endpoint| !Arc::ptr_eq(endpoint, refused));
        let others: Vec<&str> = others.map(|endpoint| endpoint.http.address()).collect();
        let others = others.join(" and ");
        let address = refused.http.address();
        error.context(format!("server {address} cannot be used with {others}"))
    }

    /// Returns the dialects of the servers that have answered, each once.
    pub(crate) fn dialects(&self) -> Vec<Dialect> {
        let mut dialects = Vec::new();
        for endpoint in &self.endpoints {
            let dialect = endpoint.description().map(|description| description.dialect);
            dialects.extend(dialect.filter(|dialect| !dialects.contains(dialect)));
        }
        dialects
    }

    pub(crate) fn report(&self) -> Vec<RemoteEndpoint> {
        self.endpoints.iter().map(|endpoint| endpoint.report()).collect()
    }

    /// Returns how many tokens of prompts were cached and computed.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let mut counts = (0, 0);
        for endpoint in &self.endpoints {
            let memory = endpoint.memory();
            counts.0 += memory.cached;
            counts.1 += memory.computed;
        }
        counts
    }

    /// Finds an adapter at each server that answers. Those that come later get no requests for it.
    ///
    /// # Errors
    /// As [`adapter::find`], when a server does not have it.
    pub(crate) async fn find_adapter(&self, name: &str) -> Result<Adapters> {
        let mut adapters = Adapters::new();
        for endpoint in &self.endpoints {
            let Some(server) = endpoint.description().filter(|_| endpoint.load().is_some()) else { continue };
            let found = adapter::find(&endpoint.http, server.dialect, name).await?;
            adapters.insert(server.url.clone(), found);
        }
        if adapters.is_empty() {
            let message = format!("adapter {name:?} was not looked up, as all servers rest: try it again");
            return Err(Error::new(ErrorKind::Busy, message));
        }
        Ok(adapters)
    }

    /// Returns what saves slots of the only server, where it has slots. A snapshot of one of several servers would be of use there
    /// alone.
    pub(crate) fn saver(&self) -> Option<SlotSaver> {
        let [endpoint] = &self.endpoints[..] else { return None };
        let slots = endpoint.slots()?;
        let model = endpoint.description()?.model.clone();
        Some(SlotSaver { http: Arc::clone(&endpoint.http), slots, model })
    }

    /// Notes what the only server has restored.
    pub(crate) fn restored(&self, ids: &[TokenId], was_longer: bool) {
        if let [endpoint] = &self.endpoints[..] {
            endpoint.memory().restored(ids.to_vec(), was_longer);
        }
    }

    /// Chooses a server for a prompt; `None` if all rest.
    pub(crate) fn route(&self, request: &RemoteRequest) -> Option<Route> {
        let prompt = &request.prompt[..];
        if let [endpoint] = &self.endpoints[..] {
            return Some(Route { place: endpoint.begin()?, stem: prompt.len(), elsewhere: 0 });
        }
        let held: Vec<Held> =
            self.endpoints.iter().map(|endpoint| endpoint.memory().held(&request.space, prompt)).collect();
        let others = held.iter().map(|held| held.others).max().unwrap_or(0);
        let longest = held.iter().max_by_key(|held| held.own);
        let known = longest.filter(|held| held.own > 0).and_then(|held| held.stem);
        let stem = known.unwrap_or_else(|| choice::stem(prompt, others)).min(prompt.len());
        let digest = choice::digest(prompt.get(..stem).unwrap_or(prompt));
        loop {
            let mut places = Vec::new();
            let mut candidates = Vec::new();
            for (endpoint, held) in self.endpoints.iter().zip(&held) {
                let Some(in_flight) = endpoint.load() else { continue };
                let address = endpoint.http.address();
                if !request.is_for(address) {
                    continue;
                }
                candidates.push(Candidate { address, weight: endpoint.weight, in_flight, held: held.own });
                places.push(endpoint);
            }
            let chosen = choice::best(&candidates, &digest)?;
            let own = candidates.get(chosen)?.held;
            let most = held.iter().map(|held| held.own).max().unwrap_or(0);
            let elsewhere = if most > own { most } else { 0 };
            // It may rest since it was a candidate. Then the others are candidates.
            if let Some(place) = places.get(chosen)?.begin() {
                return Some(Route { place, stem, elsewhere });
            }
        }
    }

    /// Notes the fault of a request. It runs on the thread of the decoder.
    pub(crate) fn fail(self: &Arc<Self>, request: &RemoteRequest, place: &InFlight, fault: &Fault) {
        if self.is_single() || !request.blames_server(fault) {
            return;
        }
        if place.fail(fault) {
            let server = place.endpoint.http.address();
            tracing::warn!(server, error = %fault.error, "server failed and rests");
            self.recover(&place.endpoint);
        }
    }

    /// Returns a server for a request that was sent `attempt` times, after it has failed. If all rest, it waits for the first one.
    ///
    /// # Errors
    /// What failed, when the request is at fault, or no server is ready soon enough.
    pub(crate) async fn next(&self, request: &RemoteRequest, fault: Fault, attempt: u32) -> Result<Route> {
        let attempts = self.endpoints.iter().map(|endpoint| endpoint.http.retries.attempts);
        let mut most = attempts.fold(0, u32::saturating_add);
        if !fault.is_passing {
            // Such a failure may be the request's: it is tried once at each server.
            most = most.min(u32::try_from(self.endpoints.len()).unwrap_or(u32::MAX));
        }
        if !request.blames_server(&fault) || attempt >= most {
            return Err(fault.error);
        }
        tracing::debug!(error = %fault.error, attempt, "request failed and is sent to another server");
        match self.wait(request).await {
            Some(route) => Ok(route),
            None => Err(fault.error),
        }
    }

    /// Returns a server for a request, waiting if all rest.
    ///
    /// # Errors
    /// Why the one rests that is ready first.
    pub(crate) async fn first(&self, request: &RemoteRequest) -> Result<Route> {
        if let Some(route) = self.wait(request).await {
            return Ok(route);
        }
        let rests = self.endpoints.iter().filter_map(|endpoint| Some((endpoint, endpoint.rest()?)));
        let Some((endpoint, (_, error))) = rests.min_by_key(|(_, (rest, _))| *rest) else {
            return Err(Error::new(ErrorKind::Busy, "the servers were away: send the request again"));
        };
        let count = self.endpoints.len();
        let address = endpoint.http.address();
        Err(error.context(format!(
            "all {count} servers rest, and {address} is the first one that may answer later"
        )))
    }

    /// Waits for a server as long as a request may wait.
    async fn wait(&self, request: &RemoteRequest) -> Option<Route> {
        let longest = self.endpoints.iter().map(|endpoint| endpoint.http.retries.longest_wait).max()?;
        // The time may be longer than clocks count.
        let deadline = Instant::now().checked_add(longest);
        loop {
            // A rest that ends from here on is noticed.
            let rested = self.rested.notified();
            if let Some(route) = self.route(request) {
                return Some(route);
            }
            let rests = self.endpoints.iter().filter_map(|endpoint| endpoint.rest());
            let shortest = rests.map(|(rest, _)| rest).min().unwrap_or(Duration::ZERO);
            let Some(deadline) = deadline else {
                rested.await;
                continue;
            };
            if Instant::now() + shortest > deadline || timeout_at(deadline, rested).await.is_err() {
                return None;
            }
        }
    }

    /// Checks a server after its rest, as often as it takes.
    fn recover(self: &Arc<Self>, endpoint: &Arc<Endpoint>) {
        let pool = Arc::clone(self);
        let endpoint = Arc::clone(endpoint);
        // It ends with the thread of the decoder.
        tokio::spawn(async move {
            while let Some((rest, _)) = endpoint.rest() {
                if !rest.is_zero() {
                    sleep(rest).await;
                } else if endpoint.is_outage() {
                    let examined = pool.admission.readmit(&endpoint.http).await;
                    endpoint.checked(examined);
                } else {
                    endpoint.wake();
                }
            }
            tracing::info!(server = endpoint.http.address(), "server gets requests again");
            pool.rested.notify_waiters();
        });
    }
}

fn none_answers(absent: Vec<(&Arc<Endpoint>, Fault)>) -> Error {
    let count = absent.len();
    let Some((endpoint, fault)) = absent.into_iter().next() else {
        return Error::new(ErrorKind::Invalid, "a decoder needs a server");
    };
    let address = endpoint.http.address();
    fault.error.context(format!("none of {count} servers answers, the first one of which is {address}"))
}
