//! The page: its files as they are committed, without a key, with headers that let nothing else run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::path::{Path, PathBuf};

use alloquy_server::{KeyFile, KeyLimits, Server};
use serde_json::json;

use shared::{Answer, TestServer, scripted};

/// The committed files.
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/page");

/// Returns the paths of all files of a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files
}

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers.get(name).unwrap_or_else(|| panic!("{name} is missing")).to_str().unwrap()
}

/// A server with keys, of which its clients here have none.
async fn with_keys() -> TestServer {
    let mut keys = KeyFile::default();
    keys.add("ann".parse().unwrap(), KeyLimits::default()).unwrap();
    TestServer::start(Server::builder().model(scripted("tea", [])).keys(keys)).await
}

#[tokio::test]
async fn every_committed_file_is_served_without_a_key() {
    let server = with_keys().await;
    assert_eq!(server.get("/v1/models").await.status, 401);
    let all = files(Path::new(FILES));
    assert!(all.len() >= 3, "{all:?}");
    for file in all {
        let name = file.strip_prefix(FILES).unwrap().to_str().unwrap().replace('\\', "/");
        let response = server.request("GET", &format!("/page/{name}")).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200, "{name}");
        let caching = response.headers()["cache-control"].to_str().unwrap().to_owned();
        assert_eq!(caching.contains("immutable"), name.starts_with("assets/"), "{name}: {caching}");
        assert_eq!(response.bytes().await.unwrap(), std::fs::read(&file).unwrap(), "{name}");
    }
    let index = server.get("/").await;
    assert_eq!((index.status, header(&index, "cache-control")), (200, "no-cache"));
    assert_eq!(header(&index, "content-type"), "text/html; charset=utf-8");
    assert_eq!(index.text, std::fs::read_to_string(Path::new(FILES).join("index.html")).unwrap());
}

#[tokio::test]
async fn the_page_names_its_own_files_alone_and_has_nothing_inline() {
    let server = TestServer::saying([]).await;
    let index = server.get("/").await.text;
    let mut named = 0;
    for attribute in ["src=\"", "href=\""] {
        for rest in index.split(attribute).skip(1) {
            let address = rest.split('"').next().unwrap();
            let path = address.strip_prefix('/').unwrap_or(address);
            assert!(path.starts_with("page/"), "{address}");
            assert_eq!(server.get(&format!("/{path}")).await.status, 200, "{address}");
            named += 1;
        }
    }
    assert!(named > 0, "{index}");
    for inline in ["<style", " style=", " onload=", " onclick=", "javascript:", "http://", "https://"] {
        assert!(!index.contains(inline), "{inline} in {index}");
    }
    for script in index.split("<script").skip(1) {
        let (_, body) = script.split_once('>').unwrap();
        assert!(body.trim_start().starts_with("</script>"), "{index}");
    }
}

#[tokio::test]
async fn a_browser_learns_what_the_page_may_do() {
    let server = with_keys().await;
    for (path, status) in [("/", 200), ("/page/index.html", 200), ("/page/assets/nothing.js", 404)] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, status, "{path}");
        let policy = header(&answer, "content-security-policy");
        for rule in [
            "default-src 'none'",
            "script-src 'self';",
            "style-src 'self';",
            "connect-src 'self';",
            "frame-ancestors 'none'",
            "form-action 'none'",
            "base-uri 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
        assert_eq!(header(&answer, "referrer-policy"), "no-referrer");
        assert_eq!(header(&answer, "cross-origin-opener-policy"), "same-origin");
        assert!(header(&answer, "permissions-policy").contains("microphone=(self)"));
    }
}

#[tokio::test]
async fn a_file_that_the_browser_has_is_not_sent_again() {
    let server = TestServer::saying([]).await;
    let first = server.get("/").await;
    let tag = header(&first, "etag").to_owned();
    for known in [tag.clone(), tag.replace("W/", ""), format!("\"other\", {tag}"), "*".to_owned()] {
        let again = server.send(server.request("GET", "/").header("if-none-match", &known)).await;
        assert_eq!((again.status, again.text.as_str()), (304, ""), "{known}");
        assert_eq!(header(&again, "etag"), tag);
        assert_eq!(header(&again, "cache-control"), "no-cache");
    }
    let other = server.send(server.request("GET", "/").header("if-none-match", "\"other\"")).await;
    assert_eq!((other.status, other.text), (200, first.text));
}

#[tokio::test]
async fn a_file_is_compressed_for_those_who_can_read_it() {
    let server = TestServer::saying([]).await;
    let request = server.request("GET", "/").header("accept-encoding", "gzip");
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert!(response.headers()["vary"].to_str().unwrap().contains("accept-encoding"));
    // The magic bytes of gzip.
    assert_eq!(response.bytes().await.unwrap()[..2], [0x1F, 0x8B]);
    let answer = server.get("/").await;
    assert!(!answer.headers.contains_key("content-encoding"));
}

#[tokio::test]
async fn other_methods_other_names_and_other_hosts_are_refused() {
    let server = with_keys().await;
    let head = server.send(server.request("HEAD", "/")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(server.post("/", &json!({})).await.status, 405);
    assert_eq!(server.delete("/page/index.html").await.status, 405);
    for path in
        ["/page/", "/page", "/page/../Cargo.toml", "/page/%2e%2e/Cargo.toml", "/page/%00", "/page/assets"]
    {
        let answer = server.get(path).await;
        // Outside of the page, a key is missing.
        assert!([401, 404].contains(&answer.status), "{path}: {}", answer.status);
    }
    for path in ["/", "/page/index.html"] {
        let answer = server.send(server.request("GET", path).header("host", "evil.example")).await;
        assert_eq!(
            (answer.status, answer.error()["code"].as_str()),
            (403, Some("host_not_allowed")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_server_without_the_page_has_no_such_route() {
    let server = TestServer::start(Server::builder().model(scripted("tea", [])).page(false)).await;
    for path in ["/", "/page/index.html"] {
        let answer = server.get(path).await;
        assert_eq!((answer.status, answer.error()["code"].as_str()), (404, Some("unknown_url")), "{path}");
        assert!(!answer.headers.contains_key("content-security-policy"));
    }
    assert_eq!(server.get("/v1/models").await.status, 200);
}
