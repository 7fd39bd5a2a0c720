//! The conversations in a bucket: finding the end of a log, and putting an entry behind it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant};

use alloquy_core::store::{BLOB_GRACE, ConversationSummary};
use alloquy_core::{ConversationId, Owner};
use futures::{StreamExt, TryStreamExt};
use tokio::sync::Mutex;

use super::entry::{Change, Entry, State};
use super::key::{self, Keys};
use super::log::Log;
use super::objects::{AT_ONCE, Objects, PATIENCE};
use crate::failure::Failure;

/// How long a log is written to without looking for its end first. Entries that a later one made needless stay for
/// [`BLOB_GRACE`], which is longer: so no number is ever taken twice.
const FRESH: Duration = Duration::from_secs(600);

/// How many logs are kept in memory.
const KEPT: usize = 64;

/// What a call decides when it has seen a log.
pub(super) enum Step<T> {
    /// There is nothing to write.
    Done(T),
    /// This is to be written.
    Write(Box<State>, Change, T),
}

type Slot = Rc<Mutex<Option<Log>>>;
type Name = (Owner, String);

#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) objects: Objects,
    prefix: String,
    slots: RefCell<HashMap<Name, Slot>>,
    /// What the newest entry of each conversation says, by its number.
    pub(super) known: RefCell<HashMap<Name, (u64, Option<ConversationSummary>)>>,
}

impl Bucket {
    pub(super) fn new(objects: Objects, prefix: String) -> Self {
        Self { objects, prefix, slots: RefCell::default(), known: RefCell::default() }
    }

    pub(super) fn keys(&self, owner: &Owner) -> Keys {
        Keys::of(&self.prefix, owner)
    }

    /// The place in memory of a log: calls on one conversation take turns.
    fn slot(&self, owner: &Owner, name: &str) -> Slot {
        let mut slots = self.slots.borrow_mut();
        if slots.len() >= KEPT {
            slots.retain(|_, slot| Rc::strong_count(slot) > 1);
        }
        Rc::clone(slots.entry((owner.clone(), name.to_owned())).or_default())
    }

    /// Reads a log to its end and asks something of it.
    pub(super) async fn read<T>(
        &self,
        owner: &Owner,
        id: &ConversationId,
        ask: impl FnOnce(&Log) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let name = key::conversation(id);
        let slot = self.slot(owner, &name);
        let mut log = slot.lock().await;
        ask(self.refresh(&self.keys(owner), &name, &mut log).await?)
    }

    /// Writes what `decide` makes of a log, again when another writer was faster.
    pub(super) async fn change<T>(
        &self,
        owner: &Owner,
        id: &ConversationId,
        decide: impl Fn(&Log) -> Result<Step<T>, Failure>,
    ) -> Result<T, Failure> {
        self.objects.must_write()?;
        let (keys, name) = (self.keys(owner), key::conversation(id));
        let slot = self.slot(owner, &name);
        let mut kept = slot.lock().await;
        let began = Instant::now();
        let mut is_fresh = kept.as_ref().is_none_or(|log| log.read.elapsed() > FRESH);
        if is_fresh {
            self.refresh(&keys, &name, &mut kept).await?;
        }
        loop {
            let Some(log) = kept.as_mut() else { return Err(Failure::Ended) };
            match decide(log) {
                Ok(Step::Write(state, change, outcome)) => {
                    let entry = log.entry(*state, change);
                    if self.write(&keys, &name, log, entry).await.inspect_err(|_| *kept = None)? {
                        return Ok(outcome);
                    }
                }
                Ok(Step::Done(outcome)) if is_fresh => return Ok(outcome),
                Err(failure) if is_fresh => return Err(failure),
                _ => {}
            }
            // A list that does not show what is there would make this go on for ever.
            if began.elapsed() >= PATIENCE {
                return Err(Failure::Outrun { id: id.clone(), waited: began.elapsed() });
            }
            self.refresh(&keys, &name, &mut kept).await?;
            is_fresh = true;
        }
    }

    /// Puts an entry behind a log, and says whether nobody else was faster.
    ///
    /// Before it stands a mark for lists and what says which blobs it needs: what a killed writer leaves of these hides
    /// and loses nothing. The entry itself is the moment from which the change is there.
    async fn write(&self, keys: &Keys, name: &str, log: &mut Log, entry: Entry) -> Result<bool, Failure> {
        let number = log.number + 1;
        let mut needed = vec![keys.mark(name, number)];
        needed.extend(media(&entry).into_iter().map(|digest| keys.usage(digest, name, number)));
        let puts =
            futures::stream::iter(needed).map(|key| async move { self.objects.put(&key, Vec::new()).await });
        puts.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        if !self.objects.commit(&keys.entry(name, number), &entry).await? {
            return Ok(false);
        }
        log.apply(entry)?;
        log.read = Instant::now();
        // Lists look at the highest mark whose entry is there, so one that stays is no harm.
        let _ = self.objects.remove(vec![keys.mark(name, number - 1)]).await;
        Ok(true)
    }

    /// Reads a log to its end.
    pub(super) async fn refresh<'a>(
        &self,
        keys: &Keys,
        name: &str,
        kept: &'a mut Option<Log>,
    ) -> Result<&'a Log, Failure> {
        let log = match kept.take() {
            Some(log) if log.number > 0 => self.continued(keys, name, log).await?,
            _ => self.whole(keys, name).await?,
        };
        Ok(kept.insert(log))
    }

    async fn continued(&self, keys: &Keys, name: &str, mut log: Log) -> Result<Log, Failure> {
        let started = Instant::now();
        let behind = self.objects.list_behind(&keys.log(name), &keys.entry(name, log.number - 1)).await?;
        let numbers: Vec<u64> = behind.iter().filter_map(|found| key::number(&found.location)).collect();
        match (numbers.first(), numbers.last()) {
            // The end that was known is there, so nothing before it is needed.
            (Some(&first), Some(&last)) if first == log.number => {
                self.follow(keys, name, &mut log, last).await?;
                log.read = started;
                Ok(log)
            }
            _ => self.whole(keys, name).await,
        }
    }

    async fn whole(&self, keys: &Keys, name: &str) -> Result<Log, Failure> {
        let started = Instant::now();
        let last = self.end(keys, name).await?;
        if last == 0 {
            return Ok(Log::blank(0));
        }
        let base = self.entry(keys, name, last).await?.base;
        let mut log = Log { read: started, ..Log::blank(base.saturating_sub(1)) };
        self.follow(keys, name, &mut log, last).await?;
        Ok(log)
    }

    /// Returns the number of the last entry of a log, 0 where there is none.
    pub(super) async fn end(&self, keys: &Keys, name: &str) -> Result<u64, Failure> {
        let found = self.objects.list(&keys.log(name)).await?;
        Ok(found.iter().filter_map(|found| key::number(&found.location)).max().unwrap_or_default())
    }

    async fn follow(&self, keys: &Keys, name: &str, log: &mut Log, last: u64) -> Result<(), Failure> {
        let entries = futures::stream::iter(log.number + 1..=last);
        let mut entries = entries.map(|number| self.entry(keys, name, number)).buffered(AT_ONCE);
        while let Some(entry) = entries.try_next().await? {
            log.apply(entry).map_err(|error| Failure::damaged(keys.log(name).to_string(), error))?;
        }
        Ok(())
    }

    pub(super) async fn entry(&self, keys: &Keys, name: &str, number: u64) -> Result<Entry, Failure> {
        let key = keys.entry(name, number);
        let bytes = self.objects.get(&key).await?;
        let bytes = bytes.ok_or_else(|| Failure::damaged(key.to_string(), "it is missing"))?;
        Entry::read(&bytes, key.as_ref())
    }

    /// Deletes a conversation, also one that is damaged.
    pub(super) async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<(), Failure> {
        let gone = |log: &Log| {
            log.record(id)?;
            Ok(Step::Write(
                Box::new(State::gone()),
                Change::Deleted,
                (log.number + 1, log.media().collect::<Vec<_>>()),
            ))
        };
        let (keys, name) = (self.keys(owner), key::conversation(id));
        let (number, media) = match self.change(owner, id, gone).await {
            Err(Failure::Damaged { .. }) => {
                let mut log = Log::blank(self.end(&keys, &name).await?);
                let entry = log.entry(State::gone(), Change::Deleted);
                if !self.write(&keys, &name, &mut log, entry).await? {
                    return Err(Failure::HeadMoved(id.clone()));
                }
                // Nobody knows what a damaged conversation referred to; that is found when blobs are collected.
                (log.number, Vec::new())
            }
            outcome => outcome?,
        };
        // It is deleted. What is not released now is, like the rest, when blobs are collected.
        let _ = self.release(&keys, &name, media, number).await;
        Ok(())
    }

    /// Puts everything that is there into one entry, and removes the entries before an earlier one of that kind.
    pub(super) async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<(), Failure> {
        let (keys, name) = (self.keys(owner), key::conversation(id));
        let before = self.read(owner, id, |log| Ok((log.base, log.media().collect::<Vec<_>>()))).await?;
        self.sweep(&keys, &name, before.0).await?;
        let whole = |log: &Log| {
            log.record(id)?;
            let nodes: Vec<_> = log.tree.walk().map(|(_, node)| node.clone()).collect();
            let tombstones: Vec<_> = log.tree.tombstones().collect();
            let change = Change::Whole { nodes, tombstones };
            Ok(Step::Write(Box::new(log.state.clone()), change, log.number))
        };
        let number = self.change(owner, id, whole).await?;
        // What is not released now is released by the next compaction.
        let _ = self.release_pruned(owner, id, number).await;
        Ok(())
    }

    /// Releases what entries up to a number needed and the entry behind it, which has everything, does not.
    async fn release_pruned(&self, owner: &Owner, id: &ConversationId, number: u64) -> Result<(), Failure> {
        let (keys, name) = (self.keys(owner), key::conversation(id));
        let used: Vec<_> = self.read(owner, id, |log| Ok(log.media().collect())).await?;
        let all = self.objects.list(&keys.uses()).await?;
        let of_this = |key: &object_store::path::Path| {
            key::folder(key).as_deref() == Some(&name) && key::number(key).is_some_and(|at| at <= number)
        };
        let is_used = |key: &object_store::path::Path| {
            used.iter().any(|digest| key.as_ref().contains(&digest.to_string()))
        };
        let keys = all.into_iter().map(|found| found.location).filter(|key| of_this(key) && !is_used(key));
        self.objects.remove(keys.collect()).await
    }

    async fn release(
        &self,
        keys: &Keys,
        name: &str,
        media: Vec<alloquy_core::media::Digest>,
        number: u64,
    ) -> Result<(), Failure> {
        let mut gone = Vec::new();
        for digest in media.into_iter().collect::<std::collections::BTreeSet<_>>() {
            let found = self.objects.list(&keys.uses_of(digest, name)).await?;
            let keys = found.into_iter().map(|found| found.location);
            gone.extend(keys.filter(|key| key::number(key).is_some_and(|at| at <= number)));
        }
        self.objects.remove(gone).await
    }

    /// Removes the entries before one that needs none of them, once it has stood there for a while.
    pub(super) async fn sweep(&self, keys: &Keys, name: &str, base: u64) -> Result<(), Failure> {
        let found = self.objects.list(&keys.log(name)).await?;
        let number = |found: &object_store::ObjectMeta| key::number(&found.location).unwrap_or(u64::MAX);
        let old = |found: &object_store::ObjectMeta| {
            let age = std::time::SystemTime::now().duration_since(found.last_modified.into());
            age.is_ok_and(|age| age >= BLOB_GRACE)
        };
        if !found.iter().any(|found| number(found) == base && old(found)) {
            return Ok(());
        }
        let keys = found.into_iter().filter(|found| number(found) < base).map(|found| found.location);
        self.objects.remove(keys.collect()).await
    }

    /// Returns the marks of an owner's conversations, the highest last.
    pub(super) async fn marks(&self, keys: &Keys) -> Result<BTreeMap<String, Vec<u64>>, Failure> {
        let mut marks: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for found in self.objects.list(&keys.marks()).await? {
            if let (Some(name), Some(number)) = (key::folder(&found.location), key::number(&found.location)) {
                marks.entry(name).or_default().push(number);
            }
        }
        Ok(marks)
    }
}

/// The media that an entry brings in.
fn media(entry: &Entry) -> std::collections::BTreeSet<alloquy_core::media::Digest> {
    match (&entry.change, &entry.state.record) {
        (Change::Nodes(nodes), _) => nodes.iter().flat_map(alloquy_core::Node::media).collect(),
        (Change::Created, Some(record)) => record.media(),
        _ => Default::default(),
    }
}
