//! A gateway in front of the server: agentic-api keeps conversations itself, and asks this server for each turn. `ALLOQUY_GATEWAY` is its program
//! `agentic-server`, and `ALLOQUY_CLIENTS_PYTHON` a Python that has the package `openai`; without them, the test prints that it is skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use alloquy_server::{ServedModel, Server};

use shared::{ObedientModel, TestServer};

/// A gateway that ends with its test.
struct Gateway {
    process: Child,
    url: String,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Gateway {
    async fn start(program: &Path, folder: &Path, server: &TestServer) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let database = format!("sqlite://{}/gateway.db?mode=rwc", folder.display());
        let mut command = Command::new(program);
        command.args(["--llm-api-base", &server.url, "--gateway-host", "127.0.0.1", "--db-url", &database]);
        command.args(["--gateway-port", &port.to_string()]).env("HOME", folder);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let gateway = Self { process, url: format!("http://127.0.0.1:{port}") };
        for _ in 0..300 {
            if server.client.get(format!("{}/v1/models", gateway.url)).send().await.is_ok() {
                return gateway;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the gateway does not listen");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_with_conversations_of_its_own_works_in_front() {
    let (Some(program), Some(python)) =
        (std::env::var_os("ALLOQUY_GATEWAY"), std::env::var_os("ALLOQUY_CLIENTS_PYTHON"))
    else {
        eprintln!(
            "skipped: set ALLOQUY_GATEWAY to agentic-server, and ALLOQUY_CLIENTS_PYTHON to a Python that has the package openai"
        );
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("tea", ObedientModel))).await;
    let gateway = Gateway::start(Path::new(&program), folder.path(), &server).await;
    let mut command = Command::new(python);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/gateway.py")).args([&gateway.url, "none"]);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(output.stdout.ends_with(b"done\n"), "{errors}");
}
