//! A library on disk: where it was found, and how its file name is recognised.

use std::path::{Path, PathBuf};

use crate::gpu::Gpu;

/// A library that was found; the result of [`Locator::locate`](crate::Locator::locate).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Library {
    /// Its absolute path.
    pub path: PathBuf,
    /// Where it was found.
    pub origin: LibraryOrigin,
}

/// Where a library was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LibraryOrigin {
    /// The caller named it.
    Option,
    /// `ORT_DYLIB_PATH` names it.
    Variable,
    /// It lies beside the executable, in `../lib/NAME` from there, or in `../lib`; `NAME` is that of the executable.
    Executable,
    /// It was in the cache.
    Cache,
    /// It belongs to an installed Python package.
    Python,
    /// It was fetched just now.
    Fetched,
}

#[cfg(target_os = "windows")]
const NAME: (&str, &str) = ("onnxruntime", ".dll");
#[cfg(target_vendor = "apple")]
const NAME: (&str, &str) = ("libonnxruntime", ".dylib");
#[cfg(not(any(target_os = "windows", target_vendor = "apple")))]
const NAME: (&str, &str) = ("libonnxruntime", ".so");

/// Returns the name of a library's file on this system, without a version.
pub(crate) fn library_name() -> String {
    format!("{}{}", NAME.0, NAME.1)
}

/// Returns the library in `folder`: the one without a version in its name, else the newest.
pub(crate) fn library_in(folder: &Path, gpu: Gpu) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    let versioned = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let version = version_in(path.file_name()?.to_str()?)?;
        path.is_file().then_some((version, path))
    });
    let (_, path) = versioned.max()?;
    serves(folder, gpu).then_some(path)
}

/// Returns whether `folder` holds what `gpu` needs.
fn serves(folder: &Path, gpu: Gpu) -> bool {
    match gpu {
        Gpu::None => true,
        Gpu::Cuda => folder.join(format!("{}_providers_cuda{}", NAME.0, NAME.1)).is_file(),
    }
}

/// Returns the version in a library's name, such as `libonnxruntime.so.1.31.1`; `None` for the name of anything
/// else. A name without a version ranks above all others: someone put it there on purpose.
fn version_in(name: &str) -> Option<Vec<u32>> {
    let rest = name.strip_prefix(NAME.0)?;
    let (before, after) = rest.split_once(NAME.1)?;
    let version = match (before, after) {
        ("", "") => return Some(vec![u32::MAX]),
        (version, "") | ("", version) => version.strip_prefix('.')?,
        _ => return None,
    };
    version.split('.').map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_recognised_by_its_name() {
        let (stem, end) = NAME;
        assert_eq!(version_in(&format!("{stem}{end}")), Some(vec![u32::MAX]));
        assert_eq!(version_in(&format!("{stem}{end}.1.31.1")), Some(vec![1, 31, 1]));
        assert_eq!(version_in(&format!("{stem}.1.23.2{end}")), Some(vec![1, 23, 2]));
        assert_eq!(version_in(&format!("{stem}_providers_shared{end}")), None);
        assert_eq!(version_in(&format!("{stem}{end}.lock")), None);
    }

    #[test]
    fn the_newest_counts_by_number() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["1.9.0", "1.31.1", "1.4.0"] {
            std::fs::write(folder.path().join(format!("{}.{version}{}", NAME.0, NAME.1)), "").unwrap();
        }
        let found = library_in(folder.path(), Gpu::None).unwrap();
        assert!(found.to_string_lossy().contains("1.31.1"), "{found:?}");
        assert_eq!(library_in(folder.path(), Gpu::Cuda), None);
    }
}
