//! The arguments of the server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::builder::BoolishValueParser as Switch;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::limits::count;

/// Reads an address with a port, or a port alone, which only this machine reaches.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    }
    let problem =
        format!("{text:?} is neither an address with a port, such as 0.0.0.0:8080, nor a port, such as 8080");
    text.parse().map_err(|_| problem)
}

/// Where the server is reached, and by whom.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Server")]
pub(crate) struct ServingArguments {
    /// Listen at this address and port, or at a port of this machine alone; 127.0.0.1:8080 unless set. Addresses that other machines
    /// reach need keys
    #[arg(long, visible_alias = "port", value_name = "ADDRESS", value_parser = address, env = "ALLOQUY_BIND")]
    pub(crate) bind: Option<SocketAddr>,

    /// A further name under which clients reach the server, beside localhost; may be repeated, and * is any name
    #[arg(long, value_name = "NAME", env = "ALLOQUY_HOST")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) host: Vec<String>,

    /// Serve web pages of this origin, such as https://chat.example.org; may be repeated. None unless set
    #[arg(long, value_name = "ORIGIN", env = "ALLOQUY_ORIGIN")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) origin: Vec<String>,

    /// Do not serve the page with the conversations at /, but the API alone
    #[arg(long, env = "ALLOQUY_NO_PAGE", value_parser = Switch::new())]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) no_page: bool,

    /// Open addresses of images, audio and videos of this host, written NAME or NAME:PORT; may be repeated. None unless set
    #[arg(long, value_name = "NAME", env = "ALLOQUY_MEDIA_HOST")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) media_host: Vec<String>,

    /// Serve the flows of this folder, each in a file that ends in .yaml; none unless set
    #[arg(long, value_name = "FOLDER", env = "ALLOQUY_FLOWS")]
    pub(crate) flows: Option<PathBuf>,

    /// Serve these models where --model names none, written as there; a list in the configuration file
    #[arg(long, value_name = "NAMES", env = "ALLOQUY_SERVE_MODELS", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) serve_models: Vec<String>,

    /// Let requests for responses name the tools of an MCP server that COMMAND starts, by a label; may be repeated. None unless set
    #[arg(long, value_name = "LABEL=COMMAND", env = "ALLOQUY_SERVE_MCP")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) serve_mcp: Vec<String>,

    /// Let requests for responses name the tools of the MCP server at URL, by a label; may be repeated. None unless set
    #[arg(long, value_name = "LABEL=URL", env = "ALLOQUY_SERVE_MCP_URL")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) serve_mcp_url: Vec<String>,

    /// Keep models of at most N MiB together in memory, and unload those that were not used for the longest time; all unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_MODEL_MEMORY", value_parser = count::<u64>("model-memory"))]
    pub(crate) model_memory: Option<u64>,

    /// Answer N requests of one owner at once; 8 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_CONCURRENT", value_parser = count::<usize>("concurrent"))]
    pub(crate) concurrent: Option<usize>,

    /// Let N further requests of one owner wait, and refuse others; 32 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_QUEUE", value_parser = count::<usize>("queue"))]
    pub(crate) queue: Option<usize>,

    /// Keep snapshots of what models have computed of stored conversations in this folder, or in s3://BUCKET/PREFIX, and continue from them
    /// after a restart and on other servers. None unless set
    #[arg(long, value_name = "PLACE", env = "ALLOQUY_SNAPSHOTS")]
    pub(crate) snapshots: Option<String>,

    /// Let the snapshots of a folder take N megabytes together; 4000 unless set. The least recently used are removed first. In a bucket
    /// each one may take N, and 1000 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_SNAPSHOTS_QUOTA", value_parser = count::<u64>("snapshots-quota"))]
    pub(crate) snapshots_quota: Option<u64>,

    /// Let owners share cached prompts: a system prompt that all of them have is computed once, and each can find out what others have
    /// sent. Each has a cache of its own unless set
    #[arg(long, env = "ALLOQUY_SHARE_CACHE", value_parser = Switch::new())]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) share_cache: bool,

    /// Let running replies end within N seconds when the server ends; 30 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_DRAIN", value_parser = count::<u64>("drain"))]
    pub(crate) drain: Option<u64>,

    /// The form of the log on standard error: text or json; text unless set
    #[arg(long, value_enum, value_name = "FORM", env = "ALLOQUY_LOG_FORMAT", hide_possible_values = true)]
    pub(crate) log_format: Option<LogFormat>,

    /// Let /metrics be read by the token in this file; a server with keys refuses it unless set
    #[arg(long, value_name = "FILE", env = "ALLOQUY_METRICS_TOKEN_FILE")]
    pub(crate) metrics_token_file: Option<PathBuf>,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) keys: KeyArguments,
}

/// The form of a server's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// Lines for people. The system's journal adds the time.
    #[default]
    Text,
    /// Objects with the time, one a line.
    Json,
}

/// Where keys are.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Server")]
pub(crate) struct KeyArguments {
    /// The file of keys; keys.json in the data folder unless set. Where it exists, every request needs one of them
    #[arg(long, value_name = "FILE", env = "ALLOQUY_KEYS")]
    pub(crate) keys: Option<PathBuf>,
}
