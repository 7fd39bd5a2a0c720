//! The documents of the files and folders that a person names, and what is left out of them with the reason.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::retrieval::{Document, SkippedDocument};

/// The largest file that is read, in bytes, unless another limit is set.
pub(crate) const FILE_BYTES: u64 = 10_000_000;

/// Files and folders, and what is left out of them.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    /// The files and folders that are named.
    pub(crate) paths: Vec<PathBuf>,
    /// The largest file, in bytes.
    pub(crate) largest: u64,
    /// A folder that is left out: that of the index itself.
    pub(crate) except: Option<PathBuf>,
}

/// The files that were found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Listed {
    pub(crate) files: Vec<ListedFile>,
    pub(crate) skipped: Vec<SkippedDocument>,
    /// The names of the files.
    names: BTreeSet<String>,
}

/// A file: where it is, the name of its document, and how to see that it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedFile {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    pub(crate) bytes: u64,
    modified: Option<SystemTime>,
}

impl Folders {
    /// Lists the files, sorted within each folder.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a named path that does not exist, [`ErrorKind::Invalid`] for one that cannot be read.
    pub(crate) fn list(&self) -> Result<Listed> {
        let mut listed = Listed::default();
        for path in &self.paths {
            let metadata = fs::metadata(path).map_err(|source| unreadable(path, source))?;
            if metadata.is_dir() {
                fs::read_dir(path).map_err(|source| unreadable(path, source))?;
                self.list_folder(path, &mut listed);
            } else {
                self.list_file(path, &metadata, &mut listed);
            }
        }
        Ok(listed)
    }

    /// Returns whether a document is, or was, one of a named file or below a named folder.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.paths.iter().filter_map(|path| name_of(path)).any(|root| is_below(name, &root))
    }

    fn list_folder(&self, folder: &Path, listed: &mut Listed) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return skip(listed, folder, &format!("it cannot be read: {error}")),
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default();
            if name.as_encoded_bytes().starts_with(b".") {
                skip(listed, &path, "it is hidden: name it to add it");
                continue;
            }
            match fs::symlink_metadata(&path) {
                Err(error) => skip(listed, &path, &format!("it cannot be read: {error}")),
                Ok(metadata) if metadata.is_symlink() => {
                    skip(listed, &path, "it is a link: name what it points to");
                }
                Ok(metadata) if metadata.is_dir() => self.list_below(&path, listed),
                Ok(metadata) => self.list_file(&path, &metadata, listed),
            }
        }
    }

    fn list_below(&self, folder: &Path, listed: &mut Listed) {
        let is_index = match (&self.except, fs::canonicalize(folder)) {
            (Some(except), Ok(folder)) => *except == folder,
            _ => false,
        };
        if is_index {
            skip(listed, folder, "it is the folder of the index");
        } else {
            self.list_folder(folder, listed);
        }
    }

    fn list_file(&self, path: &Path, metadata: &Metadata, listed: &mut Listed) {
        if !metadata.is_file() {
            return skip(listed, path, "it is a pipe, a socket or a device, not a file");
        }
        let bytes = metadata.len();
        if bytes > self.largest {
            let reason = format!("it has {bytes} bytes, and --file-bytes allows {}", self.largest);
            return skip(listed, path, &reason);
        }
        let Some(name) = name_of(path) else {
            return skip(listed, path, "its name is not UTF-8: rename it");
        };
        // A file that is named twice, alone and with its folder, is one document.
        if listed.names.insert(name.clone()) {
            let modified = metadata.modified().ok();
            listed.files.push(ListedFile { path: path.to_owned(), name, bytes, modified });
        }
    }
}

impl ListedFile {
    /// Reads its document, with its folder and the ending of its name as metadata.
    ///
    /// # Errors
    /// Why it is no document.
    pub(crate) fn read(&self) -> Result<Document, SkippedDocument> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) => return Err(self.skipped(format!("it cannot be read: {error}"))),
        };
        if bytes.contains(&0) {
            return Err(self.skipped("it is no text: it has a byte that is zero".to_owned()));
        }
        match Document::from_bytes(&self.name, &bytes) {
            Ok(document) => Ok(self.described(document)),
            Err(error) => {
                // The name precedes the reason already.
                let message = error.to_string();
                let rest = message.strip_prefix(&format!("{:?} ", self.name));
                Err(self.skipped(rest.map_or(message.clone(), |rest| format!("it {rest}"))))
            }
        }
    }

    fn described(&self, document: Document) -> Document {
        let path = Path::new(&self.name);
        let folder = path.parent().and_then(Path::to_str).unwrap_or_default();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        document.metadata("folder", folder).metadata("ending", ending)
    }

    fn skipped(&self, reason: String) -> SkippedDocument {
        SkippedDocument { source: self.name.clone(), reason }
    }
}

fn skip(listed: &mut Listed, path: &Path, reason: &str) {
    let source = name_of(path).unwrap_or_else(|| path.display().to_string());
    listed.skipped.push(SkippedDocument { source, reason: reason.to_owned() });
}

/// Returns the name of a document: its path as it was typed, with `/` between folders. Empty for the current folder.
pub(crate) fn name_of(path: &Path) -> Option<String> {
    let mut names = Vec::new();
    let mut start = "";
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::RootDir => start = "/",
            other => names.push(other.as_os_str().to_str()?),
        }
    }
    Some(format!("{start}{}", names.join("/")))
}

/// Returns whether a name is that of a file or a folder, or of something below it.
pub(crate) fn is_below(name: &str, root: &str) -> bool {
    if root.is_empty() {
        return !name.starts_with('/') && !name.starts_with("../");
    }
    match name.strip_prefix(root) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || root.ends_with('/'),
        None => false,
    }
}

fn unreadable(path: &Path, source: std::io::Error) -> Error {
    if source.kind() == std::io::ErrorKind::NotFound {
        let message =
            format!("{path:?} does not exist; `alloquy index remove` removes documents whose files are gone");
        return Error::new(ErrorKind::NotFound, message);
    }
    Error::new(ErrorKind::Invalid, format!("{path:?} cannot be read: check its permissions"))
        .with_source(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_paths_as_they_were_typed() {
        let cases = [
            ("docs/tea.md", "docs/tea.md"),
            ("./docs//tea.md", "docs/tea.md"),
            ("docs/", "docs"),
            (".", ""),
            ("../tea.md", "../tea.md"),
            ("/srv/docs", "/srv/docs"),
            ("/", "/"),
        ];
        for (typed, name) in cases {
            assert_eq!(name_of(Path::new(typed)).unwrap(), name, "{typed}");
        }
    }

    #[test]
    fn a_name_is_below_a_folder_or_is_not() {
        let cases = [
            ("docs/tea.md", "docs", true),
            ("docs", "docs", true),
            ("docs2/tea.md", "docs", false),
            ("docs/tea.md", "", true),
            ("../tea.md", "", false),
            ("/srv/tea.md", "", false),
            ("/srv/tea.md", "/", true),
            ("/srv/tea.md", "/srv", true),
        ];
        for (name, root, expected) in cases {
            assert_eq!(is_below(name, root), expected, "{name} {root}");
        }
    }
}
