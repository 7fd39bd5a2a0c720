//! Names for what differs between runs: ids, dates and times.

/// How many characters of an id are shown at least.
const FEWEST: usize = 8;

/// The day and the time of every transcript.
const DAY: &str = "2026-01-15";
const TIME: &str = "10:24";

/// The ids of a run, each with the one that is shown in its place.
#[derive(Default)]
pub(super) struct Names {
    conversations: Vec<(String, String)>,
    messages: Vec<(String, String)>,
}

impl Names {
    pub(super) fn learn_conversation(&mut self, id: &str) {
        let number = self.conversations.len() as u64;
        learn(&mut self.conversations, id, number);
    }

    pub(super) fn learn_message(&mut self, id: &str) {
        let number = self.messages.len() as u64;
        learn(&mut self.messages, id, 1000 + number);
    }

    /// Puts the ids that are shown in the place of those of this run, also where an id is shown by its end.
    pub(super) fn fake(&self, text: &str) -> String {
        replaced(text, |word| {
            let (real, fake) = self.all().find(|(real, _)| real.ends_with(word))?;
            Some(fake[real.len() - word.len()..].to_owned())
        })
    }

    /// Puts the ids of this run in the place of those that are shown.
    pub(super) fn real(&self, text: &str) -> String {
        replaced(text, |word| Some(self.all().find(|(_, fake)| fake.ends_with(word))?.0.clone()))
    }

    fn all(&self) -> impl Iterator<Item = &(String, String)> {
        self.conversations.iter().chain(&self.messages)
    }
}

fn learn(known: &mut Vec<(String, String)>, id: &str, number: u64) {
    let is_generated = id.len() == 36 && id.chars().all(is_of_id);
    if is_generated && known.iter().all(|(real, _)| real != id) {
        // The first steps of SplitMix64, so that the ends look as random as they are.
        let mut bits = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let end = (bits ^ (bits >> 27)) & 0xFFFF_FFFF_FFFF;
        known.push((id.to_owned(), format!("019bc0de-1024-7000-8000-{end:012x}")));
    }
}

fn is_of_id(character: char) -> bool {
    matches!(character, '0'..='9' | 'a'..='f' | '-')
}

/// Replaces the words that an id may consist of.
fn replaced(text: &str, other: impl Fn(&str) -> Option<String>) -> String {
    let mut made = String::new();
    for piece in text.split_inclusive(|character| !is_of_id(character)) {
        let word = piece.trim_end_matches(|character| !is_of_id(character));
        let known = if word.len() >= FEWEST { other(word) } else { None };
        made += known.as_deref().unwrap_or(word);
        made += &piece[word.len()..];
    }
    made
}

/// Replaces dates, times and how long ago something was.
pub(super) fn without_times(text: &str) -> String {
    let text = with_shape(text, "0000-00-00", DAY);
    let text = with_shape(&text, "00:00:00", "10:24:00");
    let text = with_shape(&text, "00:00", TIME);
    let mut made = String::new();
    for line in text.split_inclusive('\n') {
        made += &match line.find(" seconds ago").or_else(|| line.find(" minutes ago")) {
            Some(at) => {
                let before = line[..at].trim_end_matches(|digit: char| digit.is_ascii_digit());
                format!("{before}just now{}", &line[at + " seconds ago".len()..])
            }
            None => line.to_owned(),
        };
    }
    made
}

/// Replaces texts of a shape in which 0 is a digit.
fn with_shape(text: &str, shape: &str, replacement: &str) -> String {
    let fits = |at: usize| {
        let found = text.get(at..at + shape.len())?;
        let mut pairs = found.bytes().zip(shape.bytes());
        pairs
            .all(|(byte, wanted)| if wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted })
            .then_some(())
    };
    let mut made = String::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let is_within_word = made.ends_with(|before: char| before.is_ascii_hexdigit() || before == ':');
        if !is_within_word && fits(at).is_some() {
            made += replacement;
            at += shape.len();
        } else {
            made.push(character);
            at += character.len_utf8();
        }
    }
    made
}
