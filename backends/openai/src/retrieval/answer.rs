//! Answers with an item for each text, and the texts that they are for.

use alloquy_core::{Error, ErrorKind, Result};

/// How many bytes an answer may have besides its items.
pub(super) const FRAME: usize = 64 << 10;

/// Returns items in the order of their indices, one for each of `count` texts.
///
/// # Errors
/// [`ErrorKind::Backend`] if an index is missing, occurs twice or is too large.
pub(super) fn by_index<T>(
    items: impl IntoIterator<Item = (usize, T)>,
    count: usize,
    address: &str,
) -> Result<Vec<T>> {
    let mut places: Vec<Option<T>> = Vec::new();
    places.resize_with(count, || None);
    for (index, item) in items {
        let Some(place) = places.get_mut(index) else {
            return Err(wrong(address, &format!("an item of index {index}"), count));
        };
        if place.replace(item).is_some() {
            return Err(wrong(address, &format!("two items of index {index}"), count));
        }
    }
    let mut ordered = Vec::with_capacity(count);
    for (index, item) in places.into_iter().enumerate() {
        let Some(item) = item else {
            return Err(wrong(address, &format!("no item of index {index}"), count));
        };
        ordered.push(item);
    }
    Ok(ordered)
}

fn wrong(address: &str, found: &str, count: usize) -> Error {
    let message = format!(
        "{address} returned {found} for {count} texts: it must return one for each, with indices from 0 on"
    );
    Error::new(ErrorKind::Backend, message)
}

/// Returns the first characters of a text that has more than `most`.
pub(super) fn cut(text: &str, most: Option<usize>) -> Option<&str> {
    let (end, _) = text.char_indices().nth(most?)?;
    text.get(..end)
}

/// Checks that a setting is not zero.
///
/// # Errors
/// [`ErrorKind::Invalid`] if it is.
pub(super) fn check_positive(setting: &str, value: Option<usize>) -> Result<()> {
    if value == Some(0) {
        let message = format!("`{setting}` is 0: set at least 1, or leave it out");
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    Ok(())
}
