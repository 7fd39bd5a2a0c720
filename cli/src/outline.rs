//! What lists show of a conversation: its title, and the model that answered last.

use alloquy::core::store::ConversationRecord;
use alloquy::core::{Node, Role};
use serde_json::Value;

use crate::kept::Kept;
use crate::visible::on_one_line;

/// The key of the title in the metadata of a conversation.
pub(crate) const TITLE: &str = "title";

/// The key of the model in the metadata of a conversation.
pub(crate) const MODEL: &str = "model";

/// How many characters of the first question are a title.
pub(crate) const TITLE_WIDTH: usize = 60;

/// The title and the model of a conversation; empty where they are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) title: String,
    pub(crate) model: String,
}

impl Outline {
    /// Reads them from the metadata. What is not there, as of conversations that were imported, is taken from the messages: the
    /// beginning of the first question, and the model of the last reply.
    pub(crate) async fn of(kept: &Kept, record: &ConversationRecord) -> Self {
        let outline = Self { title: title(record), model: text(record, MODEL) };
        match record.head {
            Some(head) if outline.title.is_empty() || outline.model.is_empty() => {
                match kept.store.load_path(&kept.owner, &record.id, head).await {
                    Ok(path) => outline.completed(&path),
                    // The list shows the conversation all the same; opening it reports the damage.
                    Err(_) => Self { title: "(cannot be read)".to_owned(), ..outline },
                }
            }
            _ => outline,
        }
    }

    fn completed(self, path: &[Node]) -> Self {
        let Self { mut title, mut model } = self;
        if title.is_empty() {
            let question = path.iter().find(|node| node.message.role == Role::User);
            title = question.map(|node| node.message.preview(TITLE_WIDTH)).unwrap_or_default();
        }
        if model.is_empty() {
            model = model_of(path).unwrap_or_default();
        }
        Self { title: on_one_line(&title), model: on_one_line(&model) }
    }
}

/// Returns the title in the metadata of a conversation.
pub(crate) fn title(record: &ConversationRecord) -> String {
    text(record, TITLE)
}

fn text(record: &ConversationRecord, key: &str) -> String {
    on_one_line(record.metadata.get(key).and_then(Value::as_str).unwrap_or_default())
}

/// Returns the model of the last reply on a path.
pub(crate) fn model_of<'a>(
    path: impl IntoIterator<Item = &'a Node, IntoIter: DoubleEndedIterator>,
) -> Option<String> {
    let reply = path.into_iter().rev().find_map(|node| node.reply.as_ref());
    reply.map(|facts| facts.model.clone()).filter(|model| !model.is_empty())
}
