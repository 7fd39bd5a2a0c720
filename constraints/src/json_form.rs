//! What a schema leaves open about the JSON of a reply.

/// What a schema leaves open about the JSON of a reply.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JsonForm {
    pub(crate) spacing: JsonSpacing,
    pub(crate) numbers: JsonNumbers,
}

/// Where a reply in JSON may have white space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonSpacing {
    /// At most one space, behind a comma or a colon: a model cannot spend its tokens on indentation.
    #[default]
    Tight,
    /// Between any two symbols, without bound.
    Free,
}

/// Which numbers a reply in JSON may have, where its schema sets no bounds of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonNumbers {
    /// Those that end: up to 2⁵³ − 1 in size, with at most eight digits behind the point and no exponent.
    #[default]
    Short,
    /// All of them: a model may write digits until its tokens are used up.
    Any,
}
