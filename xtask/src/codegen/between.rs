//! Replaces the generated part of a page, which is between two markers.

use crate::{Error, File, Result, Tree};

/// Returns `page` with `generated` between its two markers.
///
/// # Errors
/// When the page or its markers are missing.
pub(super) fn between(tree: &Tree, page: &str, markers: (&str, &str), generated: &str) -> Result<File> {
    let known = tree.get(page).ok_or_else(|| Error::new(format!("{page} does not exist")))?;
    replaced(known, markers, generated)
}

/// Returns a page with `generated` between two of its markers.
///
/// # Errors
/// When the markers are missing.
pub(super) fn replaced(page: &File, markers: (&str, &str), generated: &str) -> Result<File> {
    let (start, end) = markers;
    let (before, rest) = page.text.split_once(start).ok_or_else(|| no_place(&page.path, start))?;
    let (_old, after) = rest.split_once(end).ok_or_else(|| no_place(&page.path, start))?;
    let text = format!("{before}{start}\n{generated}\n{end}{after}");
    Ok(File { path: page.path.clone(), text })
}

fn no_place(page: &str, start: &str) -> Error {
    Error::new(format!("{page} has no place for {start:?}"))
}
