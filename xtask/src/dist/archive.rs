//! Archives: `.tar.gz`, and `.zip` on Windows. The same files give the same bytes.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder, read::GzDecoder};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::stage::Stage;
use crate::Result;

/// A file of an archive: its path below the archive's folder, with `/` between folders, and its mode.
struct Entry {
    path: String,
    mode: u32,
}

/// Packs the files of a release into `out`, and returns the path of the archive.
pub(super) fn pack(stage: &Stage, out: &Path) -> Result<PathBuf> {
    let entries = entries(&stage.folder, "")?;
    let name = stage.name();
    if cfg!(windows) {
        let path = out.join(format!("{name}.zip"));
        zip(stage, &entries, &path)?;
        return Ok(path);
    }
    let path = out.join(format!("{name}.tar.gz"));
    tar(stage, &entries, &path)?;
    Ok(path)
}

/// Unpacks an archive into a folder.
pub(super) fn unpack(archive: &Path, into: &Path) -> Result {
    let file = File::open(archive)?;
    if archive.extension().is_some_and(|extension| extension == "zip") {
        ZipArchive::new(file)?.extract(into)?;
    } else {
        tar::Archive::new(GzDecoder::new(file)).unpack(into)?;
    }
    Ok(())
}

/// Lists files by name, those of subfolders where their folder is.
fn entries(folder: &Path, prefix: &str) -> Result<Vec<Entry>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    let mut entries = Vec::new();
    for name in names {
        let path = folder.join(&name);
        let shown = format!("{prefix}{name}");
        if path.is_dir() {
            entries.extend(self::entries(&path, &format!("{shown}/"))?);
        } else {
            let is_program = name == super::stage::program();
            entries.push(Entry { path: shown, mode: if is_program { 0o755 } else { 0o644 } });
        }
    }
    Ok(entries)
}

fn tar(stage: &Stage, entries: &[Entry], path: &Path) -> Result {
    let compressed = GzBuilder::new().mtime(0).write(File::create(path)?, Compression::best());
    let mut archive = tar::Builder::new(compressed);
    for entry in entries {
        let mut file = File::open(stage.folder.join(&entry.path))?;
        let mut header = tar::Header::new_gnu();
        header.set_size(file.metadata()?.len());
        header.set_mode(entry.mode);
        header.set_mtime(stage.epoch);
        archive.append_data(&mut header, format!("{}/{}", stage.name(), entry.path), &mut file)?;
    }
    archive.into_inner()?.finish()?.sync_all()?;
    Ok(())
}

fn zip(stage: &Stage, entries: &[Entry], path: &Path) -> Result {
    let mut archive = ZipWriter::new(File::create(path)?);
    for entry in entries {
        // Without a time, every file has that of the format's first day.
        let options = SimpleFileOptions::default().unix_permissions(entry.mode);
        archive.start_file(format!("{}/{}", stage.name(), entry.path), options)?;
        io::copy(&mut File::open(stage.folder.join(&entry.path))?, &mut archive)?;
    }
    archive.finish()?.sync_all()?;
    Ok(())
}
