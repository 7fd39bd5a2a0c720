//! Servers of the Model Context Protocol as tools.
//!
//! A server is a program on this machine (feature `stdio`) or an address (feature `http`). Its tools are offered like
//! any other, and a call of one is a request to the server. The server's tools may change: a turn offers those that
//! there are when it starts.
//!
//! It does not know conversations, models, or who approves of a call.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(any(feature = "http", feature = "stdio")), allow(dead_code))] // no way leads to a server then

mod catalogue;
mod connection;
mod content;
mod guarded;
#[cfg(feature = "http")]
mod http;
mod limits;
#[cfg(feature = "stdio")]
mod pipes;
#[cfg(feature = "stdio")]
mod process;
#[cfg(feature = "stdio")]
mod scanner;
mod server;
#[cfg(feature = "stdio")]
mod stdio;
mod tool;
mod worker;

pub use catalogue::RefusedTool;
#[cfg(feature = "http")]
pub use http::Endpoint;
pub use limits::McpLimits;
pub use server::McpServer;
