//! The command of a chat that writes its conversation to a file.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use alloquy::core::{Conversation, ConversationManager as _, Error, ErrorKind};
use alloquy::formats::archive::{self, ArchiveFormat, ArchiveLimits};
use serde_json::json;

use super::session::Repl;
use super::typed_path::typed_path;
use crate::failure::Failure;

impl Repl {
    /// Writes the conversation to a file. A file that this chat did not write is never replaced.
    pub(super) async fn save(&mut self, chat: &Conversation, argument: &str) -> Result<(), Failure> {
        let (file, format) = named(argument)?;
        let path = typed_path(file);
        let format = match format {
            Some(format) => format,
            None => of_extension(&path)?,
        };
        let archive = self.current.manager().export(chat.id()).await?;
        let written = archive::write(format, &archive, &ArchiveLimits::default())?;
        let is_ours = self.saved.contains(&path);
        write(&path, written.text.as_bytes(), is_ours)?;
        for omission in &written.omitted {
            self.notes.say(omission);
        }
        self.notes.say(format_args!("saved to {} as {}", path.display(), format.as_str()));
        let omitted: Vec<_> = written.omitted.iter().map(ToString::to_string).collect();
        let value = json!({"file": path, "format": format.as_str(), "omitted": omitted});
        self.saved.push(path);
        Ok(self.printer.show("saved", "", value)?)
    }
}

/// Returns the file, and the format if the last word is one.
fn named(argument: &str) -> Result<(&str, Option<ArchiveFormat>), Error> {
    if let Some((file, last)) = argument.rsplit_once(char::is_whitespace) {
        if let Ok(format) = last.parse() {
            return Ok((file, Some(format)));
        }
        // A file may have spaces in its name, but not after its extension.
        if of_extension(Path::new(file)).is_ok() && of_extension(Path::new(last)).is_err() {
            let formats = ArchiveFormat::ALL.map(ArchiveFormat::as_str).join(", ");
            let message = format!("unknown format {last:?}, one of: {formats}");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
    }
    Ok((argument, None))
}

/// Returns the format that the name of a file has.
fn of_extension(path: &Path) -> Result<ArchiveFormat, Error> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("json") => Ok(ArchiveFormat::Alloquy),
        Some("jsonl") => Ok(ArchiveFormat::OpenAi),
        Some("md" | "markdown") => Ok(ArchiveFormat::Markdown),
        _ => {
            let formats = ArchiveFormat::ALL.map(ArchiveFormat::as_str).join(", ");
            let message = format!(
                "{path:?} names no format: end it with .json (everything), .jsonl (OpenAI's messages) or .md (to read), or \
                 write one after it: {formats}"
            );
            Err(Error::new(ErrorKind::Invalid, message))
        }
    }
}

fn write(path: &Path, bytes: &[u8], is_ours: bool) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options.write(true);
    let options = if is_ours { options.create(true).truncate(true) } else { options.create_new(true) };
    let written = options.open(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => {
            Error::new(ErrorKind::Conflict, format!("{path:?} exists and is not replaced: name another file"))
        }
        _ => Error::new(ErrorKind::Invalid, format!("{path:?} cannot be written")).with_source(source),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_named_or_that_of_the_extension() {
        assert_eq!(named("tea.txt chatml").unwrap(), ("tea.txt", Some(ArchiveFormat::ChatMl)));
        assert_eq!(named("my tea.md").unwrap(), ("my tea.md", None));
        assert!(
            named("tea.md word")
                .unwrap_err()
                .to_string()
                .contains("unknown format \"word\", one of: alloquy")
        );
        assert_eq!(of_extension(Path::new("a.JSONL")).unwrap(), ArchiveFormat::OpenAi);
        assert!(of_extension(Path::new("tea")).unwrap_err().to_string().contains(".md (to read)"));
    }

    #[test]
    fn only_files_of_this_chat_are_replaced() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("a.md");
        write(&path, b"a long text", false).unwrap();
        assert!(write(&path, b"b", false).unwrap_err().is_conflict());
        write(&path, b"c", true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"c");
    }
}
