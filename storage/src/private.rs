//! Creates files and folders that only their owner may read, whatever the umask. Existing ones keep their permissions.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// The permissions of a new file: its owner reads and writes it.
#[cfg(unix)]
const FILE: u32 = 0o600;

/// The permissions of a new folder.
#[cfg(unix)]
const FOLDER: u32 = 0o700;

/// Creates a folder and its missing parents.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        make_folder(above)?;
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER);
    match builder.create(path) {
        // Another process was faster.
        Err(_) if path.is_dir() => Ok(()),
        Err(source) => Err(source),
        Ok(()) => grant_folder(path),
    }
}

/// Opens a file with these options. A file that they create is private.
pub(crate) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, FILE);
    let file = options.open(path)?;
    // An existing file may belong to another user, who decides about it.
    let _ = grant(&file);
    Ok(file)
}

/// Creates a file, or empties an existing one.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().write(true).create(true).truncate(true), path)
}

/// Creates an empty file, and fails where one exists. An existing file is never opened: closing it again would release the
/// locks that this process holds on it.
#[cfg(feature = "sqlite")]
pub(crate) fn create_new(path: &Path) -> io::Result<()> {
    open(OpenOptions::new().write(true).create_new(true), path).map(drop)
}

/// Makes a file private that a library has created.
#[cfg(feature = "object-store")]
pub(crate) fn restrict(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(FILE))?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Gives the owner the permissions that an odd umask took away.
#[cfg(unix)]
fn grant(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let rights = file.metadata()?.permissions().mode();
    if rights & FILE == FILE {
        Ok(())
    } else {
        file.set_permissions(fs::Permissions::from_mode(rights | FILE))
    }
}

#[cfg(unix)]
fn grant_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let rights = fs::metadata(path)?.permissions().mode();
    if rights & FOLDER == FOLDER {
        Ok(())
    } else {
        fs::set_permissions(path, fs::Permissions::from_mode(FOLDER))
    }
}

/// Other systems have no such permissions.
#[cfg(not(unix))]
fn grant(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn grant_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
