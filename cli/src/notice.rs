//! The notice that the built-in model answers, which is printed once a day. The time of a file in the state folder is that of the last one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::arguments::ModelArguments;
use crate::file;
use crate::notes::{Loudness, Notes};
use crate::pocket::describe_pocket;
use crate::settings;

const NOTICE: &str = "the built-in model answers, which is tiny and for trying things out; `alloquy help models` names real ones";

/// How long the notice is not repeated.
const DAY: Duration = Duration::from_secs(86_400);

/// Prints the notice, if no model is named and there was none today.
pub(crate) fn print(arguments: &ModelArguments, notes: Notes) {
    let is_named = arguments.model.is_some() || arguments.remote.is_set();
    if is_named || describe_pocket().is_none() || notes.loudness() == Loudness::Quiet {
        return;
    }
    let stamp = settings::state_folder().map(|folder| folder.join("notice"));
    if stamp.as_deref().is_some_and(is_of_today) {
        return;
    }
    notes.say(NOTICE);
    // Where nothing can be stored, it is printed each time.
    let _ = stamp.map(|path| touch(&path));
}

/// Returns whether a file was written within a day. A time in the future is not one of today.
fn is_of_today(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    let Ok(modified) = modified else { return false };
    SystemTime::now().duration_since(modified).is_ok_and(|age| age < DAY)
}

fn touch(path: &PathBuf) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        file::make_private_folder(folder)?;
    }
    let mut options = File::options();
    options.create(true).write(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.set_modified(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_later_it_is_printed_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state").join("notice");
        assert!(!is_of_today(&path));
        touch(&path).unwrap();
        assert!(is_of_today(&path));
        for days in [1_u32, 400] {
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(SystemTime::now() - DAY * days)
                .unwrap();
            assert!(!is_of_today(&path));
        }
        File::options().write(true).open(&path).unwrap().set_modified(SystemTime::now() + DAY).unwrap();
        assert!(!is_of_today(&path));
    }
}
