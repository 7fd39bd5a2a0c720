//! How servers are reached: certificates of a company's own, headers of keys, proxies, names of limits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod llama;
mod stub;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use alloquy_core::{ChatModel, Error, ErrorKind, Message, Preface, Reply, Request, Result, SamplingOptions};
use alloquy_openai::{
    ApiKey, ChatProtocol, Dialect, RemoteChat, RemoteChatBuilder, RemoteRetries, RemoteServer,
};
use llama::Llama;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;
use stub::{Answer, SCRIPT, Stub, http};

fn chat(server: RemoteServer, protocol: ChatProtocol) -> Result<Reply> {
    let builder = RemoteChat::builder(server).protocol(protocol).model("script");
    let sampling = SamplingOptions { max_tokens: Some(50), ..SamplingOptions::default() };
    let request = Request::new(Preface::default(), vec![Message::user("Hi")]).sampling(sampling);
    pollster::block_on(async { builder.connect().await?.reply(request).await?.finish().await })
}

fn stub() -> Stub {
    Stub::new(Dialect::Completions)
}

fn key() -> ApiKey {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "hush").unwrap();
    ApiKey::file(file.path()).unwrap()
}

#[test]
fn the_key_is_in_the_header_that_is_set() {
    for protocol in ChatProtocol::ALL {
        for (name, line) in [
            ("authorization", "authorization: bearer hush\r\n"),
            ("Authorization", "authorization: bearer hush\r\n"),
            ("x-api-key", "x-api-key: hush\r\n"),
            ("api-key", "\r\napi-key: hush\r\n"),
        ] {
            let stub = stub();
            let server = stub.server().key(key()).key_header(name);
            let printed = format!("{server:?}");
            assert_eq!(chat(server, protocol).unwrap().text(), SCRIPT);
            let head = stub.shared.head.lock().unwrap().to_lowercase();
            assert!(head.contains(line), "{protocol:?}: {head}");
            assert_eq!(head.matches("hush").count(), 1, "{protocol:?}: the key is sent once");
            assert!(!printed.contains("hush"), "{printed}");
        }
    }
    let error = chat(stub().server().key_header("no header\n"), ChatProtocol::Completions).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("no header"), "{error}");
}

#[test]
fn llama_cpp_reads_the_key_in_either_header() {
    // The setting is a list, so each of its letters is a key.
    let Some(server) = Llama::with_slots("1", &["api_keys=hk"]) else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "k").unwrap();
    for protocol in ChatProtocol::ALL {
        let refused = chat(RemoteServer::at(&server.url), protocol).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid, "{protocol:?}: {refused:#}");
        let with_key = RemoteServer::at(&server.url).key(ApiKey::file(file.path()).unwrap());
        for name in ["authorization", "x-api-key"] {
            chat(with_key.clone().key_header(name), protocol).unwrap();
        }
        chat(with_key, protocol).unwrap();
    }
}

fn limited(stub: &Stub, builder: impl FnOnce(RemoteChatBuilder) -> RemoteChatBuilder) -> Result<Reply> {
    let builder = builder(RemoteChat::builder(stub.server()).model("script"));
    let sampling = SamplingOptions { max_tokens: Some(3), ..SamplingOptions::default() };
    let request = Request::new(Preface::default(), vec![Message::user("Hi")]).sampling(sampling);
    pollster::block_on(async { builder.connect().await?.reply(request).await?.finish().await })
}

#[test]
fn the_limit_of_a_reply_has_the_name_that_is_set() {
    let stub = stub();
    limited(&stub, |builder| builder).unwrap();
    let sent = stub.last_request();
    assert_eq!((sent["max_tokens"].as_u64(), sent.get("max_completion_tokens")), (Some(3), None));
    limited(&stub, RemoteChatBuilder::max_completion_tokens).unwrap();
    let sent = stub.last_request();
    assert_eq!((sent.get("max_tokens"), sent["max_completion_tokens"].as_u64()), (None, Some(3)));

    // The words of OpenAI's server.
    let refusal = r#"{"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter"}}"#;
    stub.plan([Answer::Status(400, "", refusal)]);
    let error = limited(&stub, |builder| builder).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("RemoteChatBuilder::max_completion_tokens"), "{error}");

    for protocol in [ChatProtocol::Messages, ChatProtocol::Responses] {
        let refused = limited(&stub, |builder| builder.protocol(protocol).max_completion_tokens());
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
    }
}

/// Makes a certificate for this machine and the one that has signed it. Says when there is no program for it.
fn certificates(folder: &Path) -> Option<()> {
    let script = "
        set -e
        curve='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
        openssl req -x509 $curve -keyout root.key -out root.pem -days 30 -subj '/CN=Root of a test'
        openssl req $curve -keyout server.key -out server.csr -subj '/CN=localhost'
        printf 'subjectAltName=IP:127.0.0.1\\nextendedKeyUsage=serverAuth\\n' > extensions
        openssl x509 -req -in server.csr -CA root.pem -CAkey root.key -CAcreateserial -days 30 -extfile extensions -out server.pem
    ";
    let made = Command::new("sh").args(["-c", script]).current_dir(folder).output();
    if made.as_ref().is_ok_and(|output| output.status.success()) {
        return Some(());
    }
    eprintln!("Skipping: no certificate could be made with openssl: {made:?}");
    None
}

/// Serves what a server without encryption serves, with encryption. Returns the address.
fn encrypted(plain: &str, folder: &Path) -> String {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let chain = vec![CertificateDer::from_pem_file(folder.join("server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let config = Arc::new(config);
    let plain = plain.strip_prefix("http://").unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let (mut stream, plain) = (StreamOwned::new(connection, stream), plain.clone());
            // A client that does not trust the certificate closes the connection.
            thread::spawn(move || forward(&mut stream, &plain).unwrap_or_default());
        }
    });
    url
}

/// Forwards one request, and its answer.
fn forward(stream: &mut StreamOwned<ServerConnection, TcpStream>, plain: &str) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !is_complete(&request) {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..read]);
    }
    let mut server = TcpStream::connect(plain)?;
    server.write_all(&request)?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    stream.write_all(&answer)?;
    stream.conn.send_close_notify();
    stream.flush()
}

fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

#[test]
fn a_root_certificate_is_trusted_and_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let Some(()) = certificates(folder.path()) else { return };
    let stub = stub();
    let url = encrypted(&stub.url, folder.path());
    let mut retries = RemoteRetries::default();
    retries.attempts = 1;
    let server = RemoteServer::at(&url).retries(retries);

    let error = chat(server.clone(), ChatProtocol::Completions).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Backend);
    assert!(error.whole().to_lowercase().contains("certificate"), "{}", error.whole());

    let pem = std::fs::read_to_string(folder.path().join("root.pem")).unwrap();
    let trusting = server.clone().root_certificate(&pem);
    assert_eq!(chat(trusting, ChatProtocol::Completions).unwrap().text(), SCRIPT);
    // A file may have several, and so may a server.
    let trusting = server.clone().root_certificate(pem.repeat(2)).root_certificate(pem);
    assert_eq!(chat(trusting, ChatProtocol::Messages).unwrap().text(), SCRIPT);

    for text in ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA"] {
        let error = chat(server.clone().root_certificate(text), ChatProtocol::Completions).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{text:?}: {error:#}");
    }
}

/// What the test says to the process that has proxies in its environment.
const ADDRESS: &str = "ALLOQUY_TEST_ADDRESS";

/// Returns the names of a server's models, as a process with this proxy finds them.
fn models_by_proxy(address: &str, variable: &str, proxy: &str) -> Result<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_process_with_a_proxy", "--ignored", "--nocapture"]);
    // What this machine has set is not meant.
    for name in ["NO_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    let output = command.env(ADDRESS, address).env(variable, proxy).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let models = printed.lines().find_map(|line| line.split_once("models: "));
    let message = format!("{printed}{}", String::from_utf8_lossy(&output.stderr));
    models.map(|(_, models)| models.to_owned()).ok_or_else(|| Error::new(ErrorKind::Backend, message))
}

#[test]
#[ignore = "the next test starts it as a process of its own"]
fn a_process_with_a_proxy() {
    let Ok(address) = std::env::var(ADDRESS) else {
        return eprintln!("skipped: {ADDRESS} names no server");
    };
    let model = pollster::block_on(RemoteChat::connect(address)).unwrap();
    println!("models: {}", model.name());
}

#[test]
fn proxies_of_the_environment_are_used_but_not_for_this_machine() {
    let proxy = http::serve(|stream, asked| {
        let name = if asked.path == "http://models.invalid/v1/models" { "by proxy" } else { "wrong" };
        http::respond(stream, 200, "", &json!({"data": [{"id": name}]}).to_string());
    });
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        assert_eq!(
            models_by_proxy("http://models.invalid", variable, &proxy).unwrap(),
            "by proxy",
            "{variable}"
        );
        let stub = stub();
        let (_, port) = stub.url.rsplit_once(':').unwrap();
        for host in ["127.0.0.1", "localhost"] {
            let address = format!("http://{host}:{port}");
            assert_eq!(models_by_proxy(&address, variable, &proxy).unwrap(), "script", "{variable}, {host}");
        }
    }
}
