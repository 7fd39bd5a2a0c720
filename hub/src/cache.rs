//! The cache of models on this machine, which is that of huggingface_hub: other programs find what is pulled here, and the other way
//! round.
//!
//! ```text
//! models--OWNER--NAME/
//!   blobs/DIGEST                      the content of a file; DIGEST.incomplete while it is fetched
//!   refs/REVISION                     a text: the commit
//!   snapshots/COMMIT/onnx/model.onnx  a link to a blob
//! .locks/models--OWNER--NAME/DIGEST.lock
//! ```
//!
//! Reference: huggingface_hub, `docs/source/en/guides/manage-cache.md`.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::choice::{Choice, Machine, choose, choose_description};
use crate::error::{HubError, Result, io_error};
use crate::listing::{FileDigest, HubFile, Listing};
use crate::repository::{ModelName, Repository};
use crate::variant::variants;

/// How deep the folders of a snapshot are read.
const DEPTH: usize = 6;

/// A folder with repositories of the Hub.
///
/// ```
/// use alloquy_hub::HubCache;
///
/// let folder = tempfile::tempdir()?;
/// let cache = HubCache::at(folder.path());
/// assert!(cache.repositories()?.is_empty());
/// assert!(cache.find(&"onnx-community/Qwen3-0.6B-ONNX".parse()?)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubCache {
    root: PathBuf,
}

/// A model in the cache, as [`HubCache::find`] returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CachedModel {
    /// The name that finds it.
    pub name: ModelName,
    /// The path that opens it: a graph, or a folder with description files.
    pub path: PathBuf,
    /// The name of its variant.
    pub variant: String,
    /// The commit that it belongs to.
    pub commit: String,
    /// The size of its files in bytes.
    pub bytes: u64,
}

impl HubCache {
    /// Returns the cache of this user: `HF_HUB_CACHE`, else `hub` in `HF_HOME`, else `hub` in `huggingface` of `XDG_CACHE_HOME` or of
    /// `.cache` in the home folder.
    ///
    /// # Errors
    /// [`HubError::NoCache`] when none of these is known.
    pub fn from_env() -> Result<Self> {
        if let Some(root) = variable("HF_HUB_CACHE") {
            return Ok(Self::at(root));
        }
        if let Some(home) = variable("HF_HOME") {
            return Ok(Self::at(home.join("hub")));
        }
        let cache = match variable("XDG_CACHE_HOME") {
            Some(cache) => cache,
            None => etcetera::home_dir().map_err(|_| HubError::NoCache)?.join(".cache"),
        };
        Ok(Self::at(cache.join("huggingface").join("hub")))
    }

    /// Returns the cache in a folder, which need not exist.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Finds a model. Of several variants it takes the named one, or else the one that fits this machine best.
    ///
    /// `None` means that the repository, the revision or the variant is not in the cache.
    ///
    /// # Errors
    /// [`HubError::Io`] when the cache cannot be read.
    pub fn find(&self, name: &ModelName) -> Result<Option<CachedModel>> {
        let Some(listing) = self.listing(&name.repository, name.revision())? else { return Ok(None) };
        match choose(&listing, name.variant.as_deref(), Machine::this()) {
            Ok(choice) => Ok(Some(self.cached(name, &listing, &choice))),
            Err(HubError::NoVariant { .. } | HubError::UnknownVariant { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Finds the files that describe a model, with or without weights beside them. The path is that of their folder.
    ///
    /// `None` means that the repository or the revision is not in the cache, or not with these files.
    ///
    /// # Errors
    /// [`HubError::Io`] when the cache cannot be read.
    pub fn find_description(&self, name: &ModelName) -> Result<Option<CachedModel>> {
        let Some(listing) = self.listing(&name.repository, name.revision())? else { return Ok(None) };
        match choose_description(&listing) {
            Ok(choice) => Ok(Some(self.cached(name, &listing, &choice))),
            Err(_) => Ok(None),
        }
    }

    /// Lists all models, a variant each, sorted by name.
    ///
    /// # Errors
    /// [`HubError::Io`] when the cache cannot be read.
    pub fn models(&self) -> Result<Vec<CachedModel>> {
        let mut models = Vec::new();
        for repository in self.repositories()? {
            let Some(listing) = self.listing(&repository, "main")? else { continue };
            let found = variants(&listing);
            let has_several = found.len() > 1;
            for variant in found {
                let mut name = ModelName::from(repository.clone());
                if has_several {
                    name = name.with_variant(&variant.name);
                }
                let choice = choose(&listing, Some(&variant.name), Machine::this())?;
                models.push(self.cached(&name, &listing, &choice));
            }
        }
        Ok(models)
    }

    /// Lists the repositories of models, sorted by name. A cache that does not exist has none.
    ///
    /// # Errors
    /// [`HubError::Io`] when the folder cannot be read.
    pub fn repositories(&self) -> Result<Vec<Repository>> {
        let entries = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io_error("read", &self.root))?,
        };
        let mut repositories = Vec::new();
        for entry in entries {
            let entry = entry.map_err(io_error("read", &self.root))?;
            repositories.extend(entry.file_name().to_str().and_then(Repository::of_folder));
        }
        repositories.sort();
        Ok(repositories)
    }

    /// Removes a repository with all its revisions. Returns how many bytes that freed; `None` if it is not in the cache.
    ///
    /// # Errors
    /// [`HubError::Io`] when a file cannot be removed. The repository may be removed in part then; removing it again continues.
    pub fn remove(&self, repository: &Repository) -> Result<Option<u64>> {
        let folder = self.folder(repository);
        if !folder.is_dir() {
            return Ok(None);
        }
        let bytes = size_of(&folder, DEPTH + 3)?;
        fs::remove_dir_all(&folder).map_err(io_error("remove", &folder))?;
        // Empty files: whatever keeps them does no harm.
        let _ = fs::remove_dir_all(self.locks(repository));
        Ok(Some(bytes))
    }

    fn folder(&self, repository: &Repository) -> PathBuf {
        self.root.join(repository.folder())
    }

    /// Returns the place of a blob.
    pub(crate) fn blob(&self, repository: &Repository, digest: &FileDigest) -> PathBuf {
        self.folder(repository).join("blobs").join(digest.as_str())
    }

    /// Returns the place of the file that is locked while a blob is fetched.
    pub(crate) fn lock(&self, repository: &Repository, digest: &FileDigest) -> PathBuf {
        self.locks(repository).join(format!("{}.lock", digest.as_str()))
    }

    fn locks(&self, repository: &Repository) -> PathBuf {
        self.root.join(".locks").join(repository.folder())
    }

    /// Returns the folder of a commit.
    pub(crate) fn snapshot(&self, repository: &Repository, commit: &str) -> PathBuf {
        self.folder(repository).join("snapshots").join(commit)
    }

    /// Makes a file of a snapshot from its blob: a link, or a copy on systems that do not let everybody make links.
    pub(crate) fn place(&self, repository: &Repository, commit: &str, file: &HubFile) -> Result<()> {
        let path = self.snapshot(repository, commit).join(&file.path);
        let blob = self.blob(repository, &file.digest);
        create_folder_of(&path)?;
        if path.exists() {
            return Ok(());
        }
        // What is in the way may be a link to a blob that somebody removed, or of a pull that is faster. A rename replaces both at once, so
        // that no other pull finds nothing in between. The folder of locks is listed by no program.
        let folder = self.locks(repository);
        fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
        let made = tempfile::Builder::new().make_in(&folder, |made| link(&blob, made, &file.path));
        let made = made.map_err(io_error("create a link in", &folder))?;
        made.into_temp_path().persist(&path).map_err(|error| error.error).map_err(io_error("link", &path))
    }

    /// Makes a revision mean a commit. A revision that is the commit itself needs no file.
    pub(crate) fn set_revision(&self, repository: &Repository, revision: &str, commit: &str) -> Result<()> {
        if revision == commit {
            return Ok(());
        }
        let path = self.folder(repository).join("refs").join(revision);
        create_folder_of(&path)?;
        let folder = path.parent().unwrap_or(&path);
        let mut file =
            tempfile::NamedTempFile::new_in(folder).map_err(io_error("create a file in", folder))?;
        file.write_all(commit.as_bytes()).map_err(io_error("write", &path))?;
        file.persist(&path).map_err(|error| error.error).map_err(io_error("write", &path))?;
        Ok(())
    }

    /// Lists the files of a snapshot as the Hub would; `None` if there is no snapshot of that revision.
    fn listing(&self, repository: &Repository, revision: &str) -> Result<Option<Listing>> {
        let reference = self.folder(repository).join("refs").join(revision);
        let commit = match fs::read_to_string(&reference) {
            Ok(commit) => commit.trim().to_owned(),
            Err(_) if revision == "main" => self.only_commit(repository).unwrap_or_default(),
            Err(_) => revision.to_owned(),
        };
        let is_name = !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let root = self.snapshot(repository, &commit);
        if !is_name || !root.is_dir() {
            return Ok(None);
        }
        let mut files = Vec::new();
        list(&root, "", DEPTH, &mut files)?;
        Ok(Some(Listing { commit, ..Listing::new(repository.clone(), files) }))
    }

    /// Returns the commit of a repository that has one snapshot alone, as a pull of one commit leaves it.
    fn only_commit(&self, repository: &Repository) -> Option<String> {
        let mut entries = fs::read_dir(self.folder(repository).join("snapshots")).ok()?;
        let only = entries.next()?.ok()?;
        if entries.next().is_some() {
            return None;
        }
        only.file_name().into_string().ok()
    }

    fn cached(&self, name: &ModelName, listing: &Listing, choice: &Choice) -> CachedModel {
        CachedModel {
            name: name.clone(),
            path: self.snapshot(&listing.repository, &listing.commit).join(choice.variant.path()),
            variant: choice.variant.name.clone(),
            commit: listing.commit.clone(),
            bytes: choice.bytes,
        }
    }
}

/// Reads a variable of the environment; an empty one is not set. A `~` at the start is the home folder.
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)?;
    match (value.strip_prefix("~"), etcetera::home_dir()) {
        (Ok(rest), Ok(home)) => Some(home.join(rest)),
        _ => Some(value),
    }
}

/// Creates the folder of a file.
pub(crate) fn create_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(io_error("create", folder))
}

/// Lists the files below a folder. Their digests are not known, and links to nothing are left out.
fn list(root: &Path, below: &str, depth: usize, files: &mut Vec<HubFile>) -> Result<()> {
    let folder = root.join(below);
    for entry in fs::read_dir(&folder).map_err(io_error("read", &folder))? {
        let entry = entry.map_err(io_error("read", &folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let Ok(metadata) = fs::metadata(entry.path()) else { continue };
        if metadata.is_file() {
            files.push(HubFile::new(path, metadata.len()));
        } else if metadata.is_dir() && depth > 0 {
            list(root, &path, depth - 1, files)?;
        }
    }
    Ok(())
}

/// Adds up the sizes of the files below a folder; links count nothing.
fn size_of(folder: &Path, depth: usize) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(io_error("read", folder))? {
        let entry = entry.map_err(io_error("read", folder))?;
        let metadata = entry.metadata().map_err(io_error("read", entry.path()))?;
        if metadata.is_file() {
            bytes += metadata.len();
        } else if metadata.is_dir() && depth > 0 {
            bytes += size_of(&entry.path(), depth - 1)?;
        }
    }
    Ok(bytes)
}

/// Links to a blob by a path that stays right when the cache is moved: two folders up for a file in the root of a snapshot.
#[cfg(unix)]
fn link(blob: &Path, path: &Path, name: &str) -> io::Result<()> {
    let up = "../".repeat(2 + name.matches('/').count());
    let digest = blob.file_name().unwrap_or_default();
    std::os::unix::fs::symlink(Path::new(&up).join("blobs").join(digest), path)
}

#[cfg(not(unix))]
fn link(blob: &Path, path: &Path, _: &str) -> io::Result<()> {
    // A hard link needs no right, and no second copy of the weights.
    fs::hard_link(blob, path).or_else(|_| fs::copy(blob, path).map(drop))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test may panic

    use std::sync::Barrier;

    use super::*;

    #[test]
    fn of_several_pulls_none_takes_away_what_another_one_placed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = HubCache::at(folder.path());
        let repository: Repository = "tiny/model".parse().unwrap();
        let mut file = HubFile::new("onnx/config.json", 2);
        file.digest = FileDigest::Git("d0".to_owned());
        let blob = cache.blob(&repository, &file.digest);
        create_folder_of(&blob).unwrap();
        fs::write(&blob, "{}").unwrap();
        let path = cache.snapshot(&repository, "c0").join(&file.path);
        for _ in 0..500 {
            let start = Barrier::new(4);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        start.wait();
                        cache.place(&repository, "c0", &file).unwrap();
                        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
                    });
                }
            });
            fs::remove_file(&path).unwrap();
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        assert_eq!(fs::read_dir(cache.locks(&repository)).unwrap().count(), 0);
    }
}
