//! Opens the place of snapshots that a text names: a folder or a bucket.

use std::path::Path;
use std::sync::Arc;

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::decoder::SnapshotStore;

use crate::snapshots::SnapshotFolder;

/// Opens the place of snapshots that a text names: `PATH` or `file:PATH` for a folder, and `s3://BUCKET/PREFIX` for a bucket, as
/// [`open`](crate::open()) has it. A folder is created with its first snapshot.
///
/// `quota` is how many bytes the files of a folder may take together, and the size of the largest snapshot in a bucket, where nothing is
/// removed for another one. `None` is the default of each.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let place = folder.path().join("snapshots").display().to_string();
/// # pollster::block_on(async {
/// let snapshots = alloquy_storage::open_snapshots(&place, None).await?;
/// assert!(snapshots.summary(&alloquy_core::Owner::local(), &"tea".parse()?)?.is_none());
/// assert!(alloquy_storage::open_snapshots("sqlite:chats.db", None).await.is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Invalid`] for a text of another form and for the path of a file, [`ErrorKind::Unsupported`] for a bucket without the
/// feature `s3`, and those of the bucket's settings.
pub async fn open_snapshots(place: &str, quota: Option<u64>) -> Result<Arc<dyn SnapshotStore>> {
    if place.starts_with("s3://") {
        return bucket(place, quota).await;
    }
    let path = match place.split_once(':') {
        Some(("file", rest)) => rest.strip_prefix("//").unwrap_or(rest),
        // One letter is a drive, as in `C:\snapshots`.
        Some((scheme, _)) if scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            return Err(unknown(place));
        }
        _ => place,
    };
    if path.is_empty() {
        return Err(unknown(place));
    }
    let is_other = Path::new(path).exists() && !Path::new(path).is_dir();
    if is_other {
        let message = format!("{path:?} is a file, and snapshots are kept in a folder: name another path");
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    let folder = SnapshotFolder::new(path);
    match quota {
        Some(bytes) => Ok(Arc::new(folder.quota(bytes))),
        None => Ok(Arc::new(folder)),
    }
}

fn unknown(place: &str) -> Error {
    let scheme = place.split_once(':').map_or(place, |(scheme, _)| scheme);
    let message = format!(
        "a place of snapshots that begins with {scheme:?} is none, use the path of a folder, or s3://BUCKET/PREFIX"
    );
    Error::new(ErrorKind::Invalid, message)
}

#[cfg(feature = "s3")]
async fn bucket(url: &str, quota: Option<u64>) -> Result<Arc<dyn SnapshotStore>> {
    let bucket = crate::SnapshotBucket::open(url).await?;
    match quota {
        Some(bytes) => Ok(Arc::new(bucket.largest(bytes))),
        None => Ok(Arc::new(bucket)),
    }
}

#[cfg(not(feature = "s3"))]
async fn bucket(url: &str, _: Option<u64>) -> Result<Arc<dyn SnapshotStore>> {
    let message = format!("{url:?} needs the feature \"s3\" of alloquy-storage, which this build leaves out");
    Err(Error::new(ErrorKind::Unsupported, message))
}
