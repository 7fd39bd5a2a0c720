//! Links inside the documentation: each leads to a file that is there, and each anchor to a heading. Links to
//! elsewhere are not followed: a check that needs the network fails for reasons of its own.

use std::collections::BTreeMap;

use crate::{File, Finding, Tree};

/// Returns the links of README, CHANGELOG, CONTRIBUTING and docs/ that lead nowhere.
pub fn broken_links(tree: &Tree) -> Vec<Finding> {
    let documents = tree.files.iter().filter(|file| {
        let is_front = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].contains(&file.path.as_str());
        is_front || file.path.starts_with("docs/") && file.is_a(&["md"])
    });
    documents.flat_map(|file| broken_links_of(tree, file)).collect()
}

fn broken_links_of(tree: &Tree, file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in prose(file) {
        for target in targets(&without_code(line)) {
            let broken = broken(tree, file, &target);
            findings.extend(broken.map(|sentence| Finding::new(&file.path, number, sentence)));
        }
    }
    findings
}

/// Says what is wrong with a link, if anything.
fn broken(tree: &Tree, from: &File, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => Some(from.path.clone()),
        path => resolved(&from.path, path),
    };
    let Some(path) = path else {
        return Some(format!("`{target}` leads out of the repository"));
    };
    if !tree.root.join(&path).exists() {
        return Some(format!("`{target}` leads to {path:?}, which does not exist"));
    }
    let document = tree.get(&path).filter(|file| !anchor.is_empty() && file.is_a(&["md"]))?;
    let missing = !anchors(document).any(|known| known == anchor);
    missing.then(|| format!("`{target}`: {path} has no heading `#{anchor}`"))
}

/// Resolves `target` from the page `from`; `None` for a path above the root.
fn resolved(from: &str, target: &str) -> Option<String> {
    let mut names: Vec<_> = from.split('/').collect();
    names.pop();
    for name in target.trim_end_matches('/').split('/') {
        match name {
            "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

/// Returns the lines outside fenced blocks.
fn prose(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut is_fenced = false;
    file.lines().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        !is_fenced && !is_fence
    })
}

/// Returns the line without the text between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// Returns the targets of `[text](target)`, `![text](target)` and `[name]: target`.
fn targets(line: &str) -> Vec<String> {
    let mut targets: Vec<_> = line.split("](").skip(1).map(target).collect();
    if let Some((_, text)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
        targets.push(target(text.trim_start()));
    }
    targets
}

/// Returns the target that `text` begins with.
fn target(text: &str) -> String {
    let text = text.trim_start_matches('<');
    let end = text.find([')', ' ', '>']).unwrap_or(text.len());
    text.split_at(end).0.to_owned()
}

/// Returns the anchors of a document's headings, as on the web: a second heading with the same text gets `-1`.
fn anchors(document: &File) -> impl Iterator<Item = String> {
    let mut seen = BTreeMap::new();
    let headings = prose(document).filter_map(|(_, line)| {
        let text = line.trim_start_matches('#');
        (line.len() > text.len()).then(|| text.strip_prefix(' ')).flatten()
    });
    headings.map(move |heading| {
        let anchor = slug(heading);
        let times = seen.entry(anchor.clone()).and_modify(|times| *times += 1).or_insert(0);
        match times {
            0 => anchor,
            times => format!("{anchor}-{times}"),
        }
    })
}

/// Returns the anchor of a heading: lower case, hyphens for spaces, no punctuation, and only the text of a link.
fn slug(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading.trim();
    while let Some((before, (_target, after))) =
        rest.split_once("](").and_then(|(before, link)| Some((before, link.split_once(')')?)))
    {
        text += before;
        rest = after;
    }
    text += rest;
    let kept = text.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
    kept.flat_map(char::to_lowercase)
        .map(|character| if character == ' ' { '-' } else { character })
        .collect()
}
