//! Chat endpoints, for servers that take no ids.

mod anthropic;
mod assembly;
mod builder;
mod calls;
mod clock;
mod completions;
mod event;
mod model;
mod protocol;
mod question;
mod responses;
mod stops;
mod transfer;

pub use builder::RemoteChatBuilder;
pub use model::RemoteChat;
pub use protocol::ChatProtocol;
