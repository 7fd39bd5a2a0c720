//! Decides who may read and change what is installed. On systems without owners and modes nothing is checked.

use std::fs::{DirBuilder, File};
use std::io;
use std::path::Path;

use crate::error::Result;

/// Who may read the files of a cache. Only the owner may write to them, whatever the umask is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// The user alone: the cache is in the user's own folder.
    Owner,
    /// Every user: the caller chose the folder, perhaps to fill it for others.
    All,
}

impl Readers {
    /// Creates a folder, and the missing folders above it.
    pub(crate) fn create_folder(self, path: &Path) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(
            &mut builder,
            match self {
                Self::Owner => 0o700,
                Self::All => 0o755,
            },
        );
        builder.recursive(true).create(path)
    }

    /// Creates a file, or empties the existing one, for writing.
    pub(crate) fn create_file(self, path: &Path) -> io::Result<File> {
        let mut options = File::options();
        options.create(true).truncate(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(
            &mut options,
            match self {
                Self::Owner => 0o600,
                Self::All => 0o644,
            },
        );
        options.open(path)
    }
}

/// Who may change a library that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust<'a> {
    /// Its owner alone, who must be the user or root.
    Owner,
    /// The same, and also the owner of this file and its group: programs are shared that way.
    OwnerOf(&'a Path),
}

/// Refuses a library if a user who is not trusted may change the file or folder at `path`, or put another one in its place.
///
/// A user who may write to a folder above it can replace it as well. So every folder is checked from the first one down, until one
/// that others cannot enter.
#[cfg(unix)]
pub(crate) fn check(path: &Path, library: &Path, trust: Trust<'_>) -> Result<()> {
    let owners = unix::owners(trust)?;
    unix::check(path, library, trust, &owners)?;
    // The same for its real name: a folder may be a link to a place that others may write to.
    let real = path.canonicalize().map_err(crate::error::io_error("resolve", path))?;
    unix::check(&real, library, trust, &owners)
}

#[cfg(not(unix))]
pub(crate) fn check(_: &Path, _: &Path, _: Trust<'_>) -> Result<()> {
    Ok(())
}

#[cfg(unix)]
mod unix {
    use std::fs::Metadata;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use super::Trust;
    use crate::error::{LocateError, Result, io_error};

    // Bits of a mode: others or the group may write, others may enter a folder, and only owners may rename and remove
    // the files of a folder.
    const OTHERS_WRITE: u32 = 0o002;
    const GROUP_WRITES: u32 = 0o020;
    const OTHERS_ENTER: u32 = 0o011;
    const STICKY: u32 = 0o1000;

    /// Returns the trusted users. In a container root may have another number, which then owns the folder `/`.
    pub(super) fn owners(trust: Trust<'_>) -> Result<Vec<u32>> {
        let mut owners = vec![0, rustix::process::geteuid().as_raw(), metadata(Path::new("/"))?.uid()];
        if let Trust::OwnerOf(file) = trust {
            owners.push(metadata(file)?.uid());
        }
        Ok(owners)
    }

    pub(super) fn check(path: &Path, library: &Path, trust: Trust<'_>, owners: &[u32]) -> Result<()> {
        let forbidden = match trust {
            Trust::Owner => OTHERS_WRITE | GROUP_WRITES,
            Trust::OwnerOf(_) => OTHERS_WRITE,
        };
        let mut places: Vec<_> = path.ancestors().collect();
        places.reverse();
        for place in places {
            let found = metadata(place)?;
            if !owners.contains(&found.uid()) {
                let you = rustix::process::geteuid().as_raw();
                let reason = format!("belongs to user {}, who is neither root nor you ({you})", found.uid());
                return Err(exposed(place, reason, library));
            }
            // In a folder such as /tmp every user may add files, and may change only their own.
            let is_shared = found.mode() & STICKY != 0 && found.is_dir();
            if found.mode() & forbidden != 0 && !is_shared {
                let mode = found.mode() & 0o7777;
                let reason = format!("may be changed by others (its mode is {mode:o})");
                return Err(exposed(place, reason, library));
            }
            if found.is_dir() && found.mode() & OTHERS_ENTER == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    fn exposed(path: &Path, reason: String, library: &Path) -> LocateError {
        LocateError::Exposed { path: path.to_owned(), reason, library: library.to_owned() }
    }

    fn metadata(path: &Path) -> Result<Metadata> {
        std::fs::metadata(path).map_err(io_error("look at", path))
    }
}
