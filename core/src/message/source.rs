//! Where the text of a part comes from, if the author of the message did not write it.

use serde::{Deserialize, Serialize};

use crate::tree::NodeId;

/// Where the text of a part comes from, if the author of the message did not write it.
///
/// A user message may quote a document, and a system message may contain a value that a user typed. An
/// [`InjectionPolicy`](crate::arguments::InjectionPolicy) that trusts the author of a message does not trust such a
/// part, unless it also trusts its [`TextSource`](crate::arguments::TextSource).
///
/// It is serialised as an object with one key: `{"value": "city"}`, `{"retrieved": {"id": "page-7"}}`.
///
/// ```
/// use alloquy_core::{Content, Message, Part, Role, Source};
///
/// let question = Part::from(Content::Text("What does this say?\n".into()));
/// let page = Part::from(Content::Text("The tea is green.".into()));
/// let page = page.from_source(Source::Retrieved { id: "page-7".into() });
/// let message = Message::new(Role::User, vec![question, page]);
/// let stored = serde_json::to_string(&message.parts[1])?;
/// assert_eq!(stored, r#"{"text":"The tea is green.","source":{"retrieved":{"id":"page-7"}}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Source {
    /// A value that was filled into a prompt under this name.
    Value(String),
    /// A document that was retrieved.
    Retrieved {
        /// The document's name in its store.
        id: String,
    },
    /// A note from memory.
    Memory {
        /// The note's name in its store.
        id: String,
    },
    /// The result of a tool, quoted in another message.
    Tool {
        /// The tool's name.
        name: String,
    },
    /// A named output of an earlier reply.
    Output {
        /// The output's name.
        name: String,
        /// The node of the reply.
        node: NodeId,
    },
}
