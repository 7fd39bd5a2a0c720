//! The licences of the crates in the program, with their texts: most of them demand that copies carry them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use cargo_metadata::{Metadata, Package};

use crate::{Error, Result, command, metadata};

/// What the names of files with licences begin with, in capitals.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

const HEAD: &str = "\
The program alloquy contains the Rust crates below, and Rust's standard library (MIT OR Apache-2.0).
Its own licences are in LICENSE-MIT and LICENSE-APACHE, those of ONNX Runtime beside this file.
SQLite, which is part of libsqlite3-sys, is in the public domain.
";

/// Returns a text with each crate's licence, and the texts that the crates come with. A text that several have is there once.
pub(super) fn of_crates(target: &str) -> Result<String> {
    let metadata = metadata()?;
    let mut list = String::new();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, version) in compiled(target)? {
        let package = package(&metadata, &name, &version)?;
        if package.source.is_none() {
            // A member of the workspace.
            continue;
        }
        let licence = package.license.as_deref().unwrap_or("see its text");
        let found = licence_texts(package)?;
        let note = if found.is_empty() { " (the crate has no text of it)" } else { "" };
        list += &format!("{name} {version}: {licence}{note}\n");
        for text in found {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    let mut page = format!("{HEAD}\n{list}");
    for (text, crates) in texts {
        page += &format!("\n{}\n{}\n\n{text}\n", "-".repeat(80), crates.join(", "));
    }
    Ok(page)
}

/// Returns name and version of each crate that is compiled into the program, with its default features.
fn compiled(target: &str) -> Result<BTreeSet<(String, String)>> {
    let arguments = [
        "tree",
        "--locked",
        "--package",
        "alloquy-cli",
        "--target",
        target,
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let output = command::cargo(&arguments).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("cargo does not list the crates of the program: {said}")));
    }
    let mut crates = BTreeSet::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut words = line.split(' ');
        if let (Some(name), Some(version)) = (words.next(), words.next()) {
            crates.insert((name.to_owned(), version.trim_start_matches('v').to_owned()));
        }
    }
    Ok(crates)
}

fn package<'a>(metadata: &'a Metadata, name: &str, version: &str) -> Result<&'a Package> {
    let found = metadata
        .packages
        .iter()
        .find(|package| package.name.as_str() == name && package.version.to_string() == version);
    found
        .ok_or_else(|| Error::new(format!("{name} {version} is in the program, but not in cargo's metadata")))
}

/// Returns the texts of a crate's licences.
fn licence_texts(package: &Package) -> Result<Vec<String>> {
    let folder = package.manifest_path.parent().map_or(Path::new("."), |folder| folder.as_std_path());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_licence = NAMES.iter().any(|start| name.to_uppercase().starts_with(start));
        if is_licence && entry.path().is_file() {
            names.push(name);
        }
    }
    names.sort_unstable();
    let mut texts = Vec::new();
    for name in names {
        // Line ends and spaces at the ends of lines make no other licence.
        let text = fs::read_to_string(folder.join(name))?;
        let lines: Vec<_> = text.lines().map(str::trim_end).collect();
        texts.push(lines.join("\n").trim_matches('\n').to_owned());
    }
    Ok(texts)
}
