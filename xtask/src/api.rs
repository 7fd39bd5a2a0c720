//! The public API as text: `docs/api/PACKAGE.txt` has a line for each public item, so that a change of it shows in a diff.
//!
//! Every public item must be shown by an example.

mod examples;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use cargo_metadata::Metadata;

use crate::published::{cargo_for_published, published, with_unstable_rustdoc};
use crate::{Error, Result, command, metadata, root};

/// The folder of the listings.
const FOLDER: &str = "docs/api";

/// How many changed lines of a package are printed.
const SHOWN: usize = 40;

/// Writes the public items of each published library to `docs/api`, or compares them with it.
#[derive(Debug, Default, clap::Args)]
pub struct Api {
    /// Compares instead of writing.
    #[arg(long)]
    pub check: bool,
}

/// A published library and the JSON that rustdoc wrote about it.
struct Library {
    package: String,
    json: PathBuf,
}

/// What is public in a library.
struct Listing {
    path: PathBuf,
    text: String,
}

impl Api {
    /// Builds the listings and writes or compares them.
    ///
    /// # Errors
    /// When a library does not build, or, with `check`, when a listing is not up to date.
    pub fn run(&self) -> Result {
        let metadata = metadata()?;
        let libraries = libraries(&metadata)?;
        let listings = listings(&libraries)?;
        let outdated = outdated(&listings)?;
        if self.check {
            up_to_date(&outdated)?;
            return all_shown(&libraries);
        }
        fs::create_dir_all(root().join(FOLDER))?;
        for path in &outdated {
            match listings.iter().find(|listing| listing.path == *path) {
                Some(listing) => fs::write(path, &listing.text)?,
                None => fs::remove_file(path)?,
            }
            println!("wrote {}", shown(path));
        }
        all_shown(&libraries)
    }
}

/// Refuses public items that no example shows.
fn all_shown(libraries: &[Library]) -> Result {
    let mut crates = Vec::with_capacity(libraries.len());
    for library in libraries {
        crates.push(serde_json::from_slice(&fs::read(&library.json)?)?);
    }
    let found = examples::without_example(&crates);
    for item in &found {
        println!("no example shows the {item}");
    }
    if found.is_empty() {
        return Ok(());
    }
    let count = found.len();
    Err(Error::new(format!("{count} public items have neither an example nor a link to one in their docs")))
}

fn up_to_date(outdated: &[PathBuf]) -> Result {
    for path in outdated {
        println!("{} is not up to date", shown(path));
    }
    if outdated.is_empty() {
        return Ok(());
    }
    let count = outdated.len();
    Err(Error::new(format!("{count} listings of {FOLDER} are not up to date; `cargo xtask api` writes them")))
}

/// Finds the files to write or to remove, and prints the lines in which they differ.
fn outdated(listings: &[Listing]) -> Result<Vec<PathBuf>> {
    let mut outdated = Vec::new();
    for listing in listings {
        let written = fs::read_to_string(&listing.path).unwrap_or_default();
        println!("{:<40} {:>6} items", shown(&listing.path), listing.text.lines().count());
        if written != listing.text {
            print_differences(&written, &listing.text);
            outdated.push(listing.path.clone());
        }
    }
    let folder = root().join(FOLDER);
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let is_listing = path.extension().is_some_and(|extension| extension == "txt");
            if is_listing && !listings.iter().any(|listing| listing.path == path) {
                outdated.push(path);
            }
        }
    }
    Ok(outdated)
}

fn print_differences(written: &str, listed: &str) {
    let old: BTreeSet<_> = written.lines().collect();
    let new: BTreeSet<_> = listed.lines().collect();
    let removed = old.difference(&new).map(|line| format!("  - {line}"));
    let added = new.difference(&old).map(|line| format!("  + {line}"));
    let lines: Vec<_> = removed.chain(added).collect();
    for line in lines.iter().take(SHOWN) {
        println!("{line}");
    }
    if lines.len() > SHOWN {
        println!("  and {} more", lines.len() - SHOWN);
    }
}

/// Has rustdoc describe each published library, with all features.
fn libraries(metadata: &Metadata) -> Result<Vec<Library>> {
    let mut doc = cargo_for_published(
        &["doc", "--no-deps", "--lib", "--all-features", "--locked", "--quiet"],
        metadata,
    );
    doc.env("RUSTDOCFLAGS", json_flags()?);
    command::run(with_unstable_rustdoc(&mut doc))?;
    let folder = metadata.target_directory.join("doc");
    let mut libraries = Vec::new();
    for package in published(metadata) {
        let Some(library) = package.targets.iter().find(|target| target.is_lib()) else { continue };
        let json = folder.join(format!("{}.json", library.name.replace('-', "_")));
        libraries.push(Library { package: package.name.to_string(), json: json.into() });
    }
    Ok(libraries)
}

/// Lists what is public in each library.
fn listings(libraries: &[Library]) -> Result<Vec<Listing>> {
    let mut listings = Vec::new();
    for library in libraries {
        let path = root().join(FOLDER).join(format!("{}.txt", library.package));
        listings.push(Listing { path, text: public_items(&library.json)? });
    }
    Ok(listings)
}

/// Flags that make rustdoc write JSON.
///
/// The time makes each call differ: otherwise cargo would leave what is fresh, while another checkout with the same target folder
/// may have written its JSON to the same place.
fn json_flags() -> Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    Ok(format!("-Z unstable-options --output-format json --cap-lints allow --cfg api_at_{now}"))
}

/// Lists public items without the implementations that the compiler adds.
fn public_items(json: &Path) -> Result<String> {
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .map_err(|error| Error::new(format!("{}: {error}", json.display())))?;
    let mut text = String::new();
    for item in api.items() {
        text += &format!("{item}\n");
    }
    Ok(text)
}

/// Returns a path relative to the root.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string().replace('\\', "/")
}
