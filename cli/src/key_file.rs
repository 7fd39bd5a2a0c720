//! The file of keys: the one that is named, or the one in the data folder.

use std::path::PathBuf;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy_server::KeyFile;

use crate::arguments::KeyArguments;
use crate::file::make_private_folder;
use crate::settings::data_folder;

/// Returns the path of the file.
pub(crate) fn path(arguments: &KeyArguments) -> Result<PathBuf> {
    match &arguments.keys {
        Some(path) => Ok(path.clone()),
        None => Ok(data_folder()?.join("keys.json")),
    }
}

/// Reads the keys of a server. A file that is named must exist; without the usual one, there are no keys.
pub(crate) fn keys(arguments: &KeyArguments) -> Result<Option<KeyFile>> {
    match KeyFile::read(&path(arguments)?) {
        Err(error) if error.is_not_found() && arguments.keys.is_none() => Ok(None),
        read => read.map(Some),
    }
}

/// Reads the keys to show them; a file that does not exist yet has none.
pub(crate) fn known_keys(arguments: &KeyArguments) -> Result<KeyFile> {
    match KeyFile::read(&path(arguments)?) {
        Err(error) if error.is_not_found() => Ok(KeyFile::default()),
        read => read,
    }
}

/// Changes the keys, which other processes do not change meanwhile; a file that does not exist yet has none.
pub(crate) fn change<T>(
    arguments: &KeyArguments,
    change: impl FnOnce(&mut KeyFile) -> Result<T>,
) -> Result<T> {
    let path = path(arguments)?;
    if arguments.keys.is_none()
        && let Some(folder) = path.parent()
    {
        make_private_folder(folder).map_err(|source| {
            Error::new(ErrorKind::Store, format!("the folder {folder:?} cannot be created"))
                .with_source(source)
        })?;
    }
    KeyFile::change(&path, change)
}
