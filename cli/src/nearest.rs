//! Finds the name that a person meant who typed another one.

/// Returns the name that is nearest to a word: one that begins with it, or that differs by few characters.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    for name in names {
        let distance =
            if word.chars().count() > 2 && name.starts_with(&word) { 1 } else { distance(&word, name) };
        if distance <= allowed(&word) && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

/// Returns how many characters of a word may be wrong.
fn allowed(word: &str) -> usize {
    match word.chars().count() {
        0..=5 => 1,
        6..=9 => 2,
        _ => 3,
    }
}

/// Returns how many characters must be added, removed, replaced or swapped with the next to make one text of the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    // The distance of every prefix of one text to every prefix of the other.
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for row in 1..=from.len() {
        let mut distances = vec![row];
        for column in 1..=to.len() {
            let is_same = from.get(row - 1) == to.get(column - 1);
            let replaced = at(&rows, row - 1, column - 1) + usize::from(!is_same);
            let removed = at(&rows, row - 1, column) + 1;
            let added = distances.last().copied().unwrap_or_default() + 1;
            let mut least = replaced.min(removed).min(added);
            let is_swapped = row > 1
                && column > 1
                && from.get(row - 1) == to.get(column - 2)
                && from.get(row - 2) == to.get(column - 1);
            if is_swapped {
                least = least.min(at(&rows, row - 2, column - 2) + 1);
            }
            distances.push(least);
        }
        rows.push(distances);
    }
    at(&rows, from.len(), to.len())
}

/// Returns a known distance.
fn at(rows: &[Vec<usize>], row: usize, column: usize) -> usize {
    rows.get(row).and_then(|row| row.get(column)).copied().unwrap_or(usize::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_by_little_is_found() {
        let names = || ["temperature", "top-k", "top-p", "seed"].into_iter();
        assert_eq!(nearest("temprature", names()), Some("temperature"));
        assert_eq!(nearest("temp", names()), Some("temperature"));
        assert_eq!(nearest("Seeds", names()), Some("seed"));
        assert_eq!(nearest("colour", names()), None);
        assert_eq!(nearest("sede", names()), Some("seed"));
        assert_eq!((distance("kitten", "sitting"), distance("", "abc")), (3, 3));
    }
}
