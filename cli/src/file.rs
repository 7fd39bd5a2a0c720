//! Reads files that a person names, up to a limit, and makes private folders. Knows no format.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::path::Path;

/// How many bytes a template, a schema, a grammar, a table of prices or the configuration may have.
pub(crate) const LONGEST: u64 = 16 << 20;

/// Reads a regular file that is a text. A pipe without a writer would block, and a device may never end.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    check(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    check(&file.metadata()?)?;
    // It may have grown since.
    limited(file)
}

/// Reads a text that may come from a pipe too, such as one that a shell opens for `<(git diff)`.
pub(crate) fn any_text(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(is_a_folder());
    }
    limited(file)
}

fn limited(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(too_long(text.len() as u64));
    }
    Ok(text)
}

fn is_a_folder() -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, "it is a folder, not a file")
}

fn check(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_dir() {
        return Err(is_a_folder());
    }
    if !metadata.is_file() {
        let message = "it is a pipe, a socket or a device, not a file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    if metadata.len() > LONGEST {
        return Err(too_long(metadata.len()));
    }
    Ok(())
}

fn too_long(bytes: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it has {bytes} bytes, and the limit is {LONGEST}"))
}

/// Makes a folder that only its owner may read, and the missing ones above it.
pub(crate) fn make_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}
