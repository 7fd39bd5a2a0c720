//! Short forms of generated ids: an id is shown by its end, and found by its beginning or its end.

/// The fewest characters of a short form that is typed.
const FEWEST: usize = 4;

/// The fewest characters of a short form that is shown.
const SHOWN: usize = 8;

/// The length of a UUID with its hyphens.
const UUID: usize = 36;

/// What precedes the digest in the ids of imported conversations.
const IMPORTED: &str = "import-";

/// How many digits follow it.
const DIGEST: usize = 16;

/// Short forms for ids that are shown together.
///
/// A short form is the end of an id, of 8 characters or as many as distinguish it from the others. Ids of one hour begin
/// alike, since they begin with the time; the last 8 digits of each are random. So a short form is very likely unique
/// among all ids, and not only among these. Only generated ids have one: UUIDs, and `import-` with a digest. Other
/// names stay whole.
///
/// [`ConversationStoreExt::named`](crate::store::ConversationStoreExt::named) and
/// [`Tree::find`](crate::tree::Tree::find) accept short forms.
///
/// ```
/// use alloquy_core::short_ids::ShortIds;
///
/// let ids = ["0197a3c1-52a0-7000-8000-00004fc9d2ab", "0197a3c1-52a0-7000-8000-000121b0c3e1", "tea"];
/// let short = ShortIds::of(ids);
/// assert_eq!(ids.map(|id| short.short(id)), ["4fc9d2ab", "21b0c3e1", "tea"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ShortIds {
    /// The generated ids from their last character to their first, sorted: ids with a common end are neighbours.
    reversed: Vec<String>,
}

impl ShortIds {
    /// Prepares the short forms of ids.
    pub fn of(ids: impl IntoIterator<Item = impl ToString>) -> Self {
        let ids = ids.into_iter().map(|id| id.to_string());
        let mut reversed: Vec<_> = ids.filter(|id| is_generated(id)).map(|id| backwards(&id)).collect();
        reversed.sort_unstable();
        reversed.dedup();
        Self { reversed }
    }

    /// Returns the short form of one of the ids.
    #[must_use]
    pub fn short<'a>(&self, id: &'a str) -> &'a str {
        if !is_generated(id) {
            return id;
        }
        let own = backwards(id);
        let place = self.reversed.partition_point(|other| *other < own);
        let before = place.checked_sub(1).and_then(|place| self.reversed.get(place));
        let after = self.reversed.iter().skip(place).find(|other| **other != own);
        let shared = before.into_iter().chain(after).map(|other| common_start(&own, other)).max();
        let length = shared.map_or(SHOWN, |shared| SHOWN.max(shared + 1));
        let end = id.get(id.len().saturating_sub(length)..).unwrap_or(id);
        // A form that begins with a hyphen would look like a flag, and one character less may not be unique.
        if end.starts_with('-') { id.get(id.len() - end.len() - 1..).unwrap_or(id) } else { end }
    }
}

fn backwards(id: &str) -> String {
    id.chars().rev().collect()
}

fn common_start(left: &str, right: &str) -> usize {
    left.bytes().zip(right.bytes()).take_while(|(left, right)| left == right).count()
}

/// Returns whether an id was generated, so that it may be shortened. Such an id is ASCII.
pub(crate) fn is_generated(id: &str) -> bool {
    if let Some(digest) = id.strip_prefix(IMPORTED) {
        return digest.len() == DIGEST && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    id.len() == UUID && id.bytes().enumerate().all(|(place, byte)| is_of_uuid(place, byte))
}

fn is_of_uuid(place: usize, byte: u8) -> bool {
    match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    }
}

/// Returns whether a text may be the short form of an id.
pub(crate) fn may_be_short(text: &str) -> bool {
    let digits = text.strip_prefix(IMPORTED).unwrap_or(text);
    let is_of_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_of_digits && text.len() >= FEWEST && text.len() < UUID
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_generated_ids_are_short() {
        let generated = ["0197a3c1-52a0-7000-8000-00004fc9d2ab", "import-e3b0c44298fc1c14"];
        let names = ["tea", "import-tea", "import-e3b0", "0197a3c152a0700080000000 4fc9d2ab", "", "é"];
        assert!(generated.iter().all(|id| is_generated(id)));
        assert!(!names.iter().any(|name| is_generated(name)));
        let short = ShortIds::of(generated.into_iter().chain(names));
        assert_eq!(generated.map(|id| short.short(id)), ["4fc9d2ab", "98fc1c14"]);
        assert_eq!(names.map(|name| short.short(name)), names);
    }

    #[test]
    fn a_short_form_is_unique_and_never_begins_with_a_hyphen() {
        let ids = ["00000000-0000-7000-8000-aaaaaaaaaaaa", "00000000-0000-7000-8001-aaaaaaaaaaaa"];
        let short = ShortIds::of(ids);
        assert_eq!(ids.map(|id| short.short(id)), ["0-aaaaaaaaaaaa", "1-aaaaaaaaaaaa"]);
        let ids = ["00000000-0000-7000-8000-1aaaaaaaaaaa", "00000000-0000-7000-8000-2aaaaaaaaaaa"];
        let short = ShortIds::of(ids.iter().chain(&ids));
        assert_eq!(ids.map(|id| short.short(id)), ["1aaaaaaaaaaa", "2aaaaaaaaaaa"]);
    }

    #[test]
    fn a_short_form_has_at_least_four_digits() {
        let is_short = ["0197", "7000-8000", "import-e3b0", "-00004fc9d2ab"].map(may_be_short);
        let is_not = ["019", "import-x", "tea", "", "0197a3c1-52a0-7000-8000-00004fc9d2ab"].map(may_be_short);
        assert_eq!((is_short, is_not), ([true; 4], [false; 5]));
    }
}
