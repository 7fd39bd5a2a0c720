//! How a reply thinks, and where its bytes begin and end thinking.

use alloquy_core::Result;
use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput};

/// How thinking begins and ends in a reply, and how long it may be; a grammar begins after it.
///
/// ```
/// use alloquy_core::prompt::Prompt;
/// use alloquy_engine::decoder::{DecodeRequest, GuidedDecoding, ThinkingRule};
///
/// let mut rule = ThinkingRule::new("<think>\n", "\n</think>\n\n");
/// rule.budget = Some(200);
/// let mut guided = GuidedDecoding::default();
/// guided.thinking = Some(rule);
/// let request = DecodeRequest::new(Prompt::default(), 500).guided(guided);
/// assert_eq!(request.guided.thinking.and_then(|rule| rule.budget), Some(200));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThinkingRule {
    /// The text that begins it, with the white space that the model writes around it.
    pub start: String,
    /// The text that ends it, likewise.
    pub end: String,
    /// Whether the prompt has begun thinking already. Otherwise the model may begin it.
    pub is_open: bool,
    /// The number of tokens after which it is ended.
    pub budget: Option<usize>,
}

impl ThinkingRule {
    /// Creates a rule for replies that may begin with thinking between these texts, of any length.
    pub fn new(start: impl Into<String>, end: impl Into<String>) -> Self {
        Self { start: start.into(), end: end.into(), is_open: false, budget: None }
    }
}

/// The stage of a reply.
///
/// [`ThinkingScanner`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkingStage {
    /// The reply may begin with thinking or with the answer.
    Opening,
    /// The model thinks.
    Thinking,
    /// The model answers.
    #[default]
    Answer,
}

impl ThinkingStage {
    /// Returns the first stage of a reply under a rule. [`ThinkingScanner`] has an example.
    #[must_use]
    pub fn first(rule: &ThinkingRule) -> Self {
        if rule.is_open { Self::Thinking } else { Self::Opening }
    }
}

/// The end of thinking, within a token.
///
/// [`ThinkingScanner`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThinkingEnd {
    /// The bytes of the token after the marker.
    pub rest: Vec<u8>,
    /// What a grammar needs before its first token.
    pub correction: ThinkingCorrection,
}

/// What the tokens around the end of thinking need, so that an answer can begin at a token.
///
/// [`ThinkingScanner`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThinkingCorrection {
    /// This text follows the token. It is the white space that the model writes after the marker, as far as it is missing.
    Append(String),
    /// This text replaces the token, which has a part of the answer too: `>{`.
    Replace(String),
}

/// Reads the thinking of a reply as it is generated.
///
/// ```
/// use alloquy_engine::decoder::{ThinkingCorrection, ThinkingRule, ThinkingScanner, ThinkingStage};
///
/// let mut rule = ThinkingRule::new("<think>\n", "\n</think>\n\n");
/// rule.budget = Some(3);
/// let mut scanner = ThinkingScanner::new(&rule);
/// assert_eq!(ThinkingStage::first(&rule), ThinkingStage::Opening);
/// assert_eq!(scanner.opens(b"<thi"), ThinkingStage::Opening);
/// assert_eq!(scanner.opens(b"nk>"), ThinkingStage::Thinking);
///
/// assert_eq!(scanner.push(b"two and two"), None);
/// assert_eq!(scanner.ending(), "\n</think>\n\n");
/// assert_eq!(scanner.push(b"\n</th"), None);
/// assert_eq!(scanner.ending(), "ink>\n\n");
/// let end = scanner.push(b"ink>\n").unwrap();
/// assert_eq!(end.correction, ThinkingCorrection::Append("\n".to_owned()));
/// assert!(scanner.is_over_budget());
/// ```
#[derive(Clone, Debug)]
pub struct ThinkingScanner {
    start: String,
    end: String,
    /// The white space that the model is trained to write before and after the end.
    around: (String, String),
    budget: Option<usize>,
    tokens: usize,
    /// The last bytes, which may be the beginning of a marker.
    tail: Vec<u8>,
}

impl ThinkingScanner {
    /// Creates a scanner for one reply. [`ThinkingScanner`] has an example.
    #[must_use]
    pub fn new(rule: &ThinkingRule) -> Self {
        let before = rule.end.len() - rule.end.trim_start().len();
        let after = rule.end.trim_end().len();
        let around = (
            rule.end.get(..before).unwrap_or_default().to_owned(),
            rule.end.get(after..).unwrap_or_default().to_owned(),
        );
        let start = rule.start.trim().to_owned();
        let end = rule.end.trim().to_owned();
        Self { start, end, around, budget: rule.budget, tokens: 0, tail: Vec::new() }
    }

    /// Returns the text that begins thinking, without white space around it. [`ThinkingScanner`] has an example.
    #[must_use]
    pub fn start(&self) -> &str {
        &self.start
    }

    /// Returns how many tokens the thinking has so far. [`ThinkingScanner`] has an example.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Returns whether thinking has used all the tokens that it may have. [`ThinkingScanner`] has an example.
    #[must_use]
    pub fn is_over_budget(&self) -> bool {
        self.budget.is_some_and(|budget| self.tokens >= budget)
    }

    /// Adds bytes of the beginning of a reply, and returns its stage after them. [`ThinkingScanner`] has an example.
    pub fn opens(&mut self, said: &[u8]) -> ThinkingStage {
        self.tail.extend_from_slice(said);
        let text = self.tail.trim_ascii_start();
        if text.starts_with(self.start.as_bytes()) {
            self.tail.clear();
            return ThinkingStage::Thinking;
        }
        if self.start.as_bytes().starts_with(text) { ThinkingStage::Opening } else { ThinkingStage::Answer }
    }

    /// Adds the bytes of a token of thinking, and returns whether they end it. [`ThinkingScanner`] has an example.
    pub fn push(&mut self, said: &[u8]) -> Option<ThinkingEnd> {
        self.tokens += 1;
        let known = self.tail.len();
        self.tail.extend_from_slice(said);
        let end = self.end.as_bytes();
        let found = self.tail.windows(end.len().max(1)).position(|window| window == end);
        if let Some(at) = found {
            let rest = self.tail.split_off(at + end.len());
            let correction = self.correction(&rest, known);
            return Some(ThinkingEnd { rest, correction });
        }
        // The marker may be spread over several tokens: `</` `think` `>`.
        let kept = self.end.len() + self.around.0.len();
        self.tail.drain(..self.tail.len().saturating_sub(kept));
        None
    }

    /// Returns the text that ends thinking here: the whole marker, or the rest of it after `</th`. [`ThinkingScanner`] has an
    /// example.
    #[must_use]
    pub fn ending(&self) -> String {
        self.ending_after(&self.tail)
    }

    /// Returns what is missing after a token that ended thinking with these bytes after the marker. Before it, the tail had
    /// `known` bytes.
    fn correction(&self, rest: &[u8], known: usize) -> ThinkingCorrection {
        // `</think>` or `</think>\n`: the missing line breaks follow.
        if let Some(missing) = self.around.1.as_bytes().strip_prefix(rest) {
            return ThinkingCorrection::Append(String::from_utf8_lossy(missing).into_owned());
        }
        if rest.iter().all(u8::is_ascii_whitespace) {
            return ThinkingCorrection::Append(String::new());
        }
        let before = self.tail.get(..known).unwrap_or(&self.tail);
        ThinkingCorrection::Replace(self.ending_after(before))
    }

    fn ending_after(&self, tail: &[u8]) -> String {
        let Self { end, around: (before, after), .. } = self;
        for length in (1..end.len()).rev() {
            if let Some((begun, rest)) = end.split_at_checked(length)
                && tail.ends_with(begun.as_bytes())
            {
                return format!("{rest}{after}");
            }
        }
        if tail.ends_with(before.as_bytes()) {
            return format!("{end}{after}");
        }
        format!("{before}{end}{after}")
    }
}

/// Encodes a text that follows other text: at the start of a text, SentencePiece would add a space.
///
/// ```
/// use alloquy_engine::decoder::encode_after_text;
/// use alloquy_testing::ByteTokenizer;
///
/// let tokenizer = ByteTokenizer::new(["</think>"]);
/// assert_eq!(encode_after_text(&tokenizer, "</think>\n")?, [256, 10]);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
///
/// # Errors
/// The errors of the tokenizer.
pub fn encode_after_text(tokenizer: &dyn Tokenizer, text: &str) -> Result<Vec<TokenId>> {
    let before = TokenizerInput::Literal("\n");
    let known = tokenizer.encode(&[before])?.len();
    let tokens = tokenizer.encode(&[before, TokenizerInput::Text(text)])?;
    Ok(tokens.into_iter().skip(known).collect())
}
