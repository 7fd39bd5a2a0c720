//! A page of which one part is generated. Knows the markers around that part, not what it says.

use crate::{Error, File, Result, Tree};

/// Returns `page` with `generated` between its two markers.
///
/// # Errors
/// When the page or its markers are missing.
pub(super) fn between(tree: &Tree, page: &str, markers: (&str, &str), generated: &str) -> Result<File> {
    let known = tree.get(page).ok_or_else(|| Error::new(format!("{page} does not exist")))?;
    let (start, end) = markers;
    let cut = || {
        let (before, rest) = known.text.split_once(start)?;
        let (_old, after) = rest.split_once(end)?;
        Some((before, after))
    };
    let (before, after) = cut().ok_or_else(|| Error::new(format!("{page} has no place for {start:?}")))?;
    let text = format!("{before}{start}\n{generated}\n{end}{after}");
    Ok(File { path: page.to_owned(), text })
}
