//! Finds the name that a person meant who typed another one.

/// Returns the name that is nearest to a word: one that begins with it, or that differs by few characters.
pub(crate) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
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
        0..=3 => 1,
        4..=9 => 2,
        _ => 3,
    }
}

/// Returns how many characters must be added, removed or replaced to make one text of the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    // The distances of the part of `from` that was read to every prefix of `to`.
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (read, character) in from.chars().enumerate() {
        let mut next = vec![read + 1];
        let mut left = read + 1;
        for (pair, other) in row.windows(2).zip(&to) {
            let [diagonal, above] = pair else { continue };
            let replaced = diagonal + usize::from(character != *other);
            left = replaced.min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
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
        assert_eq!((distance("kitten", "sitting"), distance("", "abc")), (3, 3));
    }
}
