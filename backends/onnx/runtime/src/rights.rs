//! Who may read and change what is installed. Knows owners and modes; where a system has none, nothing is checked.

use std::fs::{DirBuilder, File};
use std::io;
use std::path::Path;

use crate::error::Result;

/// Who may read what is written into a cache. To write is for its owner, whatever the umask says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// The user alone: it is in the user's own folder.
    Owner,
    /// Everybody: somebody chose the folder, perhaps to fill it for others.
    All,
}

impl Readers {
    /// Creates a folder, and those above it that are not there.
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

    /// Creates a file, or opens the one that is there, to be written to.
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

/// How much others may do to what is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust<'a> {
    /// It is the user's, or root's, and nobody else may change it.
    Nobody,
    /// The same, but whoever this file belongs to is trusted too, and so is a group, for that is how programs are shared.
    OwnerOf(&'a Path),
}

/// Refuses a library where somebody who is not trusted may change the file or folder at `path`, or put another one in its place.
///
/// Whoever may write to a folder above it may replace it as well, so every folder is looked at from the first one down, until one
/// that others cannot enter.
#[cfg(unix)]
pub(crate) fn check(path: &Path, library: &Path, trust: Trust<'_>) -> Result<()> {
    let owners = unix::owners(trust)?;
    unix::check(path, library, trust, &owners)?;
    // The same by its real name: a folder may be a link to a place that others may write to.
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

    /// Whether others and the group may write, and may enter a folder; and that in a folder only owners may rename and remove.
    const OTHERS_WRITE: u32 = 0o002;
    const GROUP_WRITES: u32 = 0o020;
    const OTHERS_ENTER: u32 = 0o011;
    const STICKY: u32 = 0o1000;

    /// The users that are trusted. In a container root may have another number: it is then that of the first folder's owner.
    pub(super) fn owners(trust: Trust<'_>) -> Result<Vec<u32>> {
        let mut owners = vec![0, rustix::process::geteuid().as_raw(), metadata(Path::new("/"))?.uid()];
        if let Trust::OwnerOf(file) = trust {
            owners.push(metadata(file)?.uid());
        }
        Ok(owners)
    }

    pub(super) fn check(path: &Path, library: &Path, trust: Trust<'_>, owners: &[u32]) -> Result<()> {
        let forbidden = match trust {
            Trust::Nobody => OTHERS_WRITE | GROUP_WRITES,
            Trust::OwnerOf(_) => OTHERS_WRITE,
        };
        let mut places: Vec<_> = path.ancestors().collect();
        places.reverse();
        for place in places {
            let found = metadata(place)?;
            let refused =
                |reason| LocateError::Exposed { path: place.to_owned(), reason, library: library.to_owned() };
            if !owners.contains(&found.uid()) {
                let you = rustix::process::geteuid().as_raw();
                return Err(refused(format!(
                    "belongs to user {}, who is neither root nor you ({you})",
                    found.uid()
                )));
            }
            // In a folder such as /tmp everybody may add files, and touch their own alone.
            let is_shared = found.mode() & STICKY != 0 && found.is_dir();
            if found.mode() & forbidden != 0 && !is_shared {
                let mode = found.mode() & 0o7777;
                return Err(refused(format!("may be changed by others (its mode is {mode:o})")));
            }
            if found.is_dir() && found.mode() & OTHERS_ENTER == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    fn metadata(path: &Path) -> Result<Metadata> {
        std::fs::metadata(path).map_err(io_error("look at", path))
    }
}
