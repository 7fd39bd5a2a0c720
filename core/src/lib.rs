//! Conversations with language models: the types, the traits, and the turn.
//!
//! This crate does no I/O, knows no async runtime and no other crate of Alloquy. Everything else plugs into it:
//!
//! ```text
//! Message ─▶ node ─▶ TemplateInput ─▶ rendered ─▶ parts ─▶ units ─▶ tokens ─▶ text ─▶ deltas ─▶ Message ─▶ node
//!  turn      tree     processor        template    processor prompt   session   detok    parser    parser     tree
//!            └───────────────────────────── round: one model call ────────────────────────────┘
//! ```
//!
//! The modules are listed in the order in which a message meets them.

mod arguments;
mod calls;
mod chat;
mod chat_model;
mod conversation;
mod engine;
mod error;
mod generator;
#[cfg(feature = "laws")]
pub mod laws;
mod manager;
mod media;
mod message;
mod middleware;
mod preface;
mod processor;
mod prompt;
mod round;
mod sampling;
mod slots;
mod stop;
mod store;
mod stream;
mod template;
#[cfg(feature = "testing")]
pub mod testing;
mod tokenizer;
mod tool;
mod tree;
mod turn;

pub use arguments::{InjectionPolicy, ProcessorArguments, TextSource, ThinkingHistory, ThinkingSwitch};
pub use chat::{Ask, Chat};
pub use chat_model::{CacheReport, ChatModel, Degradation, FinishReason, Reply, ReplyStream, Request, Usage};
pub use conversation::{Conversation, MessageStream, Messages};
pub use engine::{Cancel, Engine, ModelInfo, Session};
pub use error::{Error, ErrorKind, Result};
pub use generator::{Generation, Generator, TokenStream};
pub use manager::{ConversationManager, Manager, ManagerBuilder, NewConversation};
pub use media::{Digest, Media};
pub use message::{Malformed, Message, Part, Role, ToolCall, ToolResult, formats};
pub use middleware::{Middleware, Next};
pub use preface::{Preface, ToolSpec};
pub use processor::{DataProcessor, Delta, PromptPart, PromptSource, ReplyParser};
pub use prompt::{Prompt, Unit, common_prefix};
pub use round::{PreparedPrompt, Round, RoundBuilder};
pub use sampling::{Candidate, Sampler, SamplingOptions, SamplingStep};
pub use stop::{StopSignal, StopStrings, UntilStopped};
pub use store::{
    ConversationId, ConversationRecord, ConversationStore, ConversationStoreExt, ConversationSummary,
    MemoryStore, Query,
};
pub use stream::{Emit, Run};
pub use template::{Ending, PromptTemplate, TemplateInput};
pub use tokenizer::{Detokenizer, Piece, SpecialToken, TokenId, Tokenizer, decode};
#[cfg(feature = "schemars")]
pub use tool::TypedTool;
pub use tool::{Approval, Timer, Tool, ToolSource, Toolbox, Tools, Verdict};
pub use tree::{Address, Node, NodeId, NodeStatus, Tree};
pub use turn::{HeadMove, Turn, TurnEnd, TurnEvent, TurnReply};
