//! Lists, counts and searches. Each looks at every log of an owner, and reads those that have grown.

use std::collections::HashMap;

use alloquy_core::search::{SearchCandidate, SearchPage};
use alloquy_core::store::{ConversationPage, DamagedConversation};
use alloquy_core::{NodeId, Owner, Query};

use super::disk::Disk;
use super::folder::{Folder, is_damage};
use super::line;
use super::lines::Line;
use super::log::Log;
use super::name::LOG;
use super::place::Place;
use crate::failure::Failure;

type Lines = (Vec<Line>, Vec<DamagedConversation>);

impl Folder {
    pub(super) fn list(&mut self, owner: &Owner, query: &Query) -> Result<ConversationPage, Failure> {
        let (lines, damaged) = self.matching(owner, query)?;
        let mut page = query.page(lines.into_iter().map(|line| line.summary).collect())?;
        // Every page looks at all logs; the first one reports the damaged ones.
        if query.list_start()?.is_none() {
            page.damaged = damaged;
        }
        Ok(page)
    }

    pub(super) fn count(&mut self, owner: &Owner, query: &Query) -> Result<usize, Failure> {
        if query.is_filtered() {
            Ok(self.matching(owner, query)?.0.len())
        } else {
            let place = self.place(owner)?;
            Ok(names(&self.disk, &place)?.len())
        }
    }

    pub(super) fn search(&mut self, owner: &Owner, query: &Query) -> Result<SearchPage, Failure> {
        let scope = query.search_scope()?;
        let until: Option<NodeId> = scope.until.map(str::parse).transpose()?;
        let place = self.place(owner)?;
        let (lines, damaged) = self.lines(&place)?;
        let mut found = Vec::new();
        for line in lines.into_iter().filter(|line| query.matches(&line.summary)) {
            let Some(log) = self.read_named(&place, &line.name)? else { continue };
            for node in log.tree.nodes() {
                if until.is_some_and(|until| node.id > until) {
                    continue;
                }
                let candidate = scope.candidate(&line.summary.record.id, node, node.id.to_string());
                if candidate.is_hit() {
                    found.push(candidate);
                }
            }
            newest(&mut found, scope.at_most);
        }
        let mut page = scope.page(found);
        page.damaged = damaged;
        Ok(page)
    }

    fn matching(&mut self, owner: &Owner, query: &Query) -> Result<Lines, Failure> {
        let place = self.place(owner)?;
        let (mut lines, damaged) = self.lines(&place)?;
        lines.retain(|line| query.matches(&line.summary));
        if let Some(text) = query.search_text() {
            let mut matching = Vec::new();
            for line in lines {
                let log = self.read_named(&place, &line.name)?;
                if log.is_some_and(|log| log.tree.nodes().any(|node| text.matches(node))) {
                    matching.push(line);
                }
            }
            lines = matching;
        }
        Ok((lines, damaged))
    }

    /// Returns a line for each readable log of an owner, and the damaged logs.
    pub(super) fn lines(&mut self, place: &Place) -> Result<Lines, Failure> {
        let mut known = self.lines.remove(place).unwrap_or_default();
        let mut lines = HashMap::new();
        let mut damaged = Vec::new();
        for name in names(&self.disk, place)? {
            match self.line(place, &name, known.remove(&name)) {
                Ok(Some(line)) => {
                    lines.insert(name, line);
                }
                Ok(None) => {}
                Err(failure) if is_damage(&failure) => {
                    damaged.push(reported(&self.disk, place, &name, &failure)?);
                }
                Err(failure) => return Err(failure),
            }
        }
        let found = lines.values().cloned().collect();
        self.lines.insert(place.clone(), lines);
        Ok((found, damaged))
    }

    fn line(&mut self, place: &Place, name: &str, known: Option<Line>) -> Result<Option<Line>, Failure> {
        match known {
            Some(line) if Log::ends_at(&self.disk, &place.conversations.join(name), &line.end)? => {
                Ok(Some(line))
            }
            // A conversation may have been deleted since its name was read.
            _ => Ok(self.read_named(place, name)?.map(|log| Line::of(name, log))),
        }
    }
}

/// Keeps the newest candidates, the newest first.
fn newest(found: &mut Vec<SearchCandidate>, at_most: usize) {
    found.sort_by(SearchCandidate::newest_first);
    found.truncate(at_most);
}

fn reported(
    disk: &Disk,
    place: &Place,
    log: &str,
    failure: &Failure,
) -> Result<DamagedConversation, Failure> {
    let path = place.conversations.join(log);
    let bytes = disk.read_from(&path, 0)?.unwrap_or_default();
    let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let name = line::name(first).unwrap_or_else(|| path.display().to_string());
    Ok(DamagedConversation::new(name, failure.to_string()))
}

/// Returns the names of the logs.
pub(super) fn names(disk: &Disk, place: &Place) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for path in disk.files(&place.conversations)? {
        if path.extension().is_some_and(|extension| extension == LOG)
            && let Some(name) = path.file_name()
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    Ok(names)
}
