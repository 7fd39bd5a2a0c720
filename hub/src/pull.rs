//! Fetches files into the cache: continues what was begun, and checks what arrived.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use ureq::http::{StatusCode, header};

use crate::cache::{HubCache, create_folder_of};
use crate::error::{HubError, Result, io_error};
use crate::event::{Events, PullEvent, pause, tell};
use crate::http::{Answer, Http, TRIES, lost, status};
use crate::listing::{FileDigest, HubFile, Listing};

/// How many bytes are read at once, and at most between two events.
const CHUNK: usize = 256 << 10;

/// How much must stay free on the disk.
const SPARE: u64 = 64 << 20;

/// Fetches the files of a listing that the cache lacks, and places all of them in the snapshot.
pub(crate) fn pull(
    http: &Http,
    cache: &HubCache,
    listing: &Listing,
    files: &[&HubFile],
    events: Events<'_>,
) -> Result<()> {
    let mut missing = 0;
    let mut bytes = 0;
    for file in files {
        bytes += file.bytes;
        missing += file.bytes - in_cache(cache, listing, file);
    }
    require_space(cache, missing)?;
    tell(events, PullEvent::Begins { files: files.len(), bytes, cached: bytes - missing })?;
    for file in files {
        let blob = cache.blob(&listing.repository, &file.digest);
        if !is_complete(&blob, file) {
            fetch(http, cache, listing, file, events)?;
        }
    }
    // After all of them have arrived, so that a snapshot never has a variant in part.
    for file in files {
        cache.place(&listing.repository, &listing.commit, file)?;
    }
    Ok(())
}

/// Returns how many bytes of a file need not be fetched.
fn in_cache(cache: &HubCache, listing: &Listing, file: &HubFile) -> u64 {
    let blob = cache.blob(&listing.repository, &file.digest);
    if is_complete(&blob, file) {
        return file.bytes;
    }
    let part = fs::metadata(part_of(&blob)).map_or(0, |metadata| metadata.len());
    part.min(file.bytes)
}

fn is_complete(blob: &Path, file: &HubFile) -> bool {
    fs::metadata(blob).is_ok_and(|metadata| metadata.is_file() && metadata.len() == file.bytes)
}

/// Returns the name under which a blob is fetched, which huggingface_hub continues too.
fn part_of(blob: &Path) -> std::path::PathBuf {
    blob.with_extension("incomplete")
}

fn require_space(cache: &HubCache, needed: u64) -> Result<()> {
    let folder = cache.root();
    fs::create_dir_all(folder).map_err(io_error("create", folder))?;
    let free = fs4::available_space(folder).map_err(io_error("look at", folder))?;
    if needed > 0 && needed.saturating_add(SPARE) > free {
        return Err(HubError::DiskFull { folder: folder.to_owned(), needed, free });
    }
    Ok(())
}

/// Fetches one file. Of several programs that want it, one fetches it and the others wait.
fn fetch(http: &Http, cache: &HubCache, listing: &Listing, file: &HubFile, events: Events<'_>) -> Result<()> {
    let blob = cache.blob(&listing.repository, &file.digest);
    let lock = cache.lock(&listing.repository, &file.digest);
    create_folder_of(&blob)?;
    create_folder_of(&lock)?;
    let lock_file = File::create(&lock).map_err(io_error("create", &lock))?;
    if lock_file.try_lock().is_err() {
        tell(&mut *events, PullEvent::Locked { path: &file.path })?;
        lock_file.lock().map_err(io_error("lock", &lock))?;
    }
    // Another program may have fetched it meanwhile.
    if is_complete(&blob, file) {
        return Ok(());
    }
    let part = part_of(&blob);
    let mut download = Download::open(&part, file)?;
    let begun = download.begun;
    tell(&mut *events, PullEvent::File { path: &file.path, bytes: file.bytes, cached: begun })?;
    let mut checked = download.run(http, listing, events).and_then(|()| download.check());
    // What an earlier try left may have been damaged since: once, everything is fetched again.
    if begun > 0 && matches!(checked, Err(HubError::Digest { .. })) {
        download.restart()?;
        checked = download.run(http, listing, events).and_then(|()| download.check());
    }
    if let Err(error @ HubError::Digest { .. }) = checked {
        drop(download);
        fs::remove_file(&part).map_err(io_error("remove", &part))?;
        return Err(error);
    }
    checked?;
    download.finish()?;
    fs::rename(&part, &blob).map_err(io_error("rename", &part))?;
    tell(events, PullEvent::Checked { path: &file.path })
}

/// A file that is being fetched.
struct Download<'a> {
    file: &'a HubFile,
    part: &'a Path,
    output: File,
    /// How much an earlier try left.
    begun: u64,
    received: u64,
    hasher: Hasher,
}

impl<'a> Download<'a> {
    /// Opens the part of a file that an earlier try left, and hashes it.
    fn open(part: &'a Path, file: &'a HubFile) -> Result<Self> {
        let mut options = OpenOptions::new();
        let output = options.read(true).write(true).create(true).truncate(false).open(part);
        let output = output.map_err(io_error("open", part))?;
        let mut download = Self { file, part, output, begun: 0, received: 0, hasher: Hasher::new(file) };
        let length = download.output.metadata().map_err(io_error("read", part))?.len();
        if length > file.bytes {
            download.restart()?;
            return Ok(download);
        }
        let mut buffer = vec![0; CHUNK];
        loop {
            let read = download.output.read(&mut buffer).map_err(io_error("read", part))?;
            let Some(bytes @ [_, ..]) = buffer.get(..read) else { break };
            download.hasher.update(bytes);
            download.received += read as u64;
        }
        download.begun = download.received;
        Ok(download)
    }

    /// Discards what was received.
    fn restart(&mut self) -> Result<()> {
        self.output.set_len(0).map_err(io_error("shorten", self.part))?;
        self.output.seek(SeekFrom::Start(0)).map_err(io_error("write", self.part))?;
        self.received = 0;
        self.begun = 0;
        self.hasher = Hasher::new(self.file);
        Ok(())
    }

    /// Receives the rest of the file, over as many connections as it takes.
    fn run(&mut self, http: &Http, listing: &Listing, events: Events<'_>) -> Result<()> {
        let path = address(listing, self.file);
        let mut tries = 0;
        while self.received < self.file.bytes {
            let before = self.received;
            let answer = http.get(&path, before, &mut *events)?;
            let cut = self.receive(answer, &mut *events)?;
            if self.received > before {
                tries = 0;
            }
            let Some((url, error)) = cut else { continue };
            tries += 1;
            let error = match url::Url::parse(&url) {
                Ok(url) => lost(&url, tries, error),
                Err(_) => HubError::Answer { url, reason: error.to_string() },
            };
            if tries == TRIES {
                return Err(error);
            }
            // A connection that brought something is replaced at once.
            if self.received == before {
                pause(http.wait(tries), &error.to_string(), &mut *events)?;
            }
        }
        Ok(())
    }

    /// Reads an answer to its end. Returns the failure of a connection that was cut.
    fn receive(&mut self, answer: Answer, events: Events<'_>) -> Result<Option<(String, io::Error)>> {
        let Answer { url, response } = answer;
        match response.status() {
            StatusCode::PARTIAL_CONTENT if starts_at(&response, self.received) => {}
            // A server may ignore that only the rest is wanted.
            StatusCode::OK if self.received > 0 => self.restart()?,
            StatusCode::OK => {}
            StatusCode::RANGE_NOT_SATISFIABLE | StatusCode::PARTIAL_CONTENT if self.received > 0 => {
                self.restart()?;
                return Ok(None);
            }
            _ => {
                let parsed = url::Url::parse(&url);
                let reason = format!("it has status {}", response.status());
                return Err(parsed.map_or(HubError::Answer { url, reason }, |url| status(&url, response)));
            }
        }
        let mut reader = response.into_body().into_reader();
        let mut buffer = vec![0; CHUNK];
        loop {
            let read = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Ok(Some((url, error))),
            };
            let bytes = buffer.get(..read).unwrap_or_default();
            if self.received + read as u64 > self.file.bytes {
                let reason =
                    format!("{} has more than the {} bytes that it lists", self.file.path, self.file.bytes);
                return Err(HubError::Answer { url, reason });
            }
            self.write(bytes)?;
            let fetched = self.received.saturating_sub(self.begun);
            tell(&mut *events, PullEvent::Received { path: &self.file.path, bytes: self.received, fetched })?;
        }
        if self.received < self.file.bytes {
            let message = format!("the answer ended after {} of {} bytes", self.received, self.file.bytes);
            return Ok(Some((url, io::Error::new(io::ErrorKind::UnexpectedEof, message))));
        }
        Ok(None)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if let Err(source) = self.output.write_all(bytes) {
            // What is on the disk in part would not be what was hashed.
            let _ = self.output.set_len(self.received);
            return Err(self.refused(source));
        }
        self.hasher.update(bytes);
        self.received += bytes.len() as u64;
        Ok(())
    }

    fn refused(&self, source: io::Error) -> HubError {
        if source.kind() == io::ErrorKind::StorageFull {
            let folder = self.part.parent().unwrap_or(self.part).to_owned();
            let free = fs4::available_space(&folder).unwrap_or(0);
            return HubError::DiskFull { folder, needed: self.file.bytes - self.received, free };
        }
        HubError::Io { action: "write", path: self.part.to_owned(), source }
    }

    fn check(&self) -> Result<()> {
        let found = self.hasher.clone().digits();
        let expected = self.file.digest.as_str();
        if found == expected {
            return Ok(());
        }
        Err(HubError::Digest { file: self.file.path.clone(), expected: expected.to_owned(), found })
    }

    /// Writes everything to the disk, so that a blob is complete even after a power cut.
    fn finish(self) -> Result<()> {
        self.output.sync_all().map_err(|source| self.refused(source))
    }
}

/// Returns the path of a file on the Hub. Its commit is fixed, so that all files belong together.
fn address(listing: &Listing, file: &HubFile) -> String {
    let mut path = format!("{}/resolve/{}", listing.repository, listing.commit);
    for part in file.path.split('/') {
        path.push('/');
        path.extend(
            url::form_urlencoded::byte_serialize(part.as_bytes()).map(|text| text.replace('+', "%20")),
        );
    }
    path
}

/// Returns whether an answer begins at the requested byte.
fn starts_at(response: &ureq::http::Response<ureq::Body>, place: u64) -> bool {
    let range = response.headers().get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
    let start = range.and_then(|range| range.strip_prefix("bytes ")?.split_once('-'));
    start.is_some_and(|(start, _)| start.trim().parse() == Ok(place))
}

/// Computes the digest of a file while it arrives.
#[derive(Clone)]
enum Hasher {
    Sha256(Sha256),
    Git(Sha1),
}

impl Hasher {
    fn new(file: &HubFile) -> Self {
        match file.digest {
            FileDigest::Sha256(_) => Self::Sha256(Sha256::new()),
            // git hashes a header first.
            FileDigest::Git(_) => Self::Git(Sha1::new().chain_update(format!("blob {}\0", file.bytes))),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Git(hasher) => hasher.update(bytes),
        }
    }

    fn digits(self) -> String {
        let digest = match self {
            Self::Sha256(hasher) => hasher.finalize().to_vec(),
            Self::Git(hasher) => hasher.finalize().to_vec(),
        };
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
