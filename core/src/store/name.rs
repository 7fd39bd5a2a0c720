//! The names of conversations and of their owners.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::invisible::first_invisible;
use crate::tree::NodeId;
use crate::{Error, ErrorKind, Result};

/// The name of a conversation: 1 to 255 bytes, no control characters. Two owners may use the same name.
///
/// The name of a new conversation must not have invisible characters either: see [`ConversationId::must_be_visible`].
///
/// ```
/// use alloquy_core::ConversationId;
///
/// let id: ConversationId = "support/42".parse()?;
/// assert_eq!(id.as_str(), "support/42");
/// assert!("".parse::<ConversationId>().is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ConversationId(String);

impl ConversationId {
    /// Creates a unique id. Such ids sort by the time of their creation.
    #[allow(clippy::new_without_default)] // every call gives another value
    pub fn new() -> Self {
        Self(NodeId::new().to_string())
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Checks that a new conversation may have this name: it must not have invisible characters. Parsing accepts more,
    /// so that conversations of older versions can be found and deleted.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a name with a character that is invisible or reverses the direction of the text.
    ///
    /// ```
    /// use alloquy_core::ConversationId;
    ///
    /// let id: ConversationId = "tea\u{202E}gpj".parse()?;
    /// let error = id.must_be_visible().unwrap_err();
    /// assert!(error.to_string().starts_with("conversation id \"tea\\u{202e}gpj\" has the character U+202E"));
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn must_be_visible(&self) -> Result<()> {
        visible("conversation id", &self.0)
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for ConversationId {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        checked("conversation id", name).map(Self)
    }
}

impl TryFrom<String> for ConversationId {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

impl From<ConversationId> for String {
    fn from(id: ConversationId) -> Self {
        id.0
    }
}

/// The owner of conversations: a tenant, a user, a team. Its name has 1 to 255 bytes and no control characters.
///
/// Every call of a store names an owner, and sees only the data of that owner.
///
/// ```
/// use alloquy_core::Owner;
///
/// let owner: Owner = "customer-7".parse()?;
/// assert_ne!(owner, Owner::local());
/// assert!("".parse::<Owner>().is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Owner(String);

impl Owner {
    /// Returns the owner for programs with only one user. Data from versions without owners belongs to it.
    pub fn local() -> Self {
        Self("local".to_owned())
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Checks that conversations may be created for this owner, like [`ConversationId::must_be_visible`].
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a name with a character that is invisible or reverses the direction of the text.
    pub fn must_be_visible(&self) -> Result<()> {
        visible("owner", &self.0)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for Owner {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        checked("owner", name).map(Self)
    }
}

impl TryFrom<String> for Owner {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

impl From<Owner> for String {
    fn from(owner: Owner) -> Self {
        owner.0
    }
}

fn checked(what: &str, name: &str) -> Result<String> {
    if name.is_empty() || name.len() > 255 || name.chars().any(char::is_control) {
        let message = format!("{what} {name:?} is not 1 to 255 bytes without control characters");
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    Ok(name.to_owned())
}

/// Checks that a new name has no invisible characters.
fn visible(what: &str, name: &str) -> Result<()> {
    let Some(character) = first_invisible(name) else { return Ok(()) };
    let number = u32::from(character);
    let message = format!(
        "{what} {name:?} has the character U+{number:04X}, which is invisible or reverses the direction of the text: \
         choose a name without it"
    );
    Err(Error::new(ErrorKind::Invalid, message))
}

/// Checks that a name is valid for a new conversation, or for something else with the same rules.
pub(crate) fn must_be_a_name(what: &str, name: &str) -> Result<()> {
    checked(what, name)?;
    visible(what, name)
}
