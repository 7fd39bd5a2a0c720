//! A document: a text with headings, and where it may be cut.

mod code;
mod heading;
mod html;
pub(crate) mod lines;
mod markdown;

use std::ops::Range;
use std::path::Path;

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

use self::lines::{Line, prose_lines};

pub use heading::Heading;
pub(crate) use lines::one_line;

/// A document whose parts are to be found.
///
/// The readers keep the headings and the places where a text is best cut, for a [`Chunker`](crate::Chunker).
///
/// | reader | text | headings |
/// |---|---|---|
/// | [`Document::text`] | as it is | none |
/// | [`Document::markdown`] | as it is | those of Markdown |
/// | [`Document::html`] | what a browser shows | `h1` to `h6` |
/// | [`Document::code`] | as it is | none; it is cut between functions rather than inside |
///
/// PDF has no reader: a program that extracts its text, such as `pdftotext`, passes it to [`Document::text`].
///
/// ```
/// use alloquy_retrieval::Document;
///
/// let document = Document::markdown("tea.md", "# Tea\n\nLeaves.\n\n## Green\n\nUnfermented.\n");
/// let headings: Vec<_> = document.headings().iter().map(|heading| (heading.level, heading.title.as_str())).collect();
/// assert_eq!(headings, [(1, "Tea"), (2, "Green")]);
///
/// let page = Document::from_bytes("tea.html", b"<h1>Tea</h1><p>Green &amp; black")?;
/// assert_eq!(page.content(), "Tea\n\nGreen & black");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    source: String,
    text: String,
    metadata: Map<String, Value>,
    headings: Vec<Heading>,
    /// Where it is better not cut, such as blocks of code: sorted, and without overlaps.
    blocks: Vec<Range<usize>>,
    is_code: bool,
}

impl Document {
    /// Creates a document of plain text. `source` is its name, such as a path or an address.
    pub fn text(source: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            text: text.into(),
            metadata: Map::new(),
            headings: Vec::new(),
            blocks: Vec::new(),
            is_code: false,
        }
    }

    /// Creates a document of Markdown.
    pub fn markdown(source: impl Into<String>, text: impl Into<String>) -> Self {
        let mut document = Self::text(source, text);
        (document.headings, document.blocks) = markdown::outline(&document.text);
        document
    }

    /// Creates a document of HTML: the text that a browser shows, with an empty line between blocks. The title of the page is in the
    /// metadata, as `title`.
    pub fn html(source: impl Into<String>, html: &str) -> Self {
        let page = html::read(html);
        let mut document = Self::text(source, page.text);
        document.headings = page.headings;
        document.blocks = page.blocks;
        if !page.title.is_empty() {
            document.metadata.insert("title".to_owned(), page.title.into());
        }
        document
    }

    /// Creates a document of source code in any language.
    pub fn code(source: impl Into<String>, text: impl Into<String>) -> Self {
        Self { is_code: true, ..Self::text(source, text) }
    }

    /// Creates a document from the bytes of a file, by the ending of its name: `.md`, `.html`, endings of source code; else it is plain text.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] unless it is UTF-8, [`ErrorKind::Unsupported`] for `.pdf`.
    pub fn from_bytes(source: impl Into<String>, bytes: &[u8]) -> Result<Self> {
        let source = source.into();
        let ending = Path::new(&source).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let ending = ending.to_ascii_lowercase();
        if ending == "pdf" || bytes.starts_with(b"%PDF-") {
            let message = format!(
                "{source:?} is PDF, which is not read: extract its text first, for example with `pdftotext`"
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let message =
                format!("{source:?} is no text: byte {} is not UTF-8; convert it", error.valid_up_to());
            Error::new(ErrorKind::Invalid, message)
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Ok(match ending.as_str() {
            "md" | "markdown" | "mdx" => Self::markdown(source, text),
            "html" | "htm" | "xhtml" => Self::html(source, text),
            ending if CODE.contains(&ending) => Self::code(source, text),
            _ => Self::text(source, text),
        })
    }

    /// Adds an entry to the metadata, which all of its passages have.
    #[must_use]
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }

    /// Returns its name.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns its text, which chunks are parts of.
    pub fn content(&self) -> &str {
        &self.text
    }

    /// Returns the metadata that all of its passages have.
    pub fn entries(&self) -> &Map<String, Value> {
        &self.metadata
    }

    /// Returns its headings in their order.
    pub fn headings(&self) -> &[Heading] {
        &self.headings
    }

    /// Returns the lines with how good a place to cut is at their ends.
    pub(crate) fn lines(&self) -> Vec<Line> {
        if self.is_code { code::lines(&self.text) } else { prose_lines(&self.text, &self.blocks) }
    }
}

/// Endings of the names of source code.
const CODE: &[&str] = &[
    "c", "cc", "clj", "cpp", "cs", "css", "cxx", "dart", "erl", "ex", "exs", "fs", "go", "h", "hpp", "hs",
    "java", "jl", "js", "json", "jsx", "kt", "kts", "lua", "m", "ml", "nix", "php", "pl", "ps1", "py", "r",
    "rb", "rs", "scala", "sh", "sql", "swift", "toml", "ts", "tsx", "vue", "xml", "yaml", "yml", "zig",
];
