//! The items that most programs use: `use alloquy::prelude::*;`.

pub use alloquy_core::grammar::Grammar;
pub use alloquy_core::output::OutputConstraints;
pub use alloquy_core::report::FinishReason;
pub use alloquy_core::{
    ChatModel, Content, Conversation, ConversationManager, Error, ErrorKind, Manager, Media, Message, Node,
    Owner, Part, Preface, Query, Reply, Request, Result, Role, SamplingOptions, Tool, ToolSpec, TurnEvent,
    TurnReply, TurnRequest,
};
pub use alloquy_storage::open as open_store;
/// Has `next`, for the next event of a turn: `turn.next().await`.
pub use futures::StreamExt;

pub use crate::model::{Model, ModelBuilder};
