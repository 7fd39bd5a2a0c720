//! Lists what was installed into a folder of the cache, and checks that it has not changed since.
//!
//! A list beside the library has the length and the digest of each file. Hashing a library takes some hundredths of a second, so
//! a second list has a stamp of each file whose digest was right. The stamp is the file's device, inode, length, and the
//! times of the last change of its content and of its entry; no program can set the last of these. As long as the stamp is the same,
//! the file is not read again.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::{LocateError, Result, io_error};
use crate::rights::Readers;
use crate::wheel::Wheel;

/// The list of installed files: a digest, a length and a name on each line.
pub(crate) const LIST: &str = "installed.txt";

/// The list of stamps: a digest that was right and the stamp of its file on each line.
const COMPARED: &str = "compared.txt";

/// How long a list may be, in bytes.
const LONGEST: u64 = 64 << 10;

/// A file as it was installed.
#[derive(Debug, PartialEq, Eq)]
struct Installed {
    sha256: String,
    bytes: u64,
    name: String,
}

/// Writes the list of the files of `wheel` in `folder`, which were just unpacked there.
pub(crate) fn list(folder: &Path, readers: Readers, wheel: &Wheel) -> Result<()> {
    let mut lines = String::new();
    for file in wheel.files() {
        let path = folder.join(file.name);
        let digest = sha256(&path).map_err(io_error("read", &path))?;
        let bytes = fs::metadata(&path).map_err(io_error("read", &path))?.len();
        lines += &format!("{digest} {bytes} {}\n", file.name);
    }
    let path = folder.join(LIST);
    write_durably(&path, readers, &lines).map_err(io_error("write", &path))
}

fn write_durably(path: &Path, readers: Readers, text: &str) -> io::Result<()> {
    let mut file = readers.create_file(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Returns the files that decide what is loaded: those of `wheel` in `folder`, and the lists that exist.
pub(crate) fn files(folder: &Path, wheel: &Wheel) -> Vec<PathBuf> {
    let lists = [LIST, COMPARED].map(|name| folder.join(name)).into_iter().filter(|path| path.exists());
    wheel.files().map(|file| folder.join(file.name)).chain(lists).collect()
}

/// Compares the files of `wheel` in `folder` with what was installed.
pub(crate) fn check(folder: &Path, readers: Readers, wheel: &Wheel) -> Result<()> {
    let listed = read(&folder.join(LIST))?;
    let listed = listed.map_or_else(|| pinned(wheel), |text| text.lines().filter_map(parse).collect());
    let before = read(&folder.join(COMPARED)).ok().flatten().unwrap_or_default();
    let mut now = String::new();
    for file in wheel.files() {
        let path = folder.join(file.name);
        let Some(expected) = listed.iter().find(|installed| installed.name == file.name) else {
            return Err(altered(&path, format!("{LIST} does not name it")));
        };
        let found = fs::metadata(&path).map_err(io_error("look at", &path))?;
        if found.len() != expected.bytes {
            return Err(altered(
                &path,
                format!("it has {} bytes instead of {}", found.len(), expected.bytes),
            ));
        }
        let stamp = stamp(&found).map(|stamp| format!("{} {stamp}\n", expected.sha256));
        if stamp.as_ref().is_none_or(|stamp| !before.split_inclusive('\n').any(|line| line == stamp)) {
            let digest = sha256(&path).map_err(io_error("read", &path))?;
            if digest != expected.sha256 {
                return Err(altered(
                    &path,
                    format!("its SHA-256 is {digest} instead of {}", expected.sha256),
                ));
            }
        }
        now += &stamp.unwrap_or_default();
    }
    if now != before {
        remember(folder, readers, &now);
    }
    Ok(())
}

/// Returns what an installation without a list must hold: earlier versions of Alloquy wrote none.
fn pinned(wheel: &Wheel) -> Vec<Installed> {
    let mut installed = Vec::new();
    for file in wheel.files() {
        let sha256 = file.sha256.to_owned();
        let name = file.name.to_owned();
        installed.push(Installed { sha256, bytes: file.bytes, name });
    }
    installed
}

fn parse(line: &str) -> Option<Installed> {
    let mut words = line.splitn(3, ' ');
    let sha256 = words.next()?;
    let bytes = words.next()?;
    let name = words.next()?;
    Some(Installed { sha256: sha256.to_owned(), bytes: bytes.parse().ok()?, name: name.to_owned() })
}

fn altered(path: &Path, reason: String) -> LocateError {
    LocateError::Altered { path: path.to_owned(), reason }
}

/// Reads a list; `None` where there is none.
fn read(path: &Path) -> Result<Option<String>> {
    let found = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found.map_err(io_error("look at", path))?,
    };
    if !found.is_file() || found.len() > LONGEST {
        return Err(altered(path, "it is no list of files".to_owned()));
    }
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
    read.map_err(io_error("read", path))?;
    Ok(Some(text))
}

/// Writes the list of stamps. Where that is not possible, as in a folder that root has filled, the digests are compared each time.
fn remember(folder: &Path, readers: Readers, stamps: &str) {
    let part = folder.join(format!(".{COMPARED}.{}", std::process::id()));
    let written = readers.create_file(&part).and_then(|mut file| file.write_all(stamps.as_bytes()));
    let written = written.and_then(|()| fs::rename(&part, folder.join(COMPARED)));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
}

/// Returns a text that changes whenever the file does; `None` where the system has no such facts, or the file changed too recently.
#[cfg(unix)]
fn stamp(found: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    use std::time::{Duration, SystemTime};

    /// Clocks of file systems are coarse: a file that changed a moment ago may change again without a new time.
    const SETTLED: Duration = Duration::from_secs(3);

    let changed = Duration::new(u64::try_from(found.ctime()).ok()?, u32::try_from(found.ctime_nsec()).ok()?);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let is_settled = now.checked_sub(changed).is_some_and(|since| since >= SETTLED);
    if !is_settled {
        return None;
    }
    Some(format!(
        "{} {} {} {}.{:09} {}.{:09}",
        found.dev(),
        found.ino(),
        found.len(),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec()
    ))
}

#[cfg(not(unix))]
fn stamp(_: &Metadata) -> Option<String> {
    None
}

/// Returns the SHA-256 digest of a file, in hexadecimal digits.
pub(crate) fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        let Some(bytes @ [_, ..]) = buffer.get(..read) else {
            return Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        };
        hasher.update(bytes);
    }
}
