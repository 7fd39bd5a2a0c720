//! Packages as they are published: built from what they carry alone, with the files that users need and no others.

use std::fs;

use cargo_metadata::{Metadata, Package as Member};

use crate::published::{cargo_for_published, published};
use crate::{Error, Finding, Result, command, metadata, report};

/// Packs every published package, builds each from what was packed, and looks at the files in it.
#[derive(Debug, Default, clap::Args)]
pub struct Package {
    /// Only packs, without building, also where changes are not committed.
    #[arg(long)]
    pub no_verify: bool,
}

/// Files that each package has.
const EXPECTED: [&str; 4] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Folders of what only tests read.
const FOR_TESTS: [&str; 5] = ["benches", "fixtures", "goldens", "snapshots", "tests"];

/// How many bytes a file in a folder of [`FOR_TESTS`] may have: a small file is often code.
const FOR_TESTS_LIMIT: u64 = 16 << 10;

/// How many bytes other files may have.
const FILE_LIMIT: u64 = 256 << 10;

/// Files that may have more.
const LARGE: [(&str, &str); 1] = [("alloquy-pocket", "model/model.onnx")];

/// How many bytes crates.io accepts.
const PACKED_LIMIT: u64 = 10 << 20;

/// How many keywords crates.io accepts, and how long they may be.
const KEYWORDS: usize = 5;
const KEYWORD_LENGTH: usize = 20;

/// The categories of crates.io that packages use; it ignores others, and cargo does not say so.
const CATEGORIES: [&str; 16] = [
    "api-bindings",
    "command-line-utilities",
    "data-structures",
    "database",
    "development-tools::ffi",
    "development-tools::testing",
    "encoding",
    "multimedia::audio",
    "multimedia::images",
    "network-programming",
    "parser-implementations",
    "parsing",
    "science",
    "template-engine",
    "text-processing",
    "web-programming::http-server",
];

impl Package {
    /// Packs, builds and checks, and prints a table of sizes.
    ///
    /// # Errors
    /// When a package does not build from what it carries, lacks something, or carries something for tests.
    pub fn run(&self) -> Result {
        let metadata = metadata()?;
        let mut cargo = cargo_for_published(&["package", "--locked", "--quiet"], &metadata);
        if self.no_verify {
            cargo.args(["--no-verify", "--allow-dirty"]);
        }
        command::run(&mut cargo)?;
        let mut findings = Vec::new();
        println!("{:<22} {:>6} {:>10} {:>12}", "package", "files", "bytes", "packed bytes");
        for member in published(&metadata) {
            let packed = Packed::read(member, &metadata)?;
            println!("{packed}");
            findings.extend(packed.problems());
            findings.extend(undescribed(member));
        }
        report("package", &findings)
    }
}

/// A package that was packed.
struct Packed {
    name: String,
    files: Vec<PackedFile>,
    /// The size of the archive.
    size: u64,
}

/// A file of a package.
struct PackedFile {
    path: String,
    size: u64,
}

impl Packed {
    fn read(member: &Member, metadata: &Metadata) -> Result<Self> {
        let arguments =
            ["package", "--list", "--allow-dirty", "--locked", "--offline", "--package", &member.name];
        let output = command::cargo(&arguments).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Error::new(format!("cargo does not list the files of {}: {said}", member.name)));
        }
        let mut files = Vec::new();
        for path in String::from_utf8_lossy(&output.stdout).lines() {
            files.push(PackedFile { path: path.to_owned(), size: size_of(member, path) });
        }
        let archive = format!("package/{}-{}.crate", member.name, member.version);
        let size = fs::metadata(metadata.target_directory.join(archive))?.len();
        Ok(Self { name: member.name.to_string(), files, size })
    }

    /// Finds what is missing, and what is too large or for tests.
    fn problems(&self) -> Vec<Finding> {
        let mut sentences = Vec::new();
        for expected in EXPECTED {
            if !self.files.iter().any(|file| file.path == expected) {
                sentences.push(format!("{expected} is missing"));
            }
        }
        for file in &self.files {
            if file.is_for_tests() && file.size > FOR_TESTS_LIMIT {
                sentences.push(format!("{} ({} bytes) is for tests: exclude it", file.path, file.size));
            } else if file.size > FILE_LIMIT && !LARGE.contains(&(&self.name, &file.path)) {
                sentences.push(format!("{} has {} bytes: exclude it", file.path, file.size));
            }
        }
        if self.size > PACKED_LIMIT {
            sentences.push(format!("{} packed bytes are more than crates.io accepts", self.size));
        }
        sentences.into_iter().map(|sentence| Finding::new(&self.name, 1, sentence)).collect()
    }
}

impl std::fmt::Display for Packed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes: u64 = self.files.iter().map(|file| file.size).sum();
        write!(formatter, "{:<22} {:>6} {bytes:>10} {:>12}", self.name, self.files.len(), self.size)
    }
}

impl PackedFile {
    fn is_for_tests(&self) -> bool {
        let Some((folders, _)) = self.path.rsplit_once('/') else { return false };
        folders.split('/').any(|folder| FOR_TESTS.contains(&folder))
    }
}

/// Returns how large a file is. What cargo makes, such as `Cargo.toml.orig`, is in no folder and counts nothing.
fn size_of(member: &Member, path: &str) -> u64 {
    let Some(folder) = member.manifest_path.parent() else { return 0 };
    match fs::metadata(folder.join(path)) {
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    }
}

/// Finds fields of a manifest that crates.io demands, and that are missing or not accepted.
fn undescribed(member: &Member) -> Vec<Finding> {
    let mut sentences = Vec::new();
    if member.description.is_none() {
        sentences.push("has no description".to_owned());
    }
    if member.license.is_none() {
        sentences.push("has no licence".to_owned());
    }
    if member.readme.is_none() {
        sentences.push("has no readme".to_owned());
    }
    if member.documentation.is_none() {
        sentences.push("has no address of its documentation".to_owned());
    }
    if member.keywords.is_empty() || member.keywords.len() > KEYWORDS {
        sentences.push(format!("has {} keywords; 1 to {KEYWORDS} are accepted", member.keywords.len()));
    }
    for keyword in &member.keywords {
        if keyword.len() > KEYWORD_LENGTH {
            sentences.push(format!("the keyword {keyword:?} has more than {KEYWORD_LENGTH} letters"));
        }
    }
    if member.categories.is_empty() {
        sentences.push("has no categories".to_owned());
    }
    for category in &member.categories {
        if !CATEGORIES.contains(&category.as_str()) {
            sentences.push(format!("{category:?} is not in the list of categories in xtask/src/package.rs"));
        }
    }
    sentences.into_iter().map(|sentence| Finding::new(member.name.as_str(), 1, sentence)).collect()
}
