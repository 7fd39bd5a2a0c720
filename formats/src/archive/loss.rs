//! What a document does not say as it stood: repaired while reading, left out while writing. Knows no format.

use std::fmt;

use alloquy_core::error::excerpt;

/// What had to be changed of a document so that it could be read. Ids are those of the document.
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
        /// What stands there.
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
    /// The node at which the conversation stands is not there; it stands at another one.
    HeadMoved {
        /// The id in the document.
        from: String,
        /// Where it stands.
        to: String,
    },
    /// A role that nobody has here; the message is one of the user's, or of the tool's when it is a function's.
    UnknownRole {
        /// The node.
        node: String,
        /// The role.
        role: String,
    },
    /// The content of a message is neither text nor absent; it is its JSON.
    ContentNotText(String),
    /// Calls of tools stood beside the message, where old versions wrote them.
    CallsMoved(String),
    /// A call has no id, or what stands there is no call; it was given one, or was left in the metadata.
    CallRepaired(String),
    /// The arguments of a call are a text that holds an object, as some services send them; they are that object.
    ArgumentsRead(String),
    /// A result names no call that is open; it stands under a made-up id.
    ResultRepaired(String),
    /// What is noted with a node means something else here; the metadata keeps it under `dataknobs`.
    NotedOtherwise {
        /// The node.
        node: String,
        /// The names in its metadata.
        names: Vec<String>,
    },
    /// A reply says what it took, but not in tokens: nobody knows how many.
    UsageUnread(String),
    /// Under `alloquy` in the metadata of the conversation stands what is no [`Annotations`](alloquy_core::annotations::Annotations);
    /// it is kept under `dataknobs`.
    ForeignNotes(String),
    /// What Alloquy noted with a node contradicts what the node says by now, which counts.
    NoteOutdated(String),
}

impl fmt::Display for Repair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |node: &str, what: &str| format!("node {node:?}: {what}");
        let sentence = match self {
            Self::NewerVersion(version) => format!("version {version} is read as the newest known one"),
            Self::Renamed { from, to } => format!("the conversation {from:?} is called {to:?} now"),
            Self::NoCreation => {
                "the conversation has no time of creation: it is that of its first message".to_owned()
            }
            Self::NoZone(count) => format!("times that name no zone count as UTC: {count}"),
            Self::BadTime { node, found } => {
                of(node, &format!("{found:?} is no time, it counts as said when the one before it was"))
            }
            Self::TimeMoved(node) => {
                of(node, "its id says a later time, because a sibling before it has that")
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
            Self::Renumbered(nodes) => format!("other ids than their places have {}", quoted(nodes)),
            Self::HeadMoved { from, to } => {
                format!("the conversation stood at {from:?}, now it stands at {to:?}")
            }
            Self::UnknownRole { node, role } => {
                of(node, &format!("nobody has the role {role:?} here, the metadata keeps it"))
            }
            Self::ContentNotText(node) => of(node, "its content is no text but other JSON"),
            Self::CallsMoved(node) => of(node, "calls of tools were moved into the message"),
            Self::ArgumentsRead(node) => {
                of(node, "the arguments of a call were a text, they are the object in it")
            }
            Self::CallRepaired(node) => of(node, "a call of a tool had no id, or was none"),
            Self::ResultRepaired(node) => of(node, "a result names no call before it"),
            Self::NotedOtherwise { node, names } => {
                of(node, &format!("what its metadata calls {} means something else here", quoted(names)))
            }
            Self::UsageUnread(node) => of(node, "its usage does not say how many tokens it took"),
            Self::ForeignNotes(reason) => {
                format!("what is noted on the nodes cannot be read and is kept aside: {reason}")
            }
            Self::NoteOutdated(node) => {
                of(node, "it was changed elsewhere, what was noted of that is dropped")
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
    /// Media, thoughts, results and whatever else is no text, in this many nodes: readers of the format do not see it, and
    /// Alloquy finds it in a note beside the message.
    Noted(usize),
    /// Thoughts, media, calls, results and whatever else is no text, in this many messages.
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
                    "of {count} messages whatever is no text is left out, such as thoughts and calls"
                )
            }
            Self::Orphans(count) => {
                write!(formatter, "{count} nodes that stood outside the tree are left out")
            }
        }
    }
}
