//! The documentation as docs.rs builds it: all features, and with `--cfg docsrs` the feature of each item.

use cargo_metadata::{Metadata, Package};
use serde_json::json;

use crate::published::{cargo_for_published, published, with_unstable_rustdoc};
use crate::{Finding, Result, command, metadata, report};

/// Builds the documentation of published packages as docs.rs does, warnings denied.
#[derive(Debug, clap::Args)]
pub struct DocsRs {}

impl DocsRs {
    /// Builds the documentation.
    ///
    /// # Errors
    /// When a manifest has other settings for docs.rs, or the documentation has warnings.
    pub fn run(&self) -> Result {
        let metadata = metadata()?;
        report("docs-rs", &other_settings(&metadata))?;
        let mut doc = cargo_for_published(&["doc", "--no-deps", "--all-features", "--locked"], &metadata);
        doc.env("RUSTDOCFLAGS", "--cfg docsrs -D warnings");
        command::run(with_unstable_rustdoc(&mut doc))
    }
}

/// Finds packages whose settings for docs.rs are not those that [`DocsRs`] builds with.
fn other_settings(metadata: &Metadata) -> Vec<Finding> {
    let expected = json!({ "all-features": true, "rustdoc-args": ["--cfg", "docsrs"] });
    let mut findings = Vec::new();
    for package in published(metadata) {
        if package.metadata.pointer("/docs/rs") != Some(&expected) {
            findings.push(Finding::new(
                manifest(package, metadata),
                1,
                "[package.metadata.docs.rs] must be `all-features = true` and `rustdoc-args = [\"--cfg\", \"docsrs\"]`",
            ));
        }
    }
    findings
}

/// Returns where a package's manifest is, relative to the root.
fn manifest(package: &Package, metadata: &Metadata) -> String {
    let path = &package.manifest_path;
    path.strip_prefix(&metadata.workspace_root).unwrap_or(path).as_str().replace('\\', "/")
}
