//! Items: what the input and the output of responses, and the contents of conversations, consist of in OpenAI's API.

mod given;
mod ids;
mod shown;

pub(crate) use given::{Calls, GivenItem, Input, References, parsed_items};
pub(crate) use ids::{ItemId, ItemPlace, ResponseId, conversation_id, conversation_of};
pub(crate) use shown::{Item, ItemContent, MARK, Shown, TurnMark, items_of_path};
