//! The arguments that choose a model on a server. Connects to none.

use std::path::PathBuf;
use std::str::FromStr;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::remote::{ApiKey, ChatProtocol, Dialect, RemoteServer};
use clap::Args;
use serde::{Deserialize, Deserializer, Serialize};

/// The word for no server.
pub(crate) const NONE: &str = "none";

/// The word for a dialect that is found out.
pub(crate) const AUTO: &str = "auto";

/// The variable with the key itself. It is no flag, because other users of a machine see the flags of its processes.
const KEY: &str = "ALLOQUY_REMOTE_KEY";

/// On which server the model is, and how it is reached.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Model on a server")]
pub(crate) struct RemoteArguments {
    /// The address of a server that has the model, such as http://localhost:8000; --model then names a folder, or a model of the Hub,
    /// of which the tokenizer, the configuration and the template are used. Several addresses, with commas, share the requests.
    /// none is this machine
    #[arg(long, value_name = "URL", env = "ALLOQUY_REMOTE", value_delimiter = ',')]
    #[serde(deserialize_with = "one_or_several", skip_serializing_if = "Vec::is_empty")]
    pub(crate) remote: Vec<String>,

    /// The name by which the server knows the model, where it has several
    #[arg(long, value_name = "NAME", env = "ALLOQUY_REMOTE_MODEL")]
    pub(crate) remote_model: Option<String>,

    #[arg(long, value_name = "NAME", env = "ALLOQUY_REMOTE_DIALECT", help = dialect_help())]
    pub(crate) remote_dialect: Option<DialectArgument>,

    /// The file with the key of the server; else ALLOQUY_REMOTE_KEY is the key, if it is set
    #[arg(long, value_name = "FILE", env = "ALLOQUY_REMOTE_KEY_FILE")]
    pub(crate) remote_key_file: Option<PathBuf>,

    /// Use a chat endpoint of the server, which takes no tokens: completions, messages or responses. --model is the name of the
    /// model there then, and no folder is needed
    #[arg(long, value_name = "PROTOCOL", env = "ALLOQUY_REMOTE_CHAT", value_parser = protocol)]
    #[serde(with = "as_text")]
    pub(crate) remote_chat: Option<ChatProtocol>,

    /// Whether the key is of another server, and not sent.
    #[arg(skip)]
    #[serde(skip)]
    pub(crate) is_keyless: bool,

    /// Whether the prompts of owners share no cache there, where the server can do that.
    #[arg(skip)]
    #[serde(skip)]
    pub(crate) separates_owners: bool,
}

impl RemoteArguments {
    /// Returns the address of the first server; `None` for this machine.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for several addresses where one is possible, and for settings of a server without an address.
    pub(crate) fn address(&self) -> Result<Option<&str>> {
        let message = match self.remote.as_slice() {
            [] if self.remote_chat.is_some() => {
                "--remote-chat needs a server: name its address with --remote URL"
            }
            [] => return Ok(None),
            [url] if url == NONE => return Ok(None),
            [url] => return Ok(Some(url)),
            _ if self.remote_chat.is_some() => {
                "--remote-chat uses one server, and --remote has several addresses: leave the others out"
            }
            several if several.iter().any(|url| url == NONE) => {
                "--remote has addresses of servers and none, which is this machine: leave none out"
            }
            [url, ..] => return Ok(Some(url)),
        };
        Err(Error::new(ErrorKind::Invalid, message))
    }

    /// Returns the addresses after the first one, whose servers have the same model.
    pub(crate) fn further_addresses(&self) -> &[String] {
        self.remote.get(1..).unwrap_or_default()
    }

    /// Returns whether the model is on a server.
    pub(crate) fn is_set(&self) -> bool {
        matches!(self.address(), Ok(Some(_)))
    }

    /// Returns how a server is reached: with the key of the file, or else of the variable.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a file or a variable without a key, and [`ErrorKind::Model`] for a file that cannot be read.
    pub(crate) fn server(&self, url: &str) -> Result<RemoteServer> {
        let server = RemoteServer::at(url);
        if self.is_keyless {
            return Ok(server);
        }
        if let Some(file) = &self.remote_key_file {
            let key = ApiKey::file(file).map_err(|error| {
                // The folder of a model, to which the advice for this kind refers, is not meant.
                Error::new(ErrorKind::Invalid, "--remote-key-file has no key").with_source(error)
            })?;
            return Ok(server.key(key));
        }
        let is_set = std::env::var_os(KEY).is_some_and(|key| !key.is_empty());
        if is_set { Ok(server.key(ApiKey::variable(KEY)?)) } else { Ok(server) }
    }

    /// Returns the arguments of another server, which the key is not sent to. Its protocol of chat endpoints stays.
    pub(crate) fn of_server(&self, url: String) -> Self {
        let is_same = self.remote.contains(&url);
        Self {
            remote: vec![url],
            remote_model: None,
            remote_dialect: None,
            is_keyless: self.is_keyless || !is_same,
            ..self.clone()
        }
    }

    /// Returns whether a key is set that is not sent.
    pub(crate) fn withholds_key(&self) -> bool {
        self.is_keyless && (self.remote_key_file.is_some() || std::env::var_os(KEY).is_some())
    }

    /// Returns the dialect that is set; `None` where the server is asked.
    pub(crate) fn dialect(&self) -> Option<Dialect> {
        self.remote_dialect.and_then(|DialectArgument(dialect)| dialect)
    }
}

/// Returns whether a text is meant as the address of a server, or of this machine.
pub(crate) fn is_address(text: &str) -> bool {
    text == NONE || text.starts_with("http://") || text.starts_with("https://")
}

/// A dialect, or none where the server is asked.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct DialectArgument(Option<Dialect>);

impl FromStr for DialectArgument {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if name == AUTO {
            return Ok(Self(None));
        }
        match name.parse() {
            Ok(dialect) => Ok(Self(Some(dialect))),
            Err(_) => Err(format!("{name:?} is no dialect: it is one of {AUTO}, {}", dialects().join(", "))),
        }
    }
}

impl TryFrom<String> for DialectArgument {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

impl From<DialectArgument> for String {
    fn from(DialectArgument(dialect): DialectArgument) -> Self {
        dialect.map_or(AUTO, Dialect::as_str).to_owned()
    }
}

/// Returns the names of the dialects.
fn dialects() -> Vec<&'static str> {
    Dialect::ALL.into_iter().map(Dialect::as_str).collect()
}

fn dialect_help() -> String {
    format!(
        "The protocol of the server: {}; {AUTO}, which asks the server, unless set",
        dialects().join(", ")
    )
}

/// Returns the names that `--remote-dialect` takes.
pub(crate) fn dialect_names() -> Vec<&'static str> {
    std::iter::once(AUTO).chain(dialects()).collect()
}

/// Returns the names that `--remote-chat` takes.
pub(crate) fn protocol_names() -> Vec<&'static str> {
    ChatProtocol::ALL.into_iter().map(ChatProtocol::as_str).collect()
}

fn protocol(name: &str) -> Result<ChatProtocol, String> {
    name.parse().map_err(|error: Error| error.to_string())
}

/// Reads one address as a text, or several as a list.
fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "an address or a list of them")]
    enum Addresses {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Addresses::deserialize(deserializer)? {
        Addresses::One(url) => vec![url],
        Addresses::Several(urls) => urls,
    })
}

/// A protocol as its name.
mod as_text {
    use alloquy::remote::ChatProtocol;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(
        protocol: &Option<ChatProtocol>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        protocol.map(ChatProtocol::as_str).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<ChatProtocol>, D::Error> {
        let Some(name) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        super::protocol(&name).map(Some).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(toml: &str) -> RemoteArguments {
        toml::from_str(toml).unwrap()
    }

    #[test]
    fn a_file_has_one_address_or_a_list() {
        let one = read("remote = \"http://a\"\nremote-dialect = \"vllm\"\nremote-chat = \"messages\"");
        assert_eq!(one.address().unwrap(), Some("http://a"));
        assert_eq!((one.dialect(), one.remote_chat), (Some(Dialect::Vllm), Some(ChatProtocol::Messages)));
        assert_eq!(read("remote = [\"none\"]\nremote-dialect = \"auto\"").address().unwrap(), None);
        let several = read("remote = [\"http://a\", \"http://b\"]");
        assert_eq!(several.address().unwrap(), Some("http://a"));
        assert_eq!(several.further_addresses(), ["http://b"]);
        assert!(read("remote = [\"http://a\", \"none\"]").address().is_err());
        assert!(read("remote = [\"http://a\", \"http://b\"]\nremote-chat = \"messages\"").address().is_err());
        assert!(read("remote-chat = \"completions\"").address().is_err());
        assert!(toml::from_str::<RemoteArguments>("remote-dialect = \"smtp\"").is_err());
        let written = serde_json::to_value(&one).unwrap();
        assert_eq!(
            (&written["remote-dialect"], &written["remote-chat"]),
            (&"vllm".into(), &"messages".into())
        );
    }

    #[test]
    fn help_names_every_dialect_and_protocol() {
        let command = RemoteArguments::augment_args(clap::Command::new("remote"));
        let help = |id: &str| {
            let argument = command.get_arguments().find(|argument| argument.get_id() == id).unwrap();
            argument.get_help().unwrap().to_string()
        };
        assert!(dialect_names().iter().all(|name| help("remote_dialect").contains(name)));
        assert!(protocol_names().iter().all(|name| help("remote_chat").contains(name)));
    }
}
