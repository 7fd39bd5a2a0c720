//! The book: the pages of `docs/`, with a search, as a folder of web pages. Every link in it leads somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use mdbook_driver::MDBook;
use mdbook_driver::book::{Book as Pages, BookItem};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

use crate::{Error, Finding, Result, report, root};

/// Builds the book of `docs/` in `target/book`, and checks that every page is in it and every link leads somewhere.
#[derive(Debug, clap::Args)]
pub struct Book {}

impl Book {
    /// Builds the book, checks it, and prints where its first page is.
    ///
    /// # Errors
    /// When a page does not render, is not in `docs/SUMMARY.md`, or has a link that leads nowhere.
    pub fn run(&self) -> Result {
        let mut book = MDBook::load(root()).map_err(failed)?;
        book.with_preprocessor(Sources);
        book.build().map_err(failed)?;
        let folder = book.build_dir_for("html");
        let mut findings = missing_pages()?;
        findings.extend(broken_links(&folder)?);
        report("book", &findings)?;
        println!("{}", folder.join("index.html").display());
        Ok(())
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    // With `#`, the error's causes follow it.
    Error::new(format!("the book does not build: {error:#}"))
}

/// Writes links to files outside of `docs/` as text with the file's path: the book has pages alone.
struct Sources;

impl Preprocessor for Sources {
    fn name(&self) -> &str {
        "sources"
    }

    fn run(
        &self,
        _: &PreprocessorContext,
        mut pages: Pages,
    ) -> std::result::Result<Pages, mdbook_preprocessor::errors::Error> {
        pages.for_each_mut(|item| {
            if let BookItem::Chapter(chapter) = item {
                let depth = chapter.path.as_deref().map_or(0, |path| path.components().count() - 1);
                chapter.content = without_sources(&chapter.content, depth);
            }
        });
        Ok(pages)
    }
}

/// Replaces each `[text](../path)` that leads out of `docs/` by ``text (`path`)``; `depth` is how many folders below `docs/`
/// the page is.
fn without_sources(page: &str, depth: usize) -> String {
    let out = "../".repeat(depth + 1);
    let start = format!("]({out}");
    let mut replaced = String::with_capacity(page.len());
    let mut rest = page;
    while let Some(at) = rest.find(&start) {
        let (before, link) = rest.split_at(at);
        let target = link.get(start.len()..).unwrap_or_default();
        let Some(end) = target.find(')') else { break };
        let (path, after) = target.split_at(end);
        match opening(before) {
            Some(open) => {
                let text = before.get(open + 1..).unwrap_or_default();
                replaced.push_str(before.get(..open).unwrap_or_default());
                replaced.push_str(&named(text, path));
            }
            // An image, or a bracket that nothing opens: the text stays as it is.
            None => replaced.push_str(before),
        }
        rest = after.get(1..).unwrap_or_default();
    }
    replaced.push_str(rest);
    replaced
}

/// Returns where the bracket opens that ends at the end of `text`.
fn opening(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, sign) in text.char_indices().rev() {
        match sign {
            ']' => depth += 1,
            '[' if depth == 0 => return Some(at),
            '[' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn named(text: &str, path: &str) -> String {
    let path = path.split('#').next().unwrap_or_default().trim_end_matches('/');
    if text.trim_matches('`') == path { format!("`{path}`") } else { format!("{text} (`{path}`)") }
}

/// Finds the pages that the book leaves out.
fn missing_pages() -> Result<Vec<Finding>> {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md"))?;
    let mut findings = Vec::new();
    for folder in ["docs", "docs/decisions"] {
        for entry in fs::read_dir(root().join(folder))? {
            let path = entry?.path();
            let page = path.strip_prefix(root().join("docs"))?.display().to_string().replace('\\', "/");
            let is_page = page.ends_with(".md") && page != "SUMMARY.md";
            if is_page && !summary.contains(&format!("]({page})")) {
                findings.push(Finding::new(
                    "docs/SUMMARY.md",
                    1,
                    format!("the page {page:?} is not in the book"),
                ));
            }
        }
    }
    findings.sort();
    Ok(findings)
}

/// Finds the links of built pages that lead to no file, or to no heading of one.
fn broken_links(folder: &Path) -> Result<Vec<Finding>> {
    let mut pages = BTreeMap::new();
    read_pages(folder, folder, &mut pages)?;
    let mut findings = Vec::new();
    for (path, html) in &pages {
        // The page for printing has the links of all others; those of the page for errors begin at the server's root.
        if path.as_os_str() == "print.html" || path.as_os_str() == "404.html" {
            continue;
        }
        for target in values(html, "href").chain(values(html, "src")) {
            if let Some(sentence) = broken(folder, &pages, path, target) {
                findings.push(Finding::new(format!("target/book/{}", path.display()), 1, sentence));
            }
        }
    }
    Ok(findings)
}

fn read_pages(folder: &Path, below: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result {
    for entry in fs::read_dir(below)? {
        let path = entry?.path();
        if path.is_dir() {
            read_pages(folder, &path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            pages.insert(path.strip_prefix(folder)?.to_owned(), fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// Returns the values of an attribute, in the order of the page.
fn values<'a>(html: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let start = format!(" {attribute}=\"");
    let mut rest = html;
    std::iter::from_fn(move || {
        let at = rest.find(&start)? + start.len();
        let (value, after) = rest.get(at..)?.split_once('"')?;
        rest = after;
        Some(value)
    })
}

fn broken(folder: &Path, pages: &BTreeMap<PathBuf, String>, from: &Path, target: &str) -> Option<String> {
    let is_elsewhere = target.contains("://") || target.starts_with("mailto:") || target.starts_with("data:");
    if is_elsewhere || target.is_empty() {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { from.to_owned() } else { joined(from.parent()?, path) };
    if !folder.join(&path).is_file() {
        return Some(format!("{target:?} leads to {path:?}, which does not exist"));
    }
    let page = pages.get(&path)?;
    let has_anchor = values(page, "id").collect::<BTreeSet<_>>().contains(anchor);
    if anchor.is_empty() || has_anchor {
        None
    } else {
        Some(format!("{target:?}: {path:?} has no heading {anchor:?}"))
    }
}

/// Joins a path in a page to the page's folder, without `..`.
fn joined(folder: &Path, path: &str) -> PathBuf {
    let mut joined = folder.to_owned();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                joined.pop();
            }
            name => joined.push(name),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_book_become_text() {
        let page = "See [the trait](../core/src/store.rs#L3), [`README.md`](../README.md) and [storage](storage.md).";
        let expected = "See the trait (`core/src/store.rs`), `README.md` and [storage](storage.md).";
        assert_eq!(without_sources(page, 0), expected);
        let decision = "[turn](../turn.md), [the [core] crate](../../core)";
        assert_eq!(without_sources(decision, 1), "[turn](../turn.md), the [core] crate (`core`)");
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let html = r##"<h1 id="top"></h1><a href="#top">a</a><a href="#low">b</a><a href="gone.html">c</a>"##;
        fs::write(folder.path().join("page.html"), html).unwrap();
        let findings: Vec<_> =
            broken_links(folder.path()).unwrap().iter().map(|found| found.sentence.clone()).collect();
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings.first().unwrap().contains("#low") && findings.last().unwrap().contains("gone.html"));
    }
}
