//! The settings for what a schema leaves open: white space and the length of numbers.

/// What a schema leaves open about the JSON of a reply.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JsonForm {
    pub(crate) spacing: JsonSpacing,
    pub(crate) numbers: JsonNumberRange,
}

/// Where a reply in JSON may have white space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonSpacing {
    /// At most one space, after a comma or a colon: a model cannot spend its tokens on indentation.
    #[default]
    Tight,
    /// Any amount between any two symbols.
    Free,
}

/// Which numbers a reply in JSON may have where its schema sets no bounds of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonNumberRange {
    /// Numbers of limited length: up to 2⁵³ − 1 in size, with at most eight digits after the point and no exponent.
    #[default]
    Short,
    /// All numbers: a model may write digits until its tokens are used up.
    Any,
}
