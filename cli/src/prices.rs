//! Reads the table of prices that the arguments name.

use std::path::Path;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::cost::PriceTable;

use crate::arguments::PriceArguments;

/// Returns the table that the arguments name, or the example.
///
/// # Errors
/// When the file cannot be read, or is no table.
pub(crate) fn table(arguments: &PriceArguments) -> Result<PriceTable> {
    arguments.prices.as_deref().map_or_else(|| Ok(PriceTable::example()), read)
}

fn read(path: &Path) -> Result<PriceTable> {
    let text = crate::file::text(path).map_err(|source| {
        Error::new(ErrorKind::Invalid, format!("table of prices {path:?} cannot be read")).with_source(source)
    })?;
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let table = if is_json {
        PriceTable::from_json(&text)
    } else {
        toml::from_str(&text).map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))
    };
    table.map_err(|error| error.context(format_args!("table of prices {path:?}")))
}
