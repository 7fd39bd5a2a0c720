//! Holds the file of a model's tokenizer, and knows the names that such a file has.

/// The name of the file that is read if a model has several.
pub(crate) const TOKENIZER_JSON: &str = "tokenizer.json";

/// The names of other files, in the order of preference: SentencePiece's, and tiktoken's under the names of its models.
const OTHERS: [&str; 5] =
    ["tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model", "tiktoken.model"];

/// How tiktoken's files end: `qwen.tiktoken`.
const TIKTOKEN: &str = ".tiktoken";

/// The file of a model's tokenizer.
///
/// [`HuggingFaceTokenizer::of_file`](crate::HuggingFaceTokenizer::of_file) reads it.
///
/// ```
/// use alloquy_model_files::TokenizerFile;
///
/// let file = TokenizerFile::new("tokenizer.json", "{}");
/// assert_eq!((file.name.as_str(), file.bytes.len()), ("tokenizer.json", 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenizerFile {
    /// Its name in the model's folder. It decides how the file is read, and a tiktoken file's name may be its encoding.
    pub name: String,
    /// What it has.
    pub bytes: Vec<u8>,
}

impl TokenizerFile {
    /// Creates a file of this name.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: bytes.into() }
    }

    /// Returns whether a file of this name in a model's folder is a tokenizer.
    ///
    /// ```
    /// use alloquy_model_files::TokenizerFile;
    ///
    /// assert!(TokenizerFile::is_name("tokenizer.json") && TokenizerFile::is_name("qwen.tiktoken"));
    /// assert!(!TokenizerFile::is_name("vocab.txt"));
    /// ```
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        preference(name).is_some()
    }
}

/// Returns which of a model's files is its tokenizer.
pub(crate) fn tokenizer_among<'n>(names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    names.filter_map(|name| Some((preference(name)?, name))).min().map(|(_, name)| name)
}

/// Returns how many kinds of files are read rather than this one; `None` for a file that is no tokenizer.
fn preference(name: &str) -> Option<usize> {
    if name == TOKENIZER_JSON {
        return Some(0);
    }
    if name.ends_with(TIKTOKEN) && !name.contains('/') {
        return Some(OTHERS.len() + 1);
    }
    Some(OTHERS.iter().position(|other| *other == name)? + 1)
}
