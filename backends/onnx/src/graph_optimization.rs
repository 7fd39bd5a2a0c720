//! How far ONNX Runtime may rewrite a graph before it runs it.

use std::fmt;

use ort::session::builder::GraphOptimizationLevel;

/// How far ONNX Runtime rewrites a graph when it is loaded; each level includes those before it.
///
/// Rewritten graphs compute the same except for rounding, so the level is part of
/// [`Engine::identity`](alloquy_engine::Engine::identity).
///
/// ```
/// use alloquy_onnx::GraphOptimization;
///
/// assert_eq!(GraphOptimization::default(), GraphOptimization::All);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphOptimization {
    /// The graph is not rewritten.
    Disable,
    /// Constants are folded, and redundant nodes are removed.
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
