//! What any text file must not hold: stray whitespace, a machine's paths, a private registry. And the licences.

use crate::{File, Finding, Tree};

/// Where every package in Cargo.lock comes from.
const REGISTRY: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

/// Settings that name a registry, each in halves so that this file does not find itself.
const REGISTRY_SETTINGS: [&str; 5] = [
    concat!("index", "-url"),
    concat!("replace", "-with"),
    concat!("sparse", "+http"),
    concat!("_auth", "Token"),
    concat!("registry", " = \"http"),
];

/// Finds settings that point to a registry of one's own, and packages that came from one.
pub(super) fn foreign_hosts(tree: &Tree) -> Vec<Finding> {
    every_line(tree, |file, line| {
        let is_lock = file.path == "Cargo.lock";
        let source = is_lock && line.starts_with("source = ") && line != REGISTRY;
        let setting = REGISTRY_SETTINGS.into_iter().find(|setting| line.contains(setting));
        match setting {
            Some(setting) => Some(format!("`{setting}` points to a registry; the repository names none")),
            None => source.then(|| "a package that does not come from crates.io".to_owned()),
        }
    })
}

/// Folders of people, each in halves so that this file does not find itself.
const HOMES: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/ro", "ot/"), concat!("C:\\Us", "ers\\")];

/// Finds absolute paths of the machine a text was written on.
pub(super) fn home_paths(tree: &Tree) -> Vec<Finding> {
    // A checkout right below the root may have the name of anything.
    let is_telling = tree.root.components().count() > 2;
    let checkout = is_telling.then(|| format!("{}/", tree.root.display()));
    let places: Vec<_> = HOMES.into_iter().chain(checkout.as_deref()).collect();
    every_line(tree, |_, line| {
        let found = places.iter().find(|place| begins_a_path(line, place))?;
        Some(format!("an absolute path of one machine, below {found}"))
    })
}

/// Returns whether a name follows `folder`, and `folder` is not the end of a longer path.
fn begins_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(place, _)| {
        let before = line[..place].chars().next_back();
        let after = line[place + folder.len()..].chars().next();
        !before.is_some_and(is_of_a_name) && after.is_some_and(is_of_a_name)
    })
}

fn is_of_a_name(character: char) -> bool {
    character.is_alphanumeric() || "-_.~}".contains(character)
}

/// Finds missing licence files.
pub(super) fn licences(tree: &Tree) -> Vec<Finding> {
    let licences = [("LICENSE-MIT", "MIT License"), ("LICENSE-APACHE", "Apache License")];
    let missing = licences.into_iter().filter(|(path, title)| {
        let file = tree.get(path);
        !file.is_some_and(|file| file.text.contains(title))
    });
    missing
        .map(|(path, title)| Finding::new(path, 1, format!("the text of the {title} is missing")))
        .collect()
}

/// Finds trailing whitespace and tabs in what people write by hand.
pub(super) fn whitespace(tree: &Tree) -> Vec<Finding> {
    every_line(tree, |file, line| {
        if !file.is_a(&["rs", "md", "toml"]) || file.is_below("fixtures") {
            return None;
        }
        let found = match line {
            line if line.trim_end() != line => "trailing whitespace",
            line if line.contains('\t') => "a tab; indent with spaces, and write \\t in strings",
            _ => return None,
        };
        Some(found.to_owned())
    })
}

fn every_line(tree: &Tree, rule: impl Fn(&File, &str) -> Option<String>) -> Vec<Finding> {
    let lines =
        tree.files.iter().flat_map(|file| file.lines().map(move |(number, line)| (file, number, line)));
    lines
        .filter_map(|(file, number, line)| Some(Finding::new(&file.path, number, rule(file, line)?)))
        .collect()
}
