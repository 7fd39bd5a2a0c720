//! The log of one conversation: reading, appending, compacting. The caller holds the lock.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloquy_core::media::Digest;
use alloquy_core::store::{Archive, ConversationRecord, ConversationSummary, HeadMove};
use alloquy_core::tree::Tree;
use alloquy_core::{Node, NodeId};
use serde_json::{Map, Value};

use super::disk::Disk;
use super::line::{self, Entry, FORMAT, Position, TRAILER};
use crate::failure::Failure;
use crate::json::{decode, encode};

/// A conversation as its log stores it, up to a position.
#[derive(Debug)]
pub(super) struct Log {
    disk: Disk,
    path: PathBuf,
    /// The name of the file is known to be on the disk. The process that created or replaced it may have been stopped before.
    is_named: bool,
    pub(super) position: Position,
    /// The format that the log has announced so far.
    format: u64,
    pub(super) record: ConversationRecord,
    pub(super) tree: Tree,
    /// When the last node was made, or the conversation.
    updated: SystemTime,
    /// The media of the preface and of the nodes, including pruned nodes until the log is compacted.
    pub(super) media: BTreeSet<Digest>,
}

/// How many nodes a line of a compacted log holds.
const BATCH: usize = 1000;

impl Log {
    /// Writes the log of a new conversation. The caller has checked that there is none.
    pub(super) fn create(disk: &Disk, path: &Path, record: ConversationRecord) -> Result<Self, Failure> {
        let record = Box::new(record);
        let entry = encode(&Entry::Created { format: FORMAT, record, updated: None })?;
        let (line, _) = Position::default().seal(&entry);
        let log = Self::begin(disk, path, line.as_bytes())?;
        disk.create_whole(path, line.as_bytes())?;
        Ok(Self { is_named: true, ..log })
    }

    /// Waits until the name of the file is on the disk, so that changes acknowledged from now on are found under it.
    pub(super) fn name(&mut self) -> Result<(), Failure> {
        if !self.is_named {
            self.disk.sync_name(&self.path)?;
            self.is_named = true;
        }
        Ok(())
    }

    /// Replaces the log by one without pruned nodes. It must be read again afterwards.
    pub(super) fn compact(&self) -> Result<(), Failure> {
        let since = self.updated.duration_since(UNIX_EPOCH).unwrap_or_default();
        let updated = u64::try_from(since.as_millis()).ok();
        let mut record = Box::new(self.record.clone());
        record.head = None;
        let mut entries = vec![Entry::Created { format: FORMAT, record, updated }];
        let nodes: Vec<Node> = self.tree.walk().map(|(_, node)| node.clone()).collect();
        entries.extend(nodes.chunks(BATCH).map(|nodes| Entry::Nodes(nodes.to_vec())));
        entries.extend(self.tree.tombstones().map(Entry::Pruned));
        entries.extend(self.record.head.map(|head| Entry::Head(Some(head))));
        let bytes = lines(&entries)?;
        match self.disk.read_from(&self.path, 0)? {
            // Other stores could not tell a new file with the same bytes from the one that they have read.
            Some(found) if found == bytes => Ok(()),
            _ => self.disk.replace_whole(&self.path, &bytes),
        }
    }

    /// Reads a log from its beginning; `None` when there is none.
    ///
    /// Another process may truncate a torn line meanwhile, which then looks like damage. An error is certain only while no
    /// other process writes.
    pub(super) fn read(disk: &Disk, path: &Path) -> Result<Option<Self>, Failure> {
        let Some(bytes) = disk.read_from(path, 0)? else {
            return Ok(None);
        };
        let (first, rest) = split_line(&bytes);
        let mut log = Self::begin(disk, path, first)?;
        log.extend(rest)?;
        Ok(Some(log))
    }

    /// Returns how many bytes follow the last whole line.
    pub(super) fn torn(&self) -> Result<u64, Failure> {
        Ok(self.disk.read_from(&self.path, self.position.offset)?.map_or(0, |rest| rest.len() as u64))
    }

    /// Returns whether a log still ends at a position.
    pub(super) fn ends_at(disk: &Disk, path: &Path, position: &Position) -> Result<bool, Failure> {
        let last = position.offset.saturating_sub(TRAILER as u64);
        let bytes = disk.read_from(path, last)?;
        Ok(bytes.as_deref() == Some(position.trailer().as_bytes()))
    }

    /// Reads what was appended since, and returns whether this is still the log that was read before.
    pub(super) fn catch_up(&mut self) -> Result<bool, Failure> {
        // The checksum of the last known line covers all lines before it. Where the file still has it at the same place, as
        // in `…,"0123456789abcdef"]`, the file is the same log and only what follows is new.
        let known = self.position.offset.saturating_sub(TRAILER as u64);
        let bytes = self.disk.read_from(&self.path, known)?.unwrap_or_default();
        let Some(appended) = bytes.strip_prefix(self.position.trailer().as_bytes()) else { return Ok(false) };
        self.extend(appended)?;
        Ok(true)
    }

    /// Appends nodes, all or none. Returns when they are on the disk, also those that were there before.
    ///
    /// Nodes that the tree refuses leave the log unchanged. After another error it must be read again.
    pub(super) fn append(&mut self, nodes: &[Node]) -> Result<(), Failure> {
        let entries = self.insert(nodes)?;
        self.write(&entries)
    }

    /// Appends nodes and moves the head unless another writer has moved it. Returns when both are on the disk, after one
    /// sync.
    ///
    /// Nodes that the tree refuses and a missing node leave the log unchanged. After another error it must be read again.
    pub(super) fn append_and_move(
        &mut self,
        nodes: &[Node],
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<HeadMove, Failure> {
        if let Some(node) = to.filter(|&to| nodes.iter().all(|node| node.id != to)) {
            self.tree.node(node)?;
        }
        let mut entries = self.insert(nodes)?;
        let moved = HeadMove::of(self.record.head, from, to);
        let moves = moved == HeadMove::Moved && self.record.head != to;
        if moves {
            entries.push(Entry::Head(to));
        }
        self.write(&entries)?;
        if moves {
            self.record.head = to;
        }
        Ok(moved)
    }

    /// Inserts nodes into the tree, and returns the entries to write: none where no node is new. In a log that began with an
    /// older format, the first entry announces this one.
    fn insert(&mut self, nodes: &[Node]) -> Result<Vec<Entry>, Failure> {
        let mut seen = HashSet::new();
        let mut new = Vec::new();
        for node in nodes {
            if self.tree.node(node.id).is_err() && seen.insert(node.id) {
                new.push(node.clone());
            }
        }
        self.tree.insert_all(nodes)?;
        if new.is_empty() {
            return Ok(Vec::new());
        }
        self.add(&new);
        let mut entries = Vec::new();
        if self.format < FORMAT {
            entries.push(Entry::Format(FORMAT));
        }
        entries.push(Entry::Nodes(new));
        Ok(entries)
    }

    /// Moves the head. Returns when that is on the disk.
    ///
    /// A head that has moved and a missing node leave the log unchanged. After another error it must be read again.
    pub(super) fn set_head(&mut self, from: Option<NodeId>, to: Option<NodeId>) -> Result<(), Failure> {
        if let Some(node) = to {
            self.tree.node(node)?;
        }
        if self.record.head != from {
            return Err(Failure::HeadMoved(self.record.id.clone()));
        }
        self.write(&[Entry::Head(to)])?;
        self.record.head = to;
        Ok(())
    }

    /// Replaces the metadata. Returns when that is on the disk.
    pub(super) fn update_metadata(
        &mut self,
        revision: u64,
        metadata: Map<String, Value>,
    ) -> Result<u64, Failure> {
        if self.record.revision != revision {
            return Err(Failure::MetadataChanged(self.record.id.clone()));
        }
        let revision = revision + 1;
        self.write(&[Entry::Metadata { revision, metadata: metadata.clone() }])?;
        (self.record.revision, self.record.metadata) = (revision, metadata);
        Ok(revision)
    }

    /// Hides a node with everything below it. Returns when that is on the disk.
    pub(super) fn prune(&mut self, node: NodeId) -> Result<(), Failure> {
        self.tree.can_prune(node, self.record.head)?;
        let is_pruned = self.tree.tombstones().any(|tombstone| tombstone == node);
        if is_pruned {
            return self.disk.sync_lines(&self.path);
        }
        self.tree.node(node)?;
        self.write(&[Entry::Pruned(node)])?;
        Ok(self.tree.prune(node)?)
    }

    /// Returns the line of the conversation in lists.
    pub(super) fn summary(&self) -> ConversationSummary {
        ConversationSummary::new(self.record.clone(), self.tree.len(), self.updated)
    }

    fn add(&mut self, nodes: &[Node]) {
        for node in nodes {
            self.updated = self.updated.max(node.id.created());
            self.media.extend(node.media());
        }
    }

    /// Writes entries and syncs them once. Without entries, it syncs what is there already.
    fn write(&mut self, entries: &[Entry]) -> Result<(), Failure> {
        if entries.is_empty() {
            return self.disk.sync_lines(&self.path);
        }
        let mut lines = String::new();
        let mut position = self.position.clone();
        for entry in entries {
            let (line, next) = position.seal(&encode(entry)?);
            lines.push_str(&line);
            position = next;
        }
        self.disk.append_at(&self.path, self.position.offset, lines.as_bytes())?;
        self.position = position;
        for entry in entries {
            if let Entry::Format(format) = entry {
                self.format = *format;
            }
        }
        Ok(())
    }

    fn begin(disk: &Disk, path: &Path, first: &[u8]) -> Result<Self, Failure> {
        // Looked at first, because a newer format may seal its lines in another way.
        if let Some(found) = line::format(first)
            && found > FORMAT
        {
            return Err(Failure::Newer { what: format!("{path:?}"), found, known: FORMAT });
        }
        let what = place(path, 1);
        let unsealed = Position::default().unseal(first);
        let (entry, position) = unsealed.map_err(|reason| Failure::damaged(&what, reason))?;
        let Entry::Created { format, record, updated } = decode(entry.as_bytes(), &what)? else {
            return Err(Failure::damaged(what, "it does not say how the conversation began"));
        };
        let updated = updated.and_then(|since| UNIX_EPOCH.checked_add(Duration::from_millis(since)));
        Ok(Self {
            disk: disk.clone(),
            path: path.to_owned(),
            is_named: false,
            position,
            format,
            tree: Tree::default(),
            updated: updated.unwrap_or(record.created),
            media: record.media(),
            record: *record,
        })
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (line, after) = split_line(rest);
            match self.apply(line) {
                // The last line was being written when its writer stopped: it was never acknowledged.
                Err(_) if after.is_empty() && self.position.is_torn(line) => break,
                outcome => outcome?,
            }
            rest = after;
        }
        Ok(())
    }

    fn apply(&mut self, line: &[u8]) -> Result<(), Failure> {
        let what = place(&self.path, self.position.line + 1);
        let (entry, next) = self.position.unseal(line).map_err(|reason| Failure::damaged(&what, reason))?;
        match decode(entry.as_bytes(), &what)? {
            Entry::Created { .. } => return Err(Failure::damaged(what, "the conversation begins again")),
            Entry::Format(found) if found > FORMAT => {
                return Err(Failure::Newer { what, found, known: FORMAT });
            }
            Entry::Format(format) => self.format = format,
            Entry::Nodes(nodes) => {
                self.tree.insert_all(&nodes).map_err(|error| Failure::damaged(what, error))?;
                self.add(&nodes);
            }
            Entry::Head(head) => {
                if let Some(node) = head {
                    self.tree.node(node).map_err(|error| Failure::damaged(what, error))?;
                }
                self.record.head = head;
            }
            Entry::Metadata { revision, metadata } => {
                (self.record.revision, self.record.metadata) = (revision, metadata);
            }
            // A compacted log no longer has the node, only its tombstone.
            Entry::Pruned(node) if self.tree.node(node).is_err() => self.tree.bury(node),
            Entry::Pruned(node) => self.tree.prune(node)?,
        }
        self.position = next;
        Ok(())
    }
}

/// Returns the bytes of a log of a whole conversation.
pub(super) fn whole(archive: &Archive) -> Result<Vec<u8>, Failure> {
    let record = Box::new(archive.new_record());
    let mut entries = vec![Entry::Created { format: FORMAT, record, updated: None }];
    entries.extend(archive.nodes.chunks(BATCH).map(|nodes| Entry::Nodes(nodes.to_vec())));
    entries.extend(archive.record.head.map(|head| Entry::Head(Some(head))));
    lines(&entries)
}

fn lines(entries: &[Entry]) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut position = Position::default();
    for entry in entries {
        let (line, next) = position.seal(&encode(entry)?);
        bytes.extend_from_slice(line.as_bytes());
        position = next;
    }
    Ok(bytes)
}

/// Splits after the first line feed.
fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|&byte| byte == b'\n');
    bytes.split_at(end.map_or(bytes.len(), |end| end + 1))
}

/// Names a line for an error.
fn place(path: &Path, line: usize) -> String {
    format!("line {line} of {path:?}")
}
