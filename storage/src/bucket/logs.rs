//! The logs in a bucket: finding the end of a log, and putting the next entry there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use alloquy_core::media::Digest;
use alloquy_core::store::{BLOB_GRACE, ConversationSummary};
use alloquy_core::{ConversationId, Node, Owner};
use futures::{StreamExt, TryStreamExt};
use tokio::sync::Mutex;

use super::entry::{Change, Entry, State};
use super::key::{self, Keys};
use super::log::Log;
use super::objects::{AT_ONCE, Objects, PATIENCE};
use crate::failure::Failure;

/// How long a log is written to without looking for its end first.
///
/// It is shorter than [`BLOB_GRACE`], for which entries stay that a later one made needless. So a writer with an outdated end
/// finds its number taken, and no number is used twice.
const FRESH: Duration = Duration::from_secs(600);

/// How many logs are kept in memory.
const KEPT: usize = 64;

/// What a call decides after it has read a log.
pub(super) enum Step<T> {
    /// There is nothing to write.
    Done(T),
    /// This change is to be written, with the state after it.
    Write(Box<State>, Change, T),
}

type Slot = Rc<Mutex<Option<Log>>>;
type Name = (Owner, String);

#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) objects: Objects,
    prefix: String,
    slots: RefCell<HashMap<Name, Slot>>,
    /// The summary in the newest known entry of each conversation, with the number of the entry.
    pub(super) known: RefCell<HashMap<Name, (u64, Option<ConversationSummary>)>>,
}

impl Bucket {
    pub(super) fn new(objects: Objects, prefix: String) -> Self {
        Self { objects, prefix, slots: RefCell::default(), known: RefCell::default() }
    }

    pub(super) fn keys(&self, owner: &Owner) -> Keys {
        Keys::of(&self.prefix, owner)
    }

    /// Returns the slot of a log in memory. Calls on one conversation take turns with it.
    fn slot(&self, owner: &Owner, name: &str) -> Slot {
        let mut slots = self.slots.borrow_mut();
        if slots.len() >= KEPT {
            slots.retain(|_, slot| Rc::strong_count(slot) > 1);
        }
        Rc::clone(slots.entry((owner.clone(), name.to_owned())).or_default())
    }

    /// Reads a log to its end and returns what `ask` reads from it.
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

    /// Writes the change that `decide` makes, and decides again when another writer was faster.
    pub(super) async fn change<T>(
        &self,
        owner: &Owner,
        id: &ConversationId,
        decide: impl Fn(&Log) -> Result<Step<T>, Failure>,
    ) -> Result<T, Failure> {
        self.objects.must_write()?;
        let keys = self.keys(owner);
        let name = key::conversation(id);
        let slot = self.slot(owner, &name);
        let mut kept = slot.lock().await;
        let began = Instant::now();
        let mut is_fresh = kept.as_ref().is_none_or(|log| log.read.elapsed() > FRESH);
        if is_fresh {
            self.refresh(&keys, &name, &mut kept).await?;
        }
        // Compare and set. The log in memory ends at entry 7, so entry 8 is put where there is none. Where another writer has
        // put its entry 8, the log is read again and the call decides again, for entry 9. A decision without a write counts
        // only on a log that was read just now.
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
            // Without an end, an object store whose lists omit entries would keep this loop running for ever.
            if began.elapsed() >= PATIENCE {
                return Err(Failure::Outrun { id: id.clone(), waited: began.elapsed() });
            }
            self.refresh(&keys, &name, &mut kept).await?;
            is_fresh = true;
        }
    }

    /// Puts the next entry of a log, and returns `false` where another writer has put one with this number.
    ///
    /// A mark for lists and the uses of blobs are written first. Those that a killed writer leaves neither hide nor lose
    /// anything. The change exists from the moment at which the entry does.
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
        // Lists use the highest mark whose entry exists, so an older one that stays is harmless.
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
        // With entries 6, 7, 8 in the bucket and a log that ends at 7, this lists 7 and 8.
        let found = self.objects.list_after(&keys.log(name), &keys.entry(name, log.number - 1)).await?;
        let numbers: Vec<u64> = found.iter().filter_map(|found| key::number(&found.location)).collect();
        match (numbers.first(), numbers.last()) {
            // The known end still exists, so only the entries after it are read.
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
        let keys = self.keys(owner);
        let name = key::conversation(id);
        let deleted = self.change(owner, id, |log| {
            log.record(id)?;
            let released = (log.number + 1, log.media().collect::<Vec<_>>());
            Ok(Step::Write(Box::new(State::gone()), Change::Deleted, released))
        });
        let (number, media) = match deleted.await {
            // A damaged log cannot be read. The entry that deletes it goes after its end, whatever is in it.
            Err(Failure::Damaged { .. }) => {
                let mut log = Log::blank(self.end(&keys, &name).await?);
                let entry = log.entry(State::gone(), Change::Deleted);
                if !self.write(&keys, &name, &mut log, entry).await? {
                    return Err(Failure::HeadMoved(id.clone()));
                }
                // The media of a damaged conversation are unknown here. Collecting blobs finds them.
                (log.number, Vec::new())
            }
            outcome => outcome?,
        };
        // It is deleted. Blobs that are not released now are released when blobs are collected.
        let _ = self.release(&keys, &name, media, number).await;
        Ok(())
    }

    /// Puts the whole conversation into one entry, and removes the entries before the previous entry of that kind.
    pub(super) async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<(), Failure> {
        let keys = self.keys(owner);
        let name = key::conversation(id);
        let before = self.read(owner, id, |log| Ok((log.base, log.media().collect::<Vec<_>>()))).await?;
        self.sweep(&keys, &name, before.0).await?;
        let written = self.change(owner, id, |log| {
            log.record(id)?;
            let nodes: Vec<_> = log.tree.walk().map(|(_, node)| node.clone()).collect();
            let tombstones: Vec<_> = log.tree.tombstones().collect();
            let change = Change::Whole { nodes, tombstones };
            Ok(Step::Write(Box::new(log.state.clone()), change, log.number))
        });
        let number = written.await?;
        // Blobs that are not released now are released by the next compaction.
        let _ = self.release_pruned(owner, id, number).await;
        Ok(())
    }

    /// Releases the blobs that only entries up to a number used. The entry after it has the whole conversation.
    async fn release_pruned(&self, owner: &Owner, id: &ConversationId, number: u64) -> Result<(), Failure> {
        let keys = self.keys(owner);
        let name = key::conversation(id);
        let used: Vec<Digest> = self.read(owner, id, |log| Ok(log.media().collect())).await?;
        let used: Vec<String> = used.iter().map(Digest::to_string).collect();
        let mut released = Vec::new();
        // Each key is uses/DIGEST/CONVERSATION/NUMBER.
        for found in self.objects.list(&keys.uses()).await? {
            let key = found.location;
            let is_older = key::number(&key).is_some_and(|at| at <= number);
            if is_older
                && key::folder(&key).as_ref() == Some(&name)
                && !used.iter().any(|digest| key.as_ref().contains(digest))
            {
                released.push(key);
            }
        }
        self.objects.remove(released).await
    }

    /// Releases media that entries of a conversation up to a number used.
    async fn release(&self, keys: &Keys, name: &str, media: Vec<Digest>, number: u64) -> Result<(), Failure> {
        let mut released = Vec::new();
        for digest in media.into_iter().collect::<BTreeSet<_>>() {
            for found in self.objects.list(&keys.uses_of(digest, name)).await? {
                if key::number(&found.location).is_some_and(|at| at <= number) {
                    released.push(found.location);
                }
            }
        }
        self.objects.remove(released).await
    }

    /// Removes the entries before a base, which needs none of them, once the base is older than [`BLOB_GRACE`].
    pub(super) async fn sweep(&self, keys: &Keys, name: &str, base: u64) -> Result<(), Failure> {
        let mut is_base_old = false;
        let mut older = Vec::new();
        for found in self.objects.list(&keys.log(name)).await? {
            let Some(number) = key::number(&found.location) else { continue };
            if number < base {
                older.push(found.location);
            } else if number == base {
                let age = SystemTime::now().duration_since(found.last_modified.into());
                is_base_old = age.is_ok_and(|age| age >= BLOB_GRACE);
            }
        }
        if is_base_old { self.objects.remove(older).await } else { Ok(()) }
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

/// Returns the media that an entry adds.
fn media(entry: &Entry) -> BTreeSet<Digest> {
    match (&entry.change, &entry.state.record) {
        (Change::Nodes(nodes), _) => nodes.iter().flat_map(Node::media).collect(),
        (Change::Created, Some(record)) => record.media(),
        _ => BTreeSet::new(),
    }
}
