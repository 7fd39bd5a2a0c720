//! Conversations with language models: the types, the traits, and the turn.
//!
//! This crate does no I/O, knows no async runtime and no other crate of Alloquy. Everything else plugs into it, the language
//! model of `alloquy-inference` among it:
//!
//! ```text
//! Message ─▶ node ─▶ TemplateInput ─▶ rendered ─▶ parts ─▶ units ─▶ tokens ─▶ text ─▶ deltas ─▶ Message ─▶ node
//!  turn      tree     processor        template    processor prompt   session   detok    parser    parser     tree
//!            └─────────────────────── language model: one model call ─────────────────────────┘
//! ```
//!
//! The modules are listed in the order in which a message meets them.

mod address;
mod annotations;
mod arguments;
mod branch;
mod calls;
mod cancel;
mod chat_model;
mod clock;
mod constraint;
mod conversation;
pub mod decoder;
mod drawing;
mod engine;
mod error;
mod excerpt;
mod grammar;
mod guidance;
mod invisible;
mod json;
mod loading;
mod manager;
mod media;
mod media_processor;
mod message;
mod middleware;
mod panics;
mod path;
mod preface;
mod prices;
mod processor;
mod prompt;
mod query;
mod report;
mod role_markers;
mod sampling;
#[cfg(feature = "schemars")]
mod schema;
mod search;
mod spending;
mod stop;
mod store;
mod stream;
mod task_group;
mod template;
mod tokenizer;
mod tool;
mod tree;
mod turn;
mod turn_data;
mod vocabulary;

pub use address::{Address, Position};
pub use annotations::{ANNOTATIONS, Annotations};
pub use arguments::{InjectionPolicy, ProcessorArguments, TextSource, ThinkingHistory, ThinkingSwitch};
pub use branch::{Branch, BranchDiff};
pub use cancel::Cancel;
pub use chat_model::{ChatModel, Models, Origin, Reply, ReplyStream, Request, TextMap};
pub use constraint::{Constraint, ConstraintCompiler, Constraints, Progress};
pub use conversation::{Conversation, MergeReport};
pub use decoder::snapshot::{Snapshot, SnapshotOrigin, SnapshotRefusal, SnapshotSource, StateReader};
pub use decoder::{
    CacheStatistics, DecodeEnd, DecodeEvent, DecodeEventKind, DecodeRequest, Decoder, GrammarSupport,
    GuidedDecoding, ThinkingRule, TokenStream,
};
pub use drawing::Drawing;
pub use engine::{Engine, ModelInfo, Session, Step};
pub use error::{Error, ErrorKind, Result};
pub use excerpt::excerpt;
pub use grammar::Grammar;
pub use guidance::{Guidance, ParallelCalls, ToolChoice};
pub use json::JSON_VERSION;
pub use loading::{LoadPhase, LoadTiming};
pub use manager::{ConversationManager, Manager, ManagerBuilder, NewConversation};
pub use media::{Digest, Media, MediaKind};
pub use media_processor::{MediaGrid, MediaOutline, MediaPiece, MediaProcessor, MediaTensor, TensorData};
pub use message::{ChannelText, Content, Malformed, Message, Part, Role, Source, ToolCall, ToolResult};
pub use middleware::{
    DropPolicy, FittedRequest, HistoryDrop, HistoryShift, HistorySummary, Middleware, Next, PromptLength,
    ShiftPolicy, SummarisedRequest, SummaryPolicy,
};
pub use path::{MessagePath, MessagesMut};
pub use preface::{Preface, ToolSpec};
pub use prices::{Day, Price, PriceTable, TokenCount};
pub use processor::{ArgumentsDelta, Channel, DataProcessor, Delta, PromptPart, PromptSource, ReplyParser};
pub use prompt::{PlacedMedia, PreparedPrompt, Prompt, Unit, common_prefix};
pub use query::{
    Cursor, Direction, Filter, MetadataKey, Period, Query, RANKED, Scalar, SearchScope, Sort, SortKey, Test,
};
pub use report::{
    CacheReport, CutHistory, CutSummary, Degradation, FinishReason, MissReason, ReplyFacts, ReplyTiming,
    Score, Speculation, Usage,
};
pub use role_markers::RoleMarkers;
pub use sampling::{Logprob, PenaltyScope, SampledLogprobs, SamplingOptions};
pub use search::{Candidate, Ranked, SearchHit, SearchPage, SearchTerm, SearchText, Snippet};
pub use spending::Spending;
pub use stop::{StopSignal, UntilStopped};
pub use store::{
    Archive, BLOB_GRACE, ConversationId, ConversationPage, ConversationRecord, ConversationStore,
    ConversationStoreExt, ConversationSummary, DamagedConversation, HeadMove, MemoryStore, Owner,
    PartialDeletion, import_each,
};
pub use stream::{Emit, Run};
pub use task_group::{Task, TaskGroup};
pub use template::{Ending, PromptTemplate, TemplateInput};
pub use tokenizer::{Detokenizer, Normalized, Normalizer, Piece, SpecialToken, TokenId, Tokenizer, decode};
#[cfg(feature = "schemars")]
pub use tool::TypedTool;
pub use tool::{Approval, RESULT_DEPTH, Timer, Tool, ToolContext, ToolSource, Toolbox, Tools, Verdict};
pub use tree::{Node, NodeId, NodeStatus, Tree};
pub use turn::{Added, PartialReplies, Turn, TurnEnd, TurnEvent, TurnReply, TurnRequest};
pub use turn_data::TurnData;
pub use vocabulary::{Vocabulary, VocabularyToken};
