//! Checks the imports between crates, as cargo reports them, against the table of layers.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, NodeDep, Package, PackageId};

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
    /// Prints the findings.
    ///
    /// # Errors
    /// When there is a finding that is not accepted.
    pub fn run(self) -> Result {
        let metadata = metadata()?;
        if self.files { report_circles(&imports(&metadata)?) } else { report_breaches(&breaches(&metadata)) }
    }
}

/// Means any of [`PARTS`] in the table below.
const ANY_PART: &str = "any part";

/// The crates for opening a model and running a conversation.
const PARTS: [&str; 21] = [
    "backends/",
    "constraints",
    "context",
    "core",
    "cost",
    "engine",
    "flows",
    "formats",
    "guards",
    "hub",
    "inference",
    "media",
    "memory",
    "model-files",
    "pocket",
    "processors",
    "prompts",
    "retrieval",
    "storage",
    "templates",
    "tools/",
];

/// The members that a folder's crate may import, and those that only its tests may import. The first line that matches applies.
/// A crate may always import crates inside its own folder.
const MEMBERS: [(&str, &[&str], &[&str]); 30] = [
    ("backends/onnx/runtime", &[], &[]),
    // Its models of embeddings and rerankers are members of retrieval's traits.
    ("backends/onnx", &["core", "engine", "model-files", "retrieval"], &["testing"]),
    // What a cut reply keeps is tested with a language model.
    (
        "backends/openai",
        &["core", "engine", "formats", "model-files", "retrieval"],
        &["inference", "testing"],
    ),
    ("backends/", &["core", "engine", "model-files"], &["testing"]),
    // It opens models, so it needs every part of one.
    ("alloquy", &[ANY_PART], &["testing"]),
    // The command line can do nothing that a user of the libraries cannot, and its tests run the program.
    ("cli", &["alloquy", "server"], &["testing"]),
    ("constraints", &["core"], &["testing"]),
    // Policies are tested with prompts of a language model.
    ("context", &["core"], &["inference", "testing"]),
    ("core", &[], &["testing"]),
    ("cost", &["core"], &["testing"]),
    ("engine", &["core"], &["testing"]),
    // Flows are tested with prompts of a library, and killed over stores.
    ("flows", &["core"], &["prompts", "storage", "testing"]),
    ("formats", &["core"], &["testing"]),
    // Limits of cost need prices.
    ("guards", &["core", "cost"], &["testing"]),
    // It knows files and servers, and nothing of conversations.
    ("hub", &[], &["testing"]),
    ("inference", &["core", "engine"], &["testing"]),
    ("media", &["core", "engine"], &["testing"]),
    // Notes are found by a retriever. What is reused of prompts with notes is measured with a language model.
    ("memory", &["core", "retrieval"], &["context", "inference", "testing"]),
    ("model-files", &["core"], &["testing"]),
    ("pocket", &["core", "model-files"], &["testing"]),
    ("processors", &["core"], &["testing"]),
    // Texts of prompts are compiled by the crate that has the template engine and its limits.
    ("prompts", &["core", "templates"], &["retrieval", "testing"]),
    ("retrieval", &["core"], &["testing"]),
    // It serves what a host opens: models and stores are passed in.
    // Prompts are shown as a language model has sent them, and what models have computed is saved as snapshots.
    (
        "server",
        &["core", "cost", "engine", "flows", "formats", "guards", "retrieval"],
        &["inference", "storage", "templates", "testing"],
    ),
    // It counts limits and keeps cached replies for guards, and has passages for retrieval. Its tests compute the cost of conversations
    // that earlier releases stored.
    ("storage", &["core", "engine", "formats", "guards", "retrieval"], &["cost", "testing"]),
    // Role markers are derived by the crate that renders templates.
    ("templates", &["core"], &["inference", "testing"]),
    ("testing", &["core", "engine"], &[]),
    // Tests that need several siblings are here.
    ("tests", &["alloquy", ANY_PART], &["testing"]),
    ("tools/", &["core"], &["testing"]),
    // These tasks must build even if members do not, so they import only the crate that finds a shared library.
    ("xtask", &["backends/onnx/runtime"], &[]),
];

/// The crate that only tests may import.
const TESTING: &str = "alloquy-testing";

/// External crates, and the only folders that may import them.
const EXTERNAL: [(&[&str], &[&str]); 9] = [
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
    (&["axum", "tower-http"], &["server"]),
    (&["hyper", "reqwest", "tokio"], &["backends/openai", "cli", "server", "storage", "tools/"]),
];

/// Crates on which the crates in these folders may not depend, directly or indirectly.
const NOT_EVEN_INDIRECTLY: (&[&str], &[&str]) = (
    &["hyper", "reqwest", "tokio"],
    &[
        "constraints",
        "context",
        "core",
        "cost",
        "engine",
        "flows",
        "formats",
        "guards",
        "inference",
        "media",
        "memory",
        "model-files",
        "processors",
        "prompts",
        "retrieval",
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
        breaches.extend(of_external(folder, package));
        breaches.extend(indirect(folder, package, metadata));
    }
    breaches.into_iter().collect()
}

type Members<'a> = BTreeMap<String, &'a Package>;

/// The members by folder, relative to the root.
fn members(metadata: &Metadata) -> Members<'_> {
    let mut members = Members::new();
    for package in metadata.workspace_packages() {
        if let Some(folder) = folder_of(package, metadata) {
            members.insert(folder, package);
        }
    }
    members
}

fn folder_of(package: &Package, metadata: &Metadata) -> Option<String> {
    let folder = package.manifest_path.parent()?;
    let folder = folder.strip_prefix(&metadata.workspace_root).ok()?;
    Some(folder.as_str().replace('\\', "/"))
}

/// Returns whether `folder` is `pattern`, or is below it if the pattern ends in `/`.
fn matches(folder: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('/') {
        Some(_) => folder.starts_with(pattern),
        None => folder == pattern,
    }
}

fn matches_any(folder: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| matches(folder, pattern))
}

/// The folders that a crate may import, and those that its tests may also import.
type Rule = (Vec<&'static str>, Vec<&'static str>);

fn rule_of(folder: &str) -> Option<Rule> {
    let rule = MEMBERS.iter().find(|(pattern, ..)| matches(folder, pattern));
    rule.map(|(_, may, in_tests)| (in_full(may), in_full(in_tests)))
}

/// Returns the folders, with [`PARTS`] instead of [`ANY_PART`].
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
    if rule_of(folder).is_some() {
        return None;
    }
    Some(format!("{folder}: this folder has no line in the table of xtask/src/layers.rs"))
}

/// Finds forbidden imports of other members. Tests count too: a test that needs a sibling belongs in `tests`.
fn among_members(folder: &str, package: &Package, members: &Members<'_>) -> Vec<String> {
    let (may, in_tests) = rule_of(folder).unwrap_or_default();
    let inside = format!("{folder}/");
    let mut breaches = Vec::new();
    for (other, imported) in members {
        if *other == folder || is_allowed(other, &may) || other.starts_with(&inside) {
            continue;
        }
        let mut imports = package.dependencies.iter().filter(|import| import.name == *imported.name);
        let in_tests_allowed = is_allowed(other, &in_tests);
        if imports.all(|import| in_tests_allowed && import.kind == DependencyKind::Development) {
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

/// Finds imports of [`TESTING`] with a version. Without one, cargo leaves the import out of the published crate, so that of two
/// crates that test each other neither has to be published first.
fn published_tests(folder: &str, package: &Package) -> Vec<String> {
    let versioned = package.dependencies.iter().filter(|import| {
        import.name == TESTING
            && import.kind == DependencyKind::Development
            && !import.req.comparators.is_empty()
    });
    versioned.map(|_| format!("{folder}: must not import {TESTING} by a version; a path is enough")).collect()
}

/// As [`matches_any`], but only a backend itself may import a crate inside its folder.
fn is_allowed(other: &str, may: &[&str]) -> bool {
    let is_inner = other.split('/').count() > 2;
    may.contains(&other) || !is_inner && matches_any(other, may)
}

/// Finds forbidden imports of external crates, tests aside.
fn of_external(folder: &str, package: &Package) -> Vec<String> {
    let mut breaches = Vec::new();
    for import in package.dependencies.iter().filter(|import| import.kind != DependencyKind::Development) {
        let Some((_, only)) = EXTERNAL.iter().find(|(crates, _)| is_one_of(&import.name, crates)) else {
            continue;
        };
        if !matches_any(folder, only) {
            breaches.push(format!("{folder}: must not import {}; only {} may", import.name, listed(only)));
        }
    }
    breaches
}

/// Returns whether `name` is one of `crates` or a part of one, as symphonia-core is.
fn is_one_of(name: &str, crates: &[&str]) -> bool {
    crates
        .iter()
        .any(|whole| name.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')))
}

/// Finds forbidden crates among all that a folder's crate depends on.
fn indirect(folder: &str, package: &Package, metadata: &Metadata) -> Vec<String> {
    let (crates, folders) = NOT_EVEN_INDIRECTLY;
    if !matches_any(folder, folders) {
        return Vec::new();
    }
    let found = below(&package.id, metadata);
    let found = metadata.packages.iter().filter(|package| found.contains(&package.id));
    found
        .filter(|package| crates.contains(&package.name.as_str()))
        .map(|package| format!("{folder}: depends on {}; `cargo tree -p` shows the path", package.name))
        .collect()
}

/// Returns every package that a build of `start` needs.
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

/// Returns folders for readers: a pattern that ends in `/` gets a `*`.
fn listed(folders: &[&str]) -> String {
    if folders.is_empty() {
        return "none".to_owned();
    }
    let mut listed = Vec::new();
    for folder in folders {
        listed.push(if folder.ends_with('/') { format!("{folder}*") } else { (*folder).to_owned() });
    }
    listed.join(", ")
}

/// Returns the rules as tables, for the documentation.
pub(crate) fn tables() -> String {
    let mut tables = "| folder | of ours, it may import | in tests also |\n|---|---|---|\n".to_owned();
    for (folder, may, in_tests) in MEMBERS {
        tables += &format!("| {} | {} | {} |\n", listed(&[folder]), listed(may), listed(in_tests));
    }
    tables += &format!("\nAny part: {}.\n", listed(&PARTS));
    tables += "\n| of others | may be imported by |\n|---|---|\n";
    tables.extend(EXTERNAL.map(|(crates, only)| format!("| {} | {} |\n", crates.join(", "), listed(only))));
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
    if breaches.is_empty() {
        println!("layers: every import is allowed");
        Ok(())
    } else {
        Err(Error::new(format!("layers: {} imports are not allowed", breaches.len())))
    }
}
