//! Finds the name that a person meant who typed another one.

/// Returns the name that is nearest to a word: one that begins with it, or that differs by few characters.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    let mut best: Option<(usize, &str)> = None;
    for name in names {
        let is_start = length > 2 && name.starts_with(&word);
        let distance = if is_start { 1 } else { strsim::osa_distance(&word, name) };
        if distance <= allowed(length) && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

/// Returns how many characters of a word of this length may be wrong.
fn allowed(length: usize) -> usize {
    match length {
        0..=5 => 1,
        6..=9 => 2,
        _ => 3,
    }
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
        assert_eq!(nearest("sede", names()), Some("seed"));
        assert_eq!(nearest("topk", names()), Some("top-k"));
        assert_eq!(nearest("colour", names()), None);
        assert_eq!(nearest("bark", names()), None);
    }
}
