//! The files of a checkout, read once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// A text file.
#[derive(Clone, Debug)]
pub struct File {
    /// Where it is, relative to the root, with `/` between folders.
    pub path: String,
    /// What it says.
    pub text: String,
}

impl File {
    /// Returns the lines, numbered from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.split_terminator('\n'))
    }

    /// Returns whether the name ends in `.` and one of `extensions`.
    pub fn is_a(&self, extensions: &[&str]) -> bool {
        let extension = self.path.rsplit_once('.').map(|(_, extension)| extension);
        extension.is_some_and(|extension| extensions.contains(&extension))
    }

    /// Returns whether one of the folders above it has this name.
    pub fn is_below(&self, folder: &str) -> bool {
        let mut names: Vec<_> = self.path.split('/').collect();
        names.pop();
        names.contains(&folder)
    }
}

/// Every text file of a checkout; files that are not UTF-8 are left out.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The folder of the checkout.
    pub root: PathBuf,
    /// Its files, sorted by path.
    pub files: Vec<File>,
}

impl Tree {
    /// Reads the files that git tracks below `root`, or, if git tracks none (an unpacked archive), all except build
    /// outputs and hidden folders.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn read(root: &Path) -> Result<Self> {
        let mut paths = match tracked(root) {
            tracked if !tracked.is_empty() => tracked,
            _ => walk(root)?,
        };
        paths.sort_unstable();
        let mut files = Vec::new();
        for path in paths {
            // Files that are not text are left out.
            if let Ok(text) = fs::read_to_string(root.join(&path)) {
                files.push(File { path, text });
            }
        }
        Ok(Self { root: root.to_owned(), files })
    }

    /// Returns the file at `path`.
    pub fn get(&self, path: &str) -> Option<&File> {
        let place = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(place)
    }

    /// Returns the names, without extension, of the files right in `folder` that end in `.` and `extension`.
    pub fn stems<'a>(&'a self, folder: &'a str, extension: &'a str) -> impl Iterator<Item = &'a str> {
        self.files.iter().filter_map(move |file| {
            let name = file.path.strip_prefix(folder)?.strip_prefix('/')?;
            let (stem, end) = name.rsplit_once('.')?;
            (end == extension && !stem.contains('/')).then_some(stem)
        })
    }
}

/// Asks git; no git, and no checkout, gives nothing.
fn tracked(root: &Path) -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed);
    listed.split_terminator('\0').map(str::to_owned).filter(|path| root.join(path).is_file()).collect()
}

/// Hidden folders that are part of the project.
const OURS: [&str; 3] = [".cargo", ".ci", ".github"];

fn walk(root: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut pending = vec![String::new()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{folder}{name}");
            match entry.file_type()? {
                kind if kind.is_file() => paths.push(path),
                kind if kind.is_dir() && is_source(&name) => pending.push(path + "/"),
                _ => {}
            }
        }
    }
    Ok(paths)
}

fn is_source(folder: &str) -> bool {
    folder != "target" && (!folder.starts_with('.') || OURS.contains(&folder))
}
