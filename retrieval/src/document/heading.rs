//! A heading of a document.

/// A heading of a document.
///
/// [`Document`](crate::Document) has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Heading {
    /// The byte of the text at which its line begins.
    pub at: usize,
    /// Its level: 1 is the highest.
    pub level: u8,
    /// Its text.
    pub title: String,
}
