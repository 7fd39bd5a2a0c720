//! Checks house rules that no compiler checks, each with a function over the tree of files. It reads texts, not syntax: the code is
//! formatted by rustfmt, so indentation shows where a function ends.

mod functions;
mod invariants;
mod manifests;
mod prose;
mod registries;
mod releases;
mod sources;

use crate::{Finding, Tree};

type Rule = fn(&Tree) -> Vec<Finding>;

/// Every rule.
const RULES: [Rule; 17] = [
    functions::long_functions,
    invariants::invariants,
    invariants::named_tests,
    manifests::described,
    manifests::lints_inherited,
    manifests::one_compiler,
    prose::foreign_hosts,
    prose::home_paths,
    prose::licences,
    prose::whitespace,
    registries::families,
    releases::commands,
    releases::package_files,
    releases::targets,
    sources::headers,
    sources::long_files,
    sources::prints,
];

/// Returns whatever breaks a rule, sorted by place.
pub fn untidy(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<_> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort_unstable();
    findings
}
