//! Who may import whom. Knows folders and what cargo says of imports; not code.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{Dependency, DependencyKind, Metadata, NodeDep, Package, PackageId};

use crate::imports::{imports, report_circles};
use crate::{Error, Result, metadata};

/// Finds imports that the table of layers forbids.
#[derive(Debug, clap::Args)]
pub struct Layers {
    /// Finds files that import each other in a circle instead.
    #[arg(long)]
    files: bool,
}

impl Layers {
    /// Prints what is found.
    ///
    /// # Errors
    /// When anything is found that is not accepted.
    pub fn run(self) -> Result {
        let metadata = metadata()?;
        if self.files { report_circles(&imports(&metadata)?) } else { report_breaches(&breaches(&metadata)) }
    }
}

/// In the table below: any of [`PARTS`].
const ANY_PART: &str = "any part";

/// The crates that a model is opened with and a conversation is held with.
const PARTS: [&str; 15] = [
    "backends/",
    "constraints",
    "context",
    "core",
    "cost",
    "engine",
    "formats",
    "inference",
    "media",
    "model-files",
    "pocket",
    "processors",
    "storage",
    "templates",
    "tools/",
];

/// Which members a folder's crate may import, and which in its tests alone: the first line that fits counts. A crate may always
/// import what stands in a folder of its own.
const MEMBERS: [(&str, &[&str], &[&str]); 21] = [
    ("backends/onnx/runtime", &[], &[]),
    ("backends/", &["core", "engine", "model-files"], &["testing"]),
    // What opens a model knows everything that makes one.
    ("alloquy", &[ANY_PART], &["testing"]),
    // The command line wires nothing that a library's user could not, and its tests run the program.
    ("cli", &["alloquy"], &["testing"]),
    ("constraints", &["core"], &["testing"]),
    // Policies are held against prompts of a language model.
    ("context", &["core"], &["inference", "testing"]),
    ("core", &[], &["testing"]),
    ("cost", &["core"], &["testing"]),
    ("engine", &["core"], &["testing"]),
    ("formats", &["core"], &["testing"]),
    ("inference", &["core", "engine"], &["testing"]),
    ("media", &["core", "engine"], &["testing"]),
    ("model-files", &["core"], &["testing"]),
    ("pocket", &["core", "model-files"], &["testing"]),
    ("processors", &["core"], &["testing"]),
    // What stores of earlier releases hold is priced.
    ("storage", &["core", "engine", "formats"], &["cost", "testing"]),
    // What a template parts messages by is learnt by what renders it.
    ("templates", &["core"], &["inference", "testing"]),
    ("testing", &["core", "engine"], &[]),
    // What needs several siblings at once is tested here.
    ("tests", &["alloquy", ANY_PART], &["testing"]),
    ("tools/", &["core"], &["testing"]),
    // Chores must build when members do not, so they import only what looks for a shared library and imports none.
    ("xtask", &["backends/onnx/runtime"], &[]),
];

/// What is for tests alone.
const TESTING: &str = "alloquy-testing";

/// Crates from elsewhere, and the only folders that may import them.
const ELSEWHERE: [(&[&str], &[&str]); 8] = [
    (&["derivre", "llguidance", "toktrie"], &["constraints"]),
    (&["minijinja"], &["templates"]),
    (&["ort"], &["backends/onnx"]),
    (&["tokenizers"], &["model-files"]),
    (&["rmcp"], &["tools/"]),
    (&["image", "ndarray", "symphonia"], &["backends/", "media"]),
    (
        &["deadpool-postgres", "object_store", "rusqlite", "tokio-postgres", "tokio-postgres-rustls"],
        &["storage"],
    ),
    (&["hyper", "reqwest", "tokio"], &["cli", "storage", "tools/"]),
];

/// Crates that stand nowhere below these folders, however long the way.
const NOWHERE_BELOW: (&[&str], &[&str]) = (
    &["hyper", "reqwest", "tokio"],
    &[
        "constraints",
        "context",
        "core",
        "cost",
        "engine",
        "formats",
        "inference",
        "media",
        "model-files",
        "processors",
        "templates",
        "testing",
    ],
);

/// Returns a sentence for every import that the table forbids, sorted.
pub fn breaches(metadata: &Metadata) -> Vec<String> {
    let members = members(metadata);
    let mut breaches = BTreeSet::new();
    for (folder, package) in &members {
        breaches.extend(unknown_folder(folder));
        breaches.extend(among_members(folder, package, &members));
        breaches.extend(published_tests(folder, package));
        breaches.extend(from_elsewhere(folder, package));
        breaches.extend(somewhere_below(folder, package, metadata));
    }
    breaches.into_iter().collect()
}

type Members<'a> = BTreeMap<String, &'a Package>;

/// The members by folder, relative to the root.
fn members(metadata: &Metadata) -> Members<'_> {
    let folder = |package: &Package| {
        let folder = package.manifest_path.parent()?;
        let folder = folder.strip_prefix(&metadata.workspace_root).ok()?;
        Some(folder.as_str().replace('\\', "/"))
    };
    let packages = metadata.workspace_packages().into_iter();
    packages.filter_map(|package| Some((folder(package)?, package))).collect()
}

/// Says whether `folder` is `pattern`, or, for a pattern that ends in `/`, stands below it.
fn stands_in(folder: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('/') {
        Some(_) => folder.starts_with(pattern),
        None => folder == pattern,
    }
}

fn stands_in_any(folder: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| stands_in(folder, pattern))
}

/// What a folder's crate may import, and what in tests also.
type Rule = (Vec<&'static str>, Vec<&'static str>);

fn rule_of(folder: &str) -> Option<Rule> {
    let rule = MEMBERS.iter().find(|(pattern, ..)| stands_in(folder, pattern));
    rule.map(|(_, may, in_tests)| (in_full(may), in_full(in_tests)))
}

/// Folders with [`PARTS`] in the place of [`ANY_PART`].
fn in_full(folders: &[&'static str]) -> Vec<&'static str> {
    let mut all = Vec::new();
    for folder in folders {
        if *folder == ANY_PART {
            all.extend(PARTS);
        } else {
            all.push(folder);
        }
    }
    all
}

fn unknown_folder(folder: &str) -> Option<String> {
    let sentence = || format!("{folder}: this folder has no line in the table of xtask/src/layers.rs");
    rule_of(folder).is_none().then(sentence)
}

/// Imports among members count in tests too: a test that needs a sibling belongs to whoever wires the two.
fn among_members(folder: &str, package: &Package, members: &Members<'_>) -> Vec<String> {
    let (may, in_tests) = rule_of(folder).unwrap_or_default();
    let is_nested = |other: &str| other.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let mut breaches = Vec::new();
    for (other, imported) in members {
        if *other == folder || stands_in_member(other, &may) || is_nested(other) {
            continue;
        }
        let imports: Vec<_> =
            package.dependencies.iter().filter(|import| import.name == *imported.name).collect();
        let is_for_tests = |import: &&Dependency| {
            import.kind == DependencyKind::Development && stands_in_member(other, &in_tests)
        };
        if imports.iter().all(is_for_tests) {
            continue;
        }
        let also = if in_tests.is_empty() {
            String::new()
        } else {
            format!(", in tests also {}", listed(&in_tests))
        };
        breaches.push(format!(
            "{folder}: must not import {other}; of the members it may import {}{also}",
            listed(&may)
        ));
    }
    breaches
}

/// Whoever imports [`TESTING`] names no version: cargo leaves the import out of what it publishes then, and neither of two
/// crates that test each other has to be published first.
fn published_tests(folder: &str, package: &Package) -> Vec<String> {
    let versioned = package.dependencies.iter().filter(|import| {
        import.name == TESTING
            && import.kind == DependencyKind::Development
            && !import.req.comparators.is_empty()
    });
    versioned.map(|_| format!("{folder}: must not import {TESTING} by a version; a path is enough")).collect()
}

/// As [`stands_in_any`], but a crate inside a backend's folder is that backend's alone.
fn stands_in_member(other: &str, may: &[&str]) -> bool {
    let is_inner = other.split('/').count() > 2;
    may.contains(&other) || !is_inner && stands_in_any(other, may)
}

fn from_elsewhere(folder: &str, package: &Package) -> Vec<String> {
    let imports = package.dependencies.iter().filter(|import| import.kind != DependencyKind::Development);
    let forbidden = imports.filter_map(|import| {
        let (_, only) = ELSEWHERE.iter().find(|(crates, _)| is_one_of(&import.name, crates))?;
        let sentence = || format!("{folder}: must not import {}; only {} may", import.name, listed(only));
        (!stands_in_any(folder, only)).then(sentence)
    });
    forbidden.collect()
}

/// Says whether `name` is one of `crates` or a part of one, as symphonia-core is.
fn is_one_of(name: &str, crates: &[&str]) -> bool {
    let is_part_of =
        |whole: &str| name.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    crates.iter().any(|whole| is_part_of(whole))
}

fn somewhere_below(folder: &str, package: &Package, metadata: &Metadata) -> Vec<String> {
    let (crates, folders) = NOWHERE_BELOW;
    if !stands_in_any(folder, folders) {
        return Vec::new();
    }
    let found = below(&package.id, metadata);
    let found = metadata.packages.iter().filter(|package| found.contains(&package.id));
    found
        .filter(|package| crates.contains(&package.name.as_str()))
        .map(|package| {
            format!("{folder}: {} stands somewhere below it; `cargo tree -p` shows the way", package.name)
        })
        .collect()
}

/// Every package that a build of `start` needs.
fn below<'a>(start: &'a PackageId, metadata: &'a Metadata) -> BTreeSet<&'a PackageId> {
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let nodes: BTreeMap<_, _> = nodes.map(|node| (&node.id, node)).collect();
    let mut found = BTreeSet::new();
    let mut pending = vec![start];
    while let Some(id) = pending.pop() {
        if !found.insert(id) {
            continue;
        }
        let imports = nodes.get(id).into_iter().flat_map(|node| &node.deps);
        pending.extend(imports.filter(|import| is_built(import)).map(|import| &import.pkg));
    }
    found
}

fn is_built(import: &NodeDep) -> bool {
    import.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development)
}

/// Folders as one reads them: a pattern that ends in `/` is every folder below.
fn listed(folders: &[&str]) -> String {
    let read =
        |folder: &&str| if folder.ends_with('/') { format!("{folder}*") } else { (*folder).to_owned() };
    match folders {
        [] => "none".to_owned(),
        folders => folders.iter().map(read).collect::<Vec<_>>().join(", "),
    }
}

/// The rules as tables, for the documentation.
pub(crate) fn tables() -> String {
    let mut tables = "| folder | of ours, it may import | in tests also |\n|---|---|---|\n".to_owned();
    for (folder, may, in_tests) in MEMBERS {
        tables += &format!("| {} | {} | {} |\n", listed(&[folder]), listed(may), listed(in_tests));
    }
    tables += &format!("\nAny part: {}.\n", listed(&PARTS));
    tables += "\n| of others | may be imported by |\n|---|---|\n";
    tables.extend(ELSEWHERE.map(|(crates, only)| format!("| {} | {} |\n", crates.join(", "), listed(only))));
    tables
}

/// Prints the breaches.
///
/// # Errors
/// When there are any.
pub fn report_breaches(breaches: &[String]) -> Result {
    for breach in breaches {
        println!("{breach}");
    }
    match breaches.len() {
        0 => {
            println!("layers: every import is allowed");
            Ok(())
        }
        several => Err(Error::new(format!("layers: {several} imports are not allowed"))),
    }
}
