//! How far ONNX Runtime may rewrite a graph before it runs it. Loads nothing.

use std::fmt;

use ort::session::builder::GraphOptimizationLevel;

/// How far ONNX Runtime rewrites a graph when it is loaded; each level does what those before it do.
///
/// Rewritten graphs compute the same up to rounding, so that the level counts in
/// [`Engine::identity`](alloquy_engine::Engine::identity).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphOptimization {
    /// Not at all.
    Disable,
    /// Constants are folded, and what is redundant goes.
    Basic,
    /// Nodes are fused into larger ones.
    Extended,
    /// Weights are laid out for this processor.
    #[default]
    All,
}

impl GraphOptimization {
    pub(crate) fn level(self) -> GraphOptimizationLevel {
        match self {
            Self::Disable => GraphOptimizationLevel::Disable,
            Self::Basic => GraphOptimizationLevel::Level1,
            Self::Extended => GraphOptimizationLevel::Level2,
            Self::All => GraphOptimizationLevel::All,
        }
    }
}

impl fmt::Display for GraphOptimization {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Disable => "disable",
            Self::Basic => "basic",
            Self::Extended => "extended",
            Self::All => "all",
        })
    }
}
