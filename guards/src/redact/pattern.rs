//! A pattern of what is removed, and what replaces it.

use std::fmt;

use alloquy_core::{Error, ErrorKind, Result};
use regex::{Regex, RegexBuilder};
use sha2::{Digest as _, Sha256};

use super::candidates::candidates;
use super::prefixes::unfinished;

/// The longest match that a pattern may have, in bytes. Where a match has begun, a stream holds back so much at most.
const LONGEST: usize = 16 * 1024;

/// How large a compiled pattern may be, in bytes.
const COMPILED: usize = 64 * 1024 * 1024;

/// Decides whether a match of a pattern is what the pattern means.
///
/// It receives the character before the match, if there is one, and the match. It returns how many bytes of the match are removed,
/// or `None` if nothing is. [`Pattern::checked`] has an example.
pub type MatchCheck = fn(before: Option<char>, found: &str) -> Option<usize>;

/// A pattern of texts to remove, with a name and a [`Strategy`].
///
/// The notation is that of the crate `regex`. Each match must have a longest length, or nothing could ever be shown: `\d{1,19}`
/// instead of `\d+`.
///
/// ```
/// use alloquy_guards::redact::{Pattern, Redactor, Strategy};
///
/// let ticket = Pattern::new("ticket", r"\bT-[0-9]{4,8}\b").strategy(Strategy::Mask { keep: 2 });
/// let redactor = Redactor::new([ticket])?;
/// assert_eq!(redactor.redact("See T-123456.")?, "See *-****56.");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pattern {
    name: String,
    regex: String,
    check: Option<MatchCheck>,
    strategy: Strategy,
}

impl Pattern {
    /// Creates a pattern whose matches are replaced by its name in brackets.
    pub fn new(name: impl Into<String>, regex: impl Into<String>) -> Self {
        Self { name: name.into(), regex: regex.into(), check: None, strategy: Strategy::Name }
    }

    /// Sets what replaces a match.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Adds a check of each match, such as a checksum.
    ///
    /// ```
    /// use alloquy_guards::redact::{Pattern, Redactor};
    ///
    /// fn is_even(_: Option<char>, found: &str) -> Option<usize> {
    ///     found.ends_with(['0', '2', '4', '6', '8']).then_some(found.len())
    /// }
    ///
    /// let redactor = Redactor::new([Pattern::new("even", "[0-9]{2}").checked(is_even)])?;
    /// assert_eq!(redactor.redact("11 12 13")?, "11 [even] 13");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn checked(mut self, check: MatchCheck) -> Self {
        self.check = Some(check);
        self
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn compile(self) -> Result<Compiled> {
        let regex = &self.regex;
        let parsed = regex_syntax::parse(regex).map_err(|source| {
            invalid(format!("pattern {regex:?} is not a regular expression")).with_source(source)
        })?;
        let properties = parsed.properties();
        let Some(longest) = properties.maximum_len() else {
            return Err(invalid(format!(
                "pattern {regex:?} has no longest match, so nothing could be shown: write a limit such as {{1,64}} \
                 instead of * or +"
            )));
        };
        if longest > LONGEST {
            return Err(invalid(format!(
                "pattern {regex:?} matches up to {longest} bytes: at most {LONGEST}, because a stream holds back so much"
            )));
        }
        if properties.minimum_len().unwrap_or(0) == 0 {
            return Err(invalid(format!(
                "pattern {regex:?} matches the empty text: let it match a character at least"
            )));
        }
        let matches = build(regex, regex)?;
        Ok(Compiled {
            name: self.name,
            matches,
            candidates: candidates(&parsed),
            tail: unfinished(&parsed),
            longest,
            check: self.check,
            strategy: self.strategy,
        })
    }
}

/// Compiles the pattern of what may be a match of any pattern: its first match begins no later than the first match of a pattern.
pub(super) fn all_candidates(patterns: &[Compiled]) -> Result<Regex> {
    let each: Vec<_> = patterns.iter().map(|pattern| pattern.candidates.as_str()).collect();
    build_together(&each)
}

/// Compiles the pattern of the tails of all patterns: the first match begins where the longest tail does.
pub(super) fn all_tails(patterns: &[Compiled]) -> Result<Regex> {
    let each: Vec<_> = patterns.iter().map(|pattern| pattern.tail.as_str()).collect();
    let together = build_together(&each);
    if together.is_err() {
        // The error names the pattern that is too large, if it is one alone.
        for pattern in patterns {
            build(&pattern.tail, pattern.matches.as_str())?;
        }
    }
    together
}

/// Compiles one pattern of several, which together may be as large as each alone.
fn build_together(patterns: &[&str]) -> Result<Regex> {
    let limit = COMPILED.saturating_mul(patterns.len().max(1));
    RegexBuilder::new(&patterns.join("|")).size_limit(limit).build().map_err(|source| {
        let words = "the patterns cannot be compiled together: lower their repetition counts";
        invalid(words.to_owned()).with_source(source)
    })
}

fn build(pattern: &str, shown: &str) -> Result<Regex> {
    RegexBuilder::new(pattern).size_limit(COMPILED).build().map_err(|source| {
        let words = format!("pattern {shown:?} cannot be compiled: lower its repetition counts");
        invalid(words).with_source(source)
    })
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

/// A pattern that is ready to match.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) name: String,
    pub(super) matches: Regex,
    /// The regular expression of what may be a match.
    candidates: String,
    /// The regular expression of the end of a text where a match may continue.
    tail: String,
    pub(super) longest: usize,
    check: Option<MatchCheck>,
    strategy: Strategy,
}

impl Compiled {
    /// Returns how many bytes of a match are removed.
    pub(super) fn accepted(&self, text: &str, start: usize, end: usize) -> Option<usize> {
        let found = text.get(start..end)?;
        let Some(check) = self.check else { return Some(found.len()) };
        let before = text.get(..start)?.chars().next_back();
        let length = check(before, found)?;
        (length > 0 && found.is_char_boundary(length)).then_some(length)
    }

    /// Returns what replaces a match.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the name of the pattern where it blocks.
    pub(super) fn replacement(&self, found: &str) -> Result<String> {
        match &self.strategy {
            Strategy::Name => Ok(format!("[{}]", self.name)),
            Strategy::Replace(text) => Ok(text.clone()),
            Strategy::Mask { keep } => Ok(masked(found, *keep)),
            Strategy::Hash(key) => Ok(format!("[{}:{}]", self.name, key.code(found))),
            Strategy::Block => {
                let name = &self.name;
                let words = format!("the text contains {name:?}, which a guard blocks: ask without it");
                Err(invalid(words))
            }
        }
    }
}

/// What replaces a match.
///
/// ```
/// use alloquy_guards::redact::{HashKey, Redactor, Strategy, recognizers};
///
/// let hashed = Strategy::Hash(HashKey::new("a secret of the host"));
/// let redactor = Redactor::new([recognizers::email().strategy(hashed)])?;
/// let text = redactor.redact("ann@example.org, bob@example.org, ann@example.org")?;
/// let codes: Vec<_> = text.split(", ").collect();
/// assert_eq!(codes[0], codes[2]);
/// assert_ne!(codes[0], codes[1]);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// The name of the pattern in brackets, such as `[email]`.
    #[default]
    Name,
    /// This text; an empty one removes the match.
    Replace(String),
    /// A `*` for each letter and digit except the last `keep`. A match with fewer than twice as many is masked wholly.
    Mask {
        /// How many letters and digits at the end stay.
        keep: usize,
    },
    /// The name and a code, which is the same for the same text and key. The text cannot be guessed without the key.
    Hash(HashKey),
    /// An error: the text is refused.
    Block,
}

fn masked(found: &str, keep: usize) -> String {
    let all = found.chars().filter(|one| one.is_alphanumeric()).count();
    let kept = if all >= 2 * keep { keep } else { 0 };
    let mut hidden = all - kept;
    let mut shown = String::with_capacity(found.len());
    for character in found.chars() {
        if character.is_alphanumeric() && hidden > 0 {
            hidden -= 1;
            shown.push('*');
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The secret of [`Strategy::Hash`]. It is never printed.
///
/// ```
/// use alloquy_guards::redact::HashKey;
///
/// assert_eq!(format!("{:?}", HashKey::new("secret")), "HashKey");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct HashKey(Vec<u8>);

impl HashKey {
    /// Creates a key from secret bytes: 16 random ones or more.
    pub fn new(secret: impl Into<Vec<u8>>) -> Self {
        Self(secret.into())
    }

    /// Returns 16 hexadecimal digits of the HMAC-SHA-256 of a text (RFC 2104).
    fn code(&self, text: &str) -> String {
        let mut block = [0_u8; 64];
        let key = if self.0.len() > block.len() { Sha256::digest(&self.0).to_vec() } else { self.0.clone() };
        for (place, byte) in block.iter_mut().zip(&key) {
            *place = *byte;
        }
        let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(text).finalize();
        let outer = Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize();
        outer.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for HashKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HashKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_without_a_longest_match_are_refused_with_advice() {
        for (regex, advice) in [
            ("a+", "{1,64}"),
            ("(?:ab)*c", "{1,64}"),
            ("a{0,3}", "a character at least"),
            ("[", "not a regular expression"),
            ("a{20000}", "at most 16384"),
        ] {
            let error = Pattern::new("test", regex).compile().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(advice), "{error}");
            assert!(error.to_string().contains(regex), "{error}");
        }
    }

    #[test]
    fn masks_keep_the_end_of_long_matches_only() {
        assert_eq!(masked("4111 1111 1111 1234", 4), "**** **** **** 1234");
        assert_eq!(masked("1234", 4), "****");
        assert_eq!(masked("", 4), "");
    }

    #[test]
    fn the_code_is_the_hmac_of_rfc_4231() {
        let code = HashKey::new("Jefe").code("what do ya want for nothing?");
        assert_eq!(code, "5bdcc146bf60754e");
        let long =
            HashKey::new(vec![0xaa; 131]).code("Test Using Larger Than Block-Size Key - Hash Key First");
        assert_eq!(long, "60e431591ee0b67f");
    }
}
