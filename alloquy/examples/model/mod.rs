//! Which model an example runs on.

use alloquy::{Model, ModelBuilder};

/// Takes the folder named as the first argument or by ALLOQUY_MODEL, else the tiny model within the library.
pub(crate) fn builder() -> ModelBuilder {
    let named = std::env::args().nth(1).or_else(|| std::env::var("ALLOQUY_MODEL").ok());
    named.map_or_else(Model::pocket_builder, Model::builder)
}
