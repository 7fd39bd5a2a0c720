//! What a conversion changes: repairs while reading, omissions while writing. Knows no format.

use std::fmt;

use alloquy_core::error::excerpt;

/// What had to be changed of a document so that it could be read. Ids are those of the document.
///
/// [`read_with`](super::read_with) lists the repairs of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// The document is of a newer minor version; it was read as if it were of the newest that is known.
    NewerVersion(String),
    /// The conversation cannot be called that.
    Renamed {
        /// The name in the document; empty when it has none.
        from: String,
        /// The name it has now.
        to: String,
    },
    /// The conversation says nowhere when it was created.
    NoCreation,
    /// These times name no zone; they count as UTC.
    NoZone(usize),
    /// The time of a node cannot be read; it is that of the node before it.
    BadTime {
        /// The node.
        node: String,
        /// The text in the place of the time.
        found: String,
    },
    /// A node is older than the sibling before it, or than 1970; its id says a later time, its metadata the one it had.
    TimeMoved(String),
    /// There is no node at all.
    NoNodes,
    /// Nodes without a way to the root; they are kept in the metadata, not in the tree.
    Orphans(Vec<String>),
    /// An edge leads from or to a node that is not there.
    LooseEdge(String, String),
    /// A node has a second parent; the first one counts.
    SecondParent(String, String),
    /// Two nodes have one id; both are kept, and the id means the later one.
    Duplicate(String),
    /// These nodes had other numbers among their siblings, or no numbers: their place is where their edges put them.
    Renumbered(Vec<String>),
    /// The current node of the conversation does not exist; another one is its head.
    HeadMoved {
        /// The id in the document.
        from: String,
        /// The id of the head.
        to: String,
    },
    /// A role that does not exist here; the message has the role `user`, or `tool` when the role is `function`.
    UnknownRole {
        /// The node.
        node: String,
        /// The role.
        role: String,
    },
    /// The content of a message is neither text nor absent; it is its JSON.
    ContentNotText(String),
    /// Calls of tools were in the metadata, where old versions wrote them; they are in the message.
    CallsMoved(String),
    /// A call has no id and was given one, or it is no call and was left in the metadata.
    CallRepaired(String),
    /// The arguments of a call are a text that holds an object, as some services send them; they are that object.
    ArgumentsRead(String),
    /// A result names no open call; it has a made-up id.
    ResultRepaired(String),
    /// Metadata of a node would mean something else here; it is kept under `dataknobs`.
    NotedOtherwise {
        /// The node.
        node: String,
        /// The names in its metadata.
        names: Vec<String>,
    },
    /// The usage of a reply has no counts of tokens; it is left out.
    UsageUnread(String),
    /// The value under `alloquy` in the metadata of the conversation is no
    /// [`Annotations`](alloquy_core::annotations::Annotations); it is kept under `dataknobs`.
    ForeignNotes(String),
    /// What Alloquy noted with a node contradicts the node, which was changed since; the node counts.
    NoteOutdated(String),
}

impl fmt::Display for Repair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            Self::NewerVersion(version) => format!("version {version} is read as the newest known one"),
            Self::Renamed { from, to } => format!("the conversation {from:?} is called {to:?} now"),
            Self::NoCreation => {
                "the conversation has no time of creation: it is that of its first message".to_owned()
            }
            Self::NoZone(count) => format!("times that name no zone count as UTC: {count}"),
            Self::BadTime { node, found } => {
                format!("node {node:?}: {found:?} is no time, it has the time of the node before it")
            }
            Self::TimeMoved(node) => {
                format!("node {node:?}: its id says a later time, because a sibling before it has that")
            }
            Self::NoNodes => "the conversation has no nodes".to_owned(),
            Self::Orphans(nodes) => {
                format!("no way leads to {}: kept in the metadata, not in the tree", quoted(nodes))
            }
            Self::LooseEdge(from, to) => format!("an edge from {from:?} to {to:?} leads nowhere"),
            Self::SecondParent(from, to) => {
                format!("an edge from {from:?} to {to:?} is left out: it has a parent already")
            }
            Self::Duplicate(node) => format!("two nodes are called {node:?}: both are kept"),
            Self::Renumbered(nodes) => format!("the ids of {} do not match their places", quoted(nodes)),
            Self::HeadMoved { from, to } => {
                format!("the current node was {from:?}, it is {to:?} now")
            }
            Self::UnknownRole { node, role } => {
                format!("node {node:?}: the role {role:?} is unknown here, the metadata keeps it")
            }
            Self::ContentNotText(node) => format!("node {node:?}: its content is no text but other JSON"),
            Self::CallsMoved(node) => format!("node {node:?}: calls of tools were moved into the message"),
            Self::ArgumentsRead(node) => {
                format!("node {node:?}: the arguments of a call were a text, they are the object in it")
            }
            Self::CallRepaired(node) => format!("node {node:?}: a call of a tool had no id, or was none"),
            Self::ResultRepaired(node) => format!("node {node:?}: a result names no call before it"),
            Self::NotedOtherwise { node, names } => {
                let names = quoted(names);
                format!("node {node:?}: what its metadata calls {names} means something else here")
            }
            Self::UsageUnread(node) => {
                format!("node {node:?}: its usage does not say how many tokens it took")
            }
            Self::ForeignNotes(reason) => {
                format!("what is noted on the nodes cannot be read and is kept aside: {reason}")
            }
            Self::NoteOutdated(node) => {
                format!("node {node:?}: it was changed elsewhere, what was noted of that is dropped")
            }
        };
        formatter.write_str(&excerpt(&sentence))
    }
}

/// Quotes the first few.
fn quoted(nodes: &[String]) -> String {
    let shown: Vec<_> = nodes.iter().take(5).map(|node| format!("{node:?}")).collect();
    match nodes.len().saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// What a format has no place for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Omission {
    /// Nodes beside the path to the head.
    Branches(usize),
    /// Metadata of the conversation, or metadata and facts of nodes.
    Metadata,
    /// Fields of the conversation other than its messages: tools, variables of the template, sampling, its name.
    Settings,
    /// Further fields of messages or parts, in this many nodes.
    FurtherFields(usize),
    /// Media, thinking, results and whatever else is no text, in this many nodes. Readers of the format do not see it;
    /// Alloquy finds it in a note beside the message.
    Noted(usize),
    /// Thinking, media, calls, results and whatever else is no text, in this many messages.
    NoText(usize),
    /// Nodes that had no way to the root when they were imported.
    Orphans(usize),
}

impl fmt::Display for Omission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Branches(count) => write!(formatter, "{count} messages on other branches are left out"),
            Self::Metadata => formatter.write_str("metadata is left out"),
            Self::Settings => {
                formatter.write_str("name, tools and settings of the conversation are left out")
            }
            Self::FurtherFields(count) => {
                write!(formatter, "further fields of {count} messages are left out")
            }
            Self::Noted(count) => {
                write!(
                    formatter,
                    "of {count} messages the format holds the text alone, and the rest as a note"
                )
            }
            Self::NoText(count) => {
                write!(
                    formatter,
                    "of {count} messages whatever is no text is left out, such as thinking and calls"
                )
            }
            Self::Orphans(count) => {
                write!(formatter, "{count} nodes outside the tree are left out")
            }
        }
    }
}
