//! Finds markers in text that is still arriving.

/// Returns the first of `markers` in `text`, and where it begins. Of several that begin there, it is the longest.
pub(super) fn first_marker<'m>(
    text: &str,
    markers: impl Iterator<Item = &'m str>,
) -> Option<(usize, &'m str)> {
    let found = markers.filter_map(|marker| Some((text.find(marker)?, marker)));
    found.min_by_key(|(at, marker)| (*at, usize::MAX - marker.len()))
}

/// Returns where the end of `text` begins that may become one of `markers`: 1 in `x<a` for the marker `<abc>`.
pub(crate) fn hold_from<'m>(text: &str, markers: impl IntoIterator<Item = &'m str>) -> usize {
    text.len() - markers.into_iter().map(|marker| begun_length(text, marker)).max().unwrap_or(0)
}

/// Returns the length of the longest incomplete beginning of `marker` that `text` ends with.
fn begun_length(text: &str, marker: &str) -> usize {
    let mut lengths = (1..marker.len()).rev();
    let begun = lengths.find(|length| marker.get(..*length).is_some_and(|start| text.ends_with(start)));
    begun.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{first_marker, hold_from};

    #[test]
    fn the_first_and_then_the_longest_counts() {
        let first = |text| first_marker(text, ["<b>", "<a", "<a>"].into_iter());
        assert_eq!(first("x<a><b>"), Some((1, "<a>")));
        assert_eq!(first("x<b><a>"), Some((1, "<b>")));
        assert_eq!(first("<<"), None);
    }

    #[test]
    fn only_what_may_become_a_marker_is_held() {
        assert_eq!(hold_from("x<", ["<b>", "<abc>"]), 1);
        assert_eq!(hold_from("x<ab", ["<b>", "<abc>"]), 1);
        assert_eq!(hold_from("x<b>", ["<b>", "<abc>"]), 4);
        assert_eq!(hold_from("é", ["<é>"]), 2);
        assert_eq!(hold_from("<é", ["<é>"]), 0);
    }
}
