//! Servers of the Model Context Protocol (MCP) as tools of Alloquy.
//!
//! An [`McpServer`] is a [`ToolProvider`](alloquy_core::tool::ToolProvider): a
//! [`Toolbox`](alloquy_core::tool::Toolbox) offers the server's tools to a model like any other tools, and a call of one is a
//! request to the server.
//!
//! ```no_run
//! use alloquy_core::tool::Toolbox;
//! use alloquy_mcp::McpServer;
//! use std::process::Command;
//!
//! # async fn connect() -> alloquy_core::Result<()> {
//! # #[cfg(all(feature = "http", feature = "stdio"))] {
//! let mut program = Command::new("python3");
//! program.args(["-m", "mcp_server_time"]);
//! let time = McpServer::program(program).await?;
//! let search = McpServer::http("https://example.com/mcp").await?;
//! let toolbox = Toolbox::default().source(time).source(search.prefixed("search_"));
//! # }
//! # Ok(())
//! # }
//! ```
//!
//! # Servers
//!
//! | server | feature | constructor |
//! |---|---|---|
//! | a program on this machine, over its standard input and output | `stdio` | `McpServer::program` |
//! | an address, over streamable HTTP | `http` | `McpServer::http`, with an `HttpEndpoint` for a bearer token |
//!
//! Neither needs a runtime of the host: each server has a thread of its own. The connection ends when the last clone of the
//! server and the last of its tools are dropped. A program that was started for the connection ends with it, and so does
//! every process of its group.
//!
//! # Tools
//!
//! * The list of tools is read when the connection is made, and again when the server reports that it changed. A turn offers
//!   the tools that are listed when it starts.
//! * A tool with an invalid name, with the name of another tool, or with a schema that nests too deep is not offered.
//!   [`McpServer::refused`] lists these as [`RefusedTool`]s.
//! * A result of several texts becomes one text, with a line feed between them; structured content is JSON. Images, audio
//!   and binary resources are replaced by a description: only text and JSON reach the model.
//! * An error of the server is an error of the tool, in the server's own words, so that the model can react to it.
//!
//! # Limits
//!
//! [`McpLimits`] bounds the time and the memory that a server may use. A server that hangs, floods the connection or exits
//! causes errors of its own calls and nothing else.
//!
//! Sampling, roots and elicitation are not offered to servers. Resources and prompts of a server are not read. Whether a call
//! needs approval is decided by the toolbox, not here.
//!
//! Read on in the page on tools, `docs/tools.md` in the repository.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(any(feature = "http", feature = "stdio")), allow(dead_code))] // without them no server can be connected

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
pub use http::HttpEndpoint;
pub use limits::McpLimits;
pub use server::McpServer;
