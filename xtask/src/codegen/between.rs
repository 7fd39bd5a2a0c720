//! Replaces the generated part of a page, which is between two markers.

use crate::{Error, File, Result, Tree};

/// Returns `page` with `generated` between its two markers.
///
/// # Errors
/// When the page or its markers are missing.
pub(super) fn between(tree: &Tree, page: &str, markers: (&str, &str), generated: &str) -> Result<File> {
    let known = tree.get(page).ok_or_else(|| Error::new(format!("{page} does not exist")))?;
    let (start, end) = markers;
    let (before, rest) = known.text.split_once(start).ok_or_else(|| no_place(page, start))?;
    let (_old, after) = rest.split_once(end).ok_or_else(|| no_place(page, start))?;
    let text = format!("{before}{start}\n{generated}\n{end}{after}");
    Ok(File { path: page.to_owned(), text })
}

fn no_place(page: &str, start: &str) -> Error {
    Error::new(format!("{page} has no place for {start:?}"))
}
