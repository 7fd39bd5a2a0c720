//! A server over streamable HTTP, on this machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod server;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_core::Result;
use alloquy_core::tool::ToolProvider;
use alloquy_mcp::{HttpEndpoint, McpServer};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use pollster::block_on;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde_json::{Value, json};

/// Serves on a thread until the process ends; every session shares one server.
fn serve() -> SocketAddr {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            let shared = Arc::new(server::Server::default());
            let sessions = Arc::new(LocalSessionManager::default());
            let service =
                StreamableHttpService::new(move || Ok(Arc::clone(&shared)), sessions, Default::default());
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let service = TowerToHyperService::new(service.clone());
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
    });
    receiver.recv().unwrap()
}

fn call(server: &McpServer, name: &str, arguments: &Value) -> Result<Value> {
    let tool = server.tools().into_iter().find(|tool| tool.spec().name == name).unwrap();
    block_on(tool.call(arguments))
}

#[test]
fn tools_answer_fail_and_appear() {
    let url = format!("http://{}/mcp", serve());
    let server = block_on(McpServer::http(HttpEndpoint::new(url).bearer("secret"))).unwrap();
    assert_eq!((server.name(), server.tools().len()), ("trial", 8));
    assert_eq!(call(&server, "add", &json!({"a": 2, "b": 3})).unwrap(), json!({"sum": 5}));
    assert_eq!(call(&server, "fail", &json!({})).unwrap_err().to_string(), "nothing to be done");
    call(&server, "grow", &json!({})).unwrap();
    let start = Instant::now();
    while server.tools().len() < 9 {
        assert!(start.elapsed() < Duration::from_secs(20), "the new tool does not appear");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(call(&server, "grown", &json!({})).unwrap(), "hello");
}

#[test]
fn an_address_without_a_server_is_an_error_that_names_it() {
    let error = block_on(McpServer::http("http://127.0.0.1:9/mcp")).unwrap_err();
    assert_eq!(error.to_string(), "cannot connect to the server \"http://127.0.0.1:9/mcp\"");
}
