//! Memory across conversations with language models: notes, and what a model is reminded of.
