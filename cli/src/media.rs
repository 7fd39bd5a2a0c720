//! Media on the command line: files that a person names, and files that a document names inside one folder.

use std::path::{Path, PathBuf};

use alloquy::core::media::MediaKind;
use alloquy::core::{Content, Error, ErrorKind, Media, Message, Part, Preface, Request, Result, Role};
use alloquy::formats::messages::{MediaReference, MediaRules, MediaSource};
use alloquy::storage::{MediaFolder, read_media};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use crate::open_model::OpenModel;
use crate::piped::Input;

/// The name of standard input among files.
const STDIN: &str = "-";

/// Images and audio clips before a text, in the order in which they are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MediaArguments(Vec<(MediaKind, PathBuf)>);

/// A flag that names files of a kind.
struct Flag {
    kind: MediaKind,
    variable: &'static str,
    help: &'static str,
}

const FLAGS: [Flag; 2] = [
    Flag {
        kind: MediaKind::Image,
        variable: "ALLOQUY_IMAGE",
        help: "Send this image before the text; - is standard input; may be repeated",
    },
    Flag {
        kind: MediaKind::Audio,
        variable: "ALLOQUY_AUDIO",
        help: "Send this audio clip before the text; - is standard input; may be repeated. Images and audio clips keep their order",
    },
];

impl Args for MediaArguments {
    fn augment_args(command: Command) -> Command {
        command.args(FLAGS.map(|flag| {
            Arg::new(flag.kind.as_str())
                .long(flag.kind.as_str())
                .env(flag.variable)
                .help(flag.help)
                .help_heading("Media")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .action(ArgAction::Append)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

// Derived, it would lose the order among the two flags.
impl FromArgMatches for MediaArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut named = Vec::new();
        for Flag { kind, .. } in FLAGS {
            let files = matches.get_many::<PathBuf>(kind.as_str()).into_iter().flatten();
            let places = matches.indices_of(kind.as_str()).into_iter().flatten();
            named.extend(places.zip(files).map(|(place, file)| (place, kind, file.clone())));
        }
        named.sort_by_key(|(place, ..)| *place);
        Ok(Self(named.into_iter().map(|(_, kind, file)| (kind, file)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl MediaArguments {
    /// Returns whether none is named.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the files, where standard input is for something else.
    pub(crate) fn read(&self) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        for (kind, file) in &self.0 {
            if file == Path::new(STDIN) {
                let message =
                    format!("--{kind} - reads standard input, which the questions come from: name a file");
                return Err(Error::new(ErrorKind::Invalid, message));
            }
            parts.push(attached(*kind, file)?.into());
        }
        Ok(parts)
    }

    /// Reads the files; `-` is standard input.
    pub(crate) fn read_with(&self, input: &mut Input) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        for (kind, file) in &self.0 {
            if file == Path::new(STDIN) {
                let media = kind.media(input.bytes()?);
                parts.push(kind.part(media.map_err(|error| error.context("standard input"))?).into());
            } else {
                parts.push(attached(*kind, file)?.into());
            }
        }
        Ok(parts)
    }
}

/// Reads a file that a person names.
pub(crate) fn attached(kind: MediaKind, file: &Path) -> Result<Content> {
    let read = read_media(kind, file).map_err(|error| match (error.kind(), is_address(file)) {
        (ErrorKind::NotFound, true) => {
            let message = format!(
                "the {kind} {file:?} is an address, which is not fetched: download it and name the file"
            );
            Error::new(ErrorKind::Unsupported, message)
        }
        _ => error,
    });
    Ok(kind.part(read?))
}

fn is_address(file: &Path) -> bool {
    file.to_str().is_some_and(|name| name.contains("://"))
}

/// Returns the message of a person: media first, then the text, where there is one.
pub(crate) fn said(attached: Vec<Part>, text: String) -> Message {
    let mut parts = attached;
    if parts.is_empty() || !text.is_empty() {
        parts.push(Content::Text(text).into());
    }
    Message::new(Role::User, parts)
}

/// Checks that a model accepts media and that its template has a place for them, before a question depends on it.
pub(crate) fn check(model: &OpenModel, attached: &[Part]) -> Result<()> {
    // Whether a chat endpoint accepts them, its server says when it is asked.
    let Some(model) = model.language_model().filter(|_| !attached.is_empty()) else { return Ok(()) };
    let message = said(attached.to_vec(), "?".to_owned());
    model.prepare(&Request::new(Preface::default(), vec![message])).map(drop)
}

/// Where documents may have their media.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Media")]
pub(crate) struct MediaRootArguments {
    /// Read media that the document names by a path inside DIR; no other file is read, and no address
    #[arg(long, value_name = "DIR", env = "ALLOQUY_MEDIA_ROOT")]
    media_root: Option<PathBuf>,
}

impl MediaRootArguments {
    /// Opens the folder, where one is named.
    pub(crate) fn open(&self) -> Result<DocumentMedia> {
        Ok(DocumentMedia(self.media_root.as_ref().map(MediaFolder::new).transpose()?))
    }
}

/// The media that documents may name.
#[derive(Debug, Default)]
pub(crate) struct DocumentMedia(Option<MediaFolder>);

impl DocumentMedia {
    /// Returns the rules for a document's media.
    pub(crate) fn rules(&self) -> MediaRules<'_> {
        MediaRules { source: self, ..MediaRules::default() }
    }
}

impl MediaSource for DocumentMedia {
    fn fetch(&self, kind: MediaKind, reference: MediaReference<'_>) -> Result<Media> {
        let reason = match (reference, &self.0) {
            (MediaReference::Path(path), Some(folder)) => return folder.read(kind, path),
            (MediaReference::Path(_), None) => {
                "which is not read: name the folder that it may come from with --media-root DIR"
            }
            (MediaReference::Url(_), _) => {
                "which is not fetched: download it, name its path in the document and the folder with --media-root DIR"
            }
        };
        Err(Error::new(ErrorKind::Unsupported, format!("the {kind} is {reference}, {reason}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> MediaArguments {
        let command = MediaArguments::augment_args(Command::new("test"));
        let matches = command.try_get_matches_from(std::iter::once(&"test").chain(arguments)).unwrap();
        MediaArguments::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn images_and_audio_keep_their_order() {
        let MediaArguments(named) = read(&["--image", "a", "--audio=b", "--image", "c"]);
        let named: Vec<_> =
            named.iter().map(|(kind, file)| (kind.as_str(), file.to_str().unwrap())).collect();
        assert_eq!(named, [("image", "a"), ("audio", "b"), ("image", "c")]);
        assert_eq!(read(&[]), MediaArguments::default());
    }

    #[test]
    fn media_stand_before_the_text() {
        let image = || vec![Part::from(Content::Image(Media::new("image/png", vec![1])))];
        let kinds =
            |message: Message| message.parts.iter().map(|part| part.content.media_kind()).collect::<Vec<_>>();
        assert_eq!(kinds(said(image(), "What?".into())), [Some(MediaKind::Image), None]);
        assert_eq!(kinds(said(image(), String::new())), [Some(MediaKind::Image)]);
        assert_eq!(said(Vec::new(), "Hi".into()), Message::user("Hi"));
    }

    #[test]
    fn what_cannot_be_read_says_what_to_do() {
        let fetch = |reference| DocumentMedia::default().fetch(MediaKind::Image, reference).unwrap_err();
        assert!(fetch(MediaReference::Path("cat.png")).to_string().contains("--media-root DIR"));
        assert!(fetch(MediaReference::Url("https://a/b")).to_string().contains("not fetched"));
        let address = attached(MediaKind::Image, Path::new("https://a/b.png")).unwrap_err();
        assert!(address.to_string().contains("download it"), "{address}");
    }
}
