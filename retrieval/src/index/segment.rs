//! A segment: passages, their words and their vectors, in files that never change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Result};

use super::manifest::SegmentEntry;
use super::{files, word_file};
use crate::postings::Postings;
use crate::words::WordOptions;
use crate::{Passage, Vectors};

/// Writes a segment, and returns its entry in the manifest. It is not part of the index before that is written.
pub(super) fn write(
    folder: &Path,
    passages: &[Arc<Passage>],
    vectors: Option<&Vectors>,
    options: &WordOptions,
) -> Result<SegmentEntry> {
    let mut lines = Vec::new();
    let mut postings = Postings::default();
    for passage in passages {
        // Passages always serialize.
        lines.extend(serde_json::to_vec(&**passage).unwrap_or_default());
        lines.push(b'\n');
        postings.push(options.words_of(passage));
    }
    let words = word_file::write(&postings);
    let vector_bytes = vectors.map(bytes_of).transpose()?;
    let digests = (Digest::of(&lines), Digest::of(&words), vector_bytes.as_deref().map(Digest::of));
    let name = files::short(Digest::of(format!("{digests:?}").as_bytes()));
    files::replace_bytes(&path(folder, &name, PASSAGES), &lines)?;
    files::replace_bytes(&path(folder, &name, WORDS), &words)?;
    if let Some(bytes) = vector_bytes {
        files::replace_bytes(&path(folder, &name, VECTORS), &bytes)?;
    }
    files::sync_folder(folder)?;
    let (passage_digest, word_digest, vector_digest) = digests;
    Ok(SegmentEntry {
        name,
        rows: passages.len(),
        passages: passage_digest,
        words: word_digest,
        vectors: vector_digest,
        removed: Vec::new(),
    })
}

fn bytes_of(vectors: &Vectors) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    vectors.write(&mut bytes)?;
    Ok(bytes)
}

/// Reads the passages of a segment.
pub(super) fn passages(folder: &Path, entry: &SegmentEntry) -> Result<Vec<Arc<Passage>>> {
    let path = path(folder, &entry.name, PASSAGES);
    let bytes = checked(&path, entry.passages)?;
    let mut passages = Vec::new();
    for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let passage = serde_json::from_slice(line).map_err(|error| damaged(&path).with_source(error))?;
        passages.push(Arc::new(passage));
    }
    if passages.len() != entry.rows {
        return Err(damaged(&path));
    }
    Ok(passages)
}

/// Adds the words of a segment to those that are there.
pub(super) fn words(folder: &Path, entry: &SegmentEntry, postings: &mut Postings) -> Result<()> {
    let path = path(folder, &entry.name, WORDS);
    let bytes = checked(&path, entry.words)?;
    word_file::read(&bytes, entry.rows, postings).ok_or_else(|| damaged(&path))
}

/// Opens the vectors of a segment. Their digest is not checked: that would read all of them.
pub(super) fn vectors(folder: &Path, entry: &SegmentEntry) -> Result<Vectors> {
    let path = path(folder, &entry.name, VECTORS);
    let vectors = Vectors::open(&path)?;
    if vectors.len() != entry.rows {
        return Err(damaged(&path));
    }
    Ok(vectors)
}

/// Removes the files in a folder that belong to none of these segments, as far as possible: another program may read them.
pub(super) fn sweep(folder: &Path, entries: &[SegmentEntry]) {
    let Ok(files) = std::fs::read_dir(folder) else { return };
    for file in files.flatten() {
        let path = file.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_of_segment = [PASSAGES, WORDS, VECTORS].contains(&ending);
        let is_known = entries.iter().any(|entry| entry.name == name);
        if ending == files::UNFINISHED || (is_of_segment && !is_known) {
            // What cannot be removed now is removed after the next change.
            drop(std::fs::remove_file(path));
        }
    }
}

const PASSAGES: &str = "passages";
const WORDS: &str = "words";
const VECTORS: &str = "vectors";

fn path(folder: &Path, name: &str, ending: &str) -> PathBuf {
    folder.join(format!("{name}.{ending}"))
}

fn checked(path: &Path, digest: Digest) -> Result<Vec<u8>> {
    let bytes = files::read(path)?.ok_or_else(|| {
        let message =
            format!("{} is missing: restore it, or remove its folder and index again", path.display());
        Error::new(ErrorKind::Corrupt, message)
    })?;
    if Digest::of(&bytes) == digest { Ok(bytes) } else { Err(damaged(path)) }
}

fn damaged(path: &Path) -> Error {
    let message = format!("{} is damaged: restore it, or remove its folder and index again", path.display());
    Error::new(ErrorKind::Corrupt, message)
}
