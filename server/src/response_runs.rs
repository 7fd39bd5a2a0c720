//! The responses of this process: those that run, those of the background with their events, and where the latest ones ended.
//!
//! The store has what was generated. What is here is kept for a few minutes, so that a stream can be resumed, and so that the next
//! request of a conversation need not read its tree.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use alloquy_core::stop::StopSignal;
use alloquy_core::{NodeId, Owner};
use futures::stream::{self, Stream};
use tokio::sync::Notify;

use crate::items::ResponseId;
use crate::streaming::Frame;

/// How long the events of a response are kept after its end.
const KEPT: Duration = Duration::from_secs(5 * 60);
/// How many responses of an owner that have ended keep their events.
const ENDED: usize = 64;
/// How many responses of all owners that have ended keep their events.
const ALL_ENDED: usize = 1024;
/// How many bytes of events a response keeps.
const BYTES: usize = 4 << 20;
/// Of how many responses the last node is known.
const LAST: usize = 16 << 10;

/// A response of an owner. Copies of a conversation have the same ids, and may belong to several owners.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RunKey {
    owner: Owner,
    id: ResponseId,
}

impl RunKey {
    pub(crate) fn new(owner: &Owner, id: ResponseId) -> Self {
        Self { owner: owner.clone(), id }
    }
}

/// The responses of this process.
#[derive(Debug, Default)]
pub(crate) struct ResponseRuns {
    runs: Mutex<HashMap<RunKey, Arc<Run>>>,
    /// Those that are being streamed to a client that waits.
    streamed: Mutex<HashSet<RunKey>>,
    last: Mutex<LastNodes>,
}

/// The last nodes of the latest responses, in their order.
#[derive(Debug, Default)]
struct LastNodes {
    nodes: HashMap<RunKey, NodeId>,
    order: VecDeque<RunKey>,
}

/// A response in the background.
#[derive(Debug)]
pub(crate) struct Run {
    stop: StopSignal,
    log: Mutex<Log>,
    changed: Notify,
}

#[derive(Debug)]
struct Log {
    is_queued: bool,
    /// The number of the first event that is kept.
    first: u64,
    frames: VecDeque<Frame>,
    bytes: usize,
    ended: Option<Instant>,
}

/// How far a response in the background is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunState {
    Queued,
    InProgress,
    Ended,
}

impl ResponseRuns {
    fn runs(&self) -> MutexGuard<'_, HashMap<RunKey, Arc<Run>>> {
        // The map is valid even if a thread panicked while it held the lock.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> MutexGuard<'_, LastNodes> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a response in the background, which `stop` cancels.
    pub(crate) fn begin(&self, key: RunKey, stop: StopSignal) -> Arc<Run> {
        let log = Log { is_queued: true, first: 0, frames: VecDeque::new(), bytes: 0, ended: None };
        let run = Arc::new(Run { stop, log: Mutex::new(log), changed: Notify::new() });
        let mut runs = self.runs();
        forget_old(&mut runs);
        runs.insert(key, Arc::clone(&run));
        run
    }

    /// Returns a response in the background, while its events are kept.
    pub(crate) fn find(&self, key: &RunKey) -> Option<Arc<Run>> {
        let mut runs = self.runs();
        forget_old(&mut runs);
        runs.get(key).cloned()
    }

    /// Forgets the events of a response.
    pub(crate) fn forget(&self, key: &RunKey) {
        self.runs().remove(key);
        self.last().nodes.remove(key);
    }

    fn streamed(&self) -> MutexGuard<'_, HashSet<RunKey>> {
        self.streamed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a response is being streamed to a client that waits.
    pub(crate) fn begin_stream(&self, key: RunKey) {
        self.streamed().insert(key);
    }

    /// Notes that the stream of a response has ended.
    pub(crate) fn end_stream(&self, key: &RunKey) {
        self.streamed().remove(key);
    }

    /// Returns whether a response is being streamed to a client that waits.
    pub(crate) fn is_streamed(&self, key: &RunKey) -> bool {
        self.streamed().contains(key)
    }

    /// Notes the last node of a response.
    pub(crate) fn note_last(&self, key: RunKey, node: NodeId) {
        let mut last = self.last();
        if last.nodes.insert(key.clone(), node).is_none() {
            last.order.push_back(key);
        }
        if last.order.len() > LAST {
            let oldest = last.order.pop_front();
            if let Some(oldest) = oldest {
                last.nodes.remove(&oldest);
            }
        }
    }

    /// Returns the last node of a response that has ended lately.
    pub(crate) fn last_node(&self, key: &RunKey) -> Option<NodeId> {
        self.last().nodes.get(key).copied()
    }
}

/// Forgets the events of responses that have ended long ago, and the oldest ones where an owner has many. Where there are too many of all
/// owners, the oldest one of the owner with the most goes first, so that no owner pushes out those of others.
fn forget_old(runs: &mut HashMap<RunKey, Arc<Run>>) {
    runs.retain(|_, run| run.log().ended.is_none_or(|ended| ended.elapsed() < KEPT));
    let mut ended: HashMap<Owner, Vec<(Instant, RunKey)>> = HashMap::new();
    for (key, run) in runs.iter() {
        let at = run.log().ended;
        if let Some(at) = at {
            ended.entry(key.owner.clone()).or_default().push((at, key.clone()));
        }
    }
    let most = fair_share(ended.values().map(Vec::len).collect(), ALL_ENDED).min(ENDED);
    for mut of_owner in ended.into_values() {
        of_owner.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        for (_, key) in of_owner.into_iter().skip(most) {
            runs.remove(&key);
        }
    }
}

/// Returns how many each owner may keep, so that those of all owners are `total` at most: owners with fewer leave the rest to others.
fn fair_share(mut counts: Vec<usize>, total: usize) -> usize {
    counts.sort_unstable();
    let mut left = total;
    let mut owners = counts.len();
    for count in counts {
        let share = left / owners;
        if count > share {
            return share;
        }
        left -= count;
        owners -= 1;
    }
    usize::MAX
}

impl Run {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels the response.
    pub(crate) fn cancel(&self) {
        self.stop.stop();
    }

    /// Returns how far it is.
    pub(crate) fn state(&self) -> RunState {
        let log = self.log();
        if log.ended.is_some() {
            RunState::Ended
        } else if log.is_queued {
            RunState::Queued
        } else {
            RunState::InProgress
        }
    }

    /// Notes that a model works on it.
    pub(crate) fn start(&self) {
        self.log().is_queued = false;
    }

    /// Adds events. The oldest ones are forgotten where they are too many.
    pub(crate) fn push(&self, frames: Vec<Frame>) {
        self.log().push(frames);
        self.changed.notify_waiters();
    }

    /// Adds the last events and ends it at once, so a client that has read the last one finds a response that has ended. Its events are
    /// kept for a while.
    pub(crate) fn end_with(&self, frames: Vec<Frame>) {
        let mut log = self.log();
        log.push(frames);
        log.ended.get_or_insert_with(Instant::now);
        drop(log);
        self.changed.notify_waiters();
    }

    /// Ends it without a further event.
    pub(crate) fn end(&self) {
        self.end_with(Vec::new());
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) {
        loop {
            // It is created before the check, so an end between the two wakes it.
            let changed = self.changed.notified();
            if self.log().ended.is_some() {
                return;
            }
            changed.await;
        }
    }

    /// Returns whether the events from a number on are kept.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.log().first <= number
    }

    /// Returns the events from a number on, as they come, to the last one.
    pub(crate) fn events(self: Arc<Self>, number: u64) -> impl Stream<Item = Frame> + Send + 'static {
        stream::unfold((self, number), |(run, number)| async move {
            loop {
                let changed = run.changed.notified();
                match run.log().at(number) {
                    Found::Frame(frame) => return Some((frame, (Arc::clone(&run), number + 1))),
                    Found::End => return None,
                    Found::Later => {}
                }
                changed.await;
            }
        })
    }
}

/// What a log has at a number.
enum Found {
    Frame(Frame),
    /// The event has not come yet.
    Later,
    /// There is no such event, or it was forgotten before a slow reader came to it.
    End,
}

impl Log {
    fn push(&mut self, frames: Vec<Frame>) {
        for frame in frames {
            self.bytes += frame.len();
            self.frames.push_back(frame);
        }
        while self.bytes > BYTES {
            let oldest = self.frames.pop_front();
            self.bytes -= oldest.map_or(self.bytes, |frame| frame.len());
            self.first += 1;
        }
    }

    fn at(&self, number: u64) -> Found {
        let Some(index) = number.checked_sub(self.first) else { return Found::End };
        let frame = usize::try_from(index).ok().and_then(|index| self.frames.get(index));
        match frame {
            Some(frame) => Found::Frame(frame.clone()),
            None if self.ended.is_some() => Found::End,
            None => Found::Later,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;
    use serde_json::json;

    use super::*;

    fn frame(number: u64) -> Frame {
        Frame::json(&json!(number))
    }

    fn id() -> RunKey {
        id_of(&Owner::local())
    }

    fn id_of(owner: &Owner) -> RunKey {
        let id = ResponseId { conversation: alloquy_core::ConversationId::new(), node: NodeId::new() };
        RunKey::new(owner, id)
    }

    /// Begins and ends responses of an owner.
    fn ended(runs: &ResponseRuns, owner: &Owner, count: usize) -> Vec<RunKey> {
        let mut keys = Vec::new();
        for _ in 0..count {
            let key = id_of(owner);
            runs.begin(key.clone(), StopSignal::default()).end();
            keys.push(key);
        }
        keys
    }

    fn kept(runs: &ResponseRuns, keys: &[RunKey]) -> usize {
        keys.iter().filter(|key| runs.find(key).is_some()).count()
    }

    #[tokio::test]
    async fn events_are_read_again_from_any_number_while_they_come() {
        let runs = ResponseRuns::default();
        let id = id();
        let run = runs.begin(id.clone(), StopSignal::default());
        run.push(vec![frame(0), frame(1)]);
        let reader = tokio::spawn(runs.find(&id).unwrap().events(1).collect::<Vec<_>>());
        tokio::task::yield_now().await;
        run.push(vec![frame(2)]);
        run.end();
        assert_eq!(reader.await.unwrap(), [frame(1), frame(2)]);
        assert_eq!(Arc::clone(&run).events(7).collect::<Vec<_>>().await, []);
        assert_eq!(run.state(), RunState::Ended);
    }

    #[tokio::test]
    async fn a_run_has_ended_once_its_last_event_is_read() {
        let runs = ResponseRuns::default();
        let run = runs.begin(id(), StopSignal::default());
        let mut events = Box::pin(Arc::clone(&run).events(0));
        run.push(vec![frame(0)]);
        assert_eq!((events.next().await, run.state()), (Some(frame(0)), RunState::Queued));
        run.end_with(vec![frame(1)]);
        assert_eq!((events.next().await, run.state()), (Some(frame(1)), RunState::Ended));
        assert_eq!(events.next().await, None);
    }

    #[test]
    fn old_events_and_old_runs_are_forgotten() {
        let runs = ResponseRuns::default();
        let run = runs.begin(id(), StopSignal::default());
        let long = Frame::text(&"x".repeat(BYTES / 2));
        run.push(vec![long.clone(), long.clone(), long]);
        assert!(!run.has(0) && run.log().bytes <= BYTES);
        let ids: Vec<_> = (0..ENDED + 3).map(|_| id()).collect();
        for id in &ids {
            runs.begin(id.clone(), StopSignal::default()).end();
        }
        assert_eq!(ids.iter().filter(|id| runs.find(id).is_some()).count(), ENDED);
    }

    #[test]
    fn an_owner_with_many_responses_pushes_out_none_of_another() {
        let runs = ResponseRuns::default();
        let (ann, bob): (Owner, Owner) = ("ann".parse().unwrap(), "bob".parse().unwrap());
        let of_ann = ended(&runs, &ann, 2);
        let of_bob = ended(&runs, &bob, ENDED + 10);
        assert_eq!((kept(&runs, &of_ann), kept(&runs, &of_bob)), (2, ENDED));
        assert!(runs.find(of_bob.last().unwrap()).is_some() && runs.find(&of_bob[0]).is_none());
    }

    #[test]
    fn the_responses_of_all_owners_are_bounded() {
        let runs = ResponseRuns::default();
        let few = ended(&runs, &"few".parse().unwrap(), 3);
        let mut many = Vec::new();
        for number in 0..ALL_ENDED / ENDED + 4 {
            let owner: Owner = format!("owner-{number}").parse().unwrap();
            many.extend(ended(&runs, &owner, ENDED));
        }
        let most = kept(&runs, &many);
        assert!(most <= ALL_ENDED - 3 && most > ALL_ENDED - 40, "{most}");
        assert_eq!(kept(&runs, &few), 3);
    }

    #[test]
    fn the_last_nodes_are_bounded() {
        let runs = ResponseRuns::default();
        let first = id();
        runs.note_last(first.clone(), first.id.node);
        assert_eq!(runs.last_node(&first), Some(first.id.node));
        for _ in 0..LAST {
            let id = id();
            runs.note_last(id.clone(), id.id.node);
        }
        assert_eq!(runs.last_node(&first), None);
    }
}
