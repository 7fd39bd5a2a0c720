//! The bytes of images and audio of stored conversations: at their node, for their owner, and as nothing that a browser would run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::store::{Archive, ConversationRecord, ConversationStoreExt, MemoryStore};
use alloquy_core::{Content, Media, Message, Node, Owner, Preface, Role};
use alloquy_server::{KeyFile, KeyLimits, ServedModel, Server};
use alloquy_testing::EchoModel;
use serde_json::{Value, json};

use shared::TestServer;

const ALL: &str = "/v1/alloquy/conversations";
/// What a PNG begins with.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const PNG_URL: &str = "data:image/png;base64,iVBORw0KGgo=";

fn image(url: &str) -> Value {
    json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]})
}

/// A server whose store has one message with these media, at `conv_tea`, and one without at `conv_plain`.
async fn holding(media: Vec<Content>) -> TestServer {
    let store = MemoryStore::default();
    let node = Node::new(None, Message::new(Role::User, media));
    let plain = Node::new(None, Message::user("Hi"));
    for (name, node) in [("tea", node), ("plain", plain)] {
        let mut record = ConversationRecord::new(name.parse().unwrap(), Preface::default());
        record.head = Some(node.id);
        store.import(&Owner::local(), &Archive::new(record, vec![node]).unwrap()).await.unwrap();
    }
    let model = ServedModel::loaded("echo", EchoModel);
    TestServer::start(Server::builder().model(model).store(Arc::new(store))).await
}

fn address(conversation: &str, digest: Digest) -> String {
    format!("{ALL}/{conversation}/nodes/head/media/{digest}")
}

#[tokio::test]
async fn the_bytes_of_an_image_are_at_its_node() {
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("echo", EchoModel))).await;
    server.post(ALL, &json!({"name": "tea"})).await;
    let added = server.post(&format!("{ALL}/conv_tea/nodes"), &image(PNG_URL)).await.json();
    let node = &added["nodes"][0];
    let part = &node["parts"][0]["image"];
    let (id, digest) = (node["id"].as_str().unwrap(), part["digest"].as_str().unwrap());
    let path = format!("{ALL}/conv_tea/nodes/{id}/media/{digest}");
    let response = server.request("GET", &path).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let headers = response.headers().clone();
    assert_eq!(headers["content-type"], "image/png");
    assert_eq!(headers["etag"], format!("\"{digest}\"").as_str());
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers["content-disposition"], format!("inline; filename=\"{digest}\"").as_str());
    assert_eq!(headers["cache-control"], "private, no-cache");
    assert!(headers["content-security-policy"].to_str().unwrap().contains("sandbox"));
    assert_eq!(response.bytes().await.unwrap(), PNG);
    // What the client has is not sent again.
    let again = server.request("GET", &path).header("if-none-match", format!("\"{digest}\""));
    let again = again.send().await.unwrap();
    assert_eq!((again.status().as_u16(), &again.headers()["etag"]), (304, &headers["etag"]));
    assert_eq!(again.headers()["x-content-type-options"], "nosniff");
    assert_eq!(again.bytes().await.unwrap(), b"".as_slice());
    // Nodes have names here as elsewhere.
    assert_eq!(server.request("GET", &path.replace(id, "head")).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_digest_is_that_of_the_node() {
    let server = holding(vec![Content::Image(Media::new("image/png", PNG))]).await;
    let digest = Digest::of(PNG);
    assert_eq!(server.request("GET", &address("tea", digest)).send().await.unwrap().status(), 200);
    // The same owner has the bytes, and the other conversation does not have them.
    let other = server.get(&address("plain", digest)).await;
    assert_eq!((other.status, &other.error()["param"]), (404, &json!("digest")));
    let unknown = server.get(&address("tea", Digest::of(b"other"))).await;
    assert_eq!((unknown.status, &unknown.error()["code"]), (404, &json!("not_found")));
    let no_digest = server.get(&format!("{ALL}/tea/nodes/head/media/..%2f..%2fetc%2fpasswd")).await;
    assert_eq!(no_digest.status, 404);
    let no_node = server.get(&format!("{ALL}/tea/nodes/0.7/media/{digest}")).await;
    assert_eq!(no_node.status, 404);
}

#[tokio::test]
async fn the_bytes_say_what_they_are() {
    let page: &[u8] = b"<html><script>alert(1)</script></html>";
    let drawing: &[u8] = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>";
    let kinds = [
        // A message that lies of its bytes.
        (Content::Image(Media::new("text/html", page)), "application/octet-stream"),
        (Content::Image(Media::new("image/svg+xml", drawing)), "application/octet-stream"),
        (Content::Image(Media::new("text/html", PNG)), "image/png"),
        (Content::Audio(Media::new("text/html", b"fLaC".as_slice())), "audio/flac"),
        (
            Content::Audio(Media::new("image/png", b"\x89PNG\r\n\x1a\nno".as_slice())),
            "application/octet-stream",
        ),
        (Content::Video(vec![Media::new("image/bmp", b"BM frame".as_slice())]), "image/bmp"),
        (Content::Video(vec![Media::new("video/webm", b"\x1a\x45\xdf\xa3".as_slice())]), "video/webm"),
    ];
    let server = holding(kinds.iter().map(|(content, _)| content.clone()).collect()).await;
    for (content, expected) in kinds {
        let mut content = content;
        let media = content.media_mut()[0].clone();
        let response = server.request("GET", &address("tea", media.digest())).send().await.unwrap();
        let headers = response.headers().clone();
        assert_eq!(headers["content-type"], expected, "{content:?}");
        let is_shown = headers["content-disposition"].to_str().unwrap().starts_with("inline");
        assert_eq!(is_shown, expected != "application/octet-stream", "{content:?}");
        assert!(headers["content-security-policy"].to_str().unwrap().contains("sandbox"));
        assert_eq!(response.bytes().await.unwrap(), media.bytes().unwrap().as_ref(), "{content:?}");
    }
}

#[tokio::test]
async fn another_owner_gets_what_never_was() {
    let mut keys = KeyFile::default();
    let mut key = |owner: &str| keys.add(owner.parse().unwrap(), KeyLimits::default()).unwrap();
    let (ann, bob) = (key("ann"), key("bob"));
    let builder = Server::builder().model(ServedModel::loaded("echo", EchoModel));
    let server = TestServer::start(builder.keys(keys)).await;
    let digest = Digest::of(PNG);
    let path = address("conv_tea", digest);
    let put = |name: &str, body: Value, key: &str| server.posting(name, &body).bearer_auth(key);
    server.send(put(ALL, json!({"name": "tea"}), &ann)).await;
    server.send(put(&format!("{ALL}/conv_tea/nodes"), image(PNG_URL), &ann)).await;
    let own = server.request("GET", &path).bearer_auth(&ann).send().await.unwrap();
    assert_eq!((own.status().as_u16(), own.bytes().await.unwrap().as_ref()), (200, PNG));
    let foreign = server.send(server.request("GET", &path).bearer_auth(&bob)).await;
    let ghost = server.send(server.request("GET", &path.replace("tea", "cup")).bearer_auth(&bob)).await;
    assert_eq!((foreign.status, foreign.text.replace("tea", "cup")), (404, ghost.text.clone()));
    // A known ETag says nothing either, nor does a conversation of one's own.
    let asked = server.request("GET", &path).bearer_auth(&bob).header("if-none-match", "*");
    assert_eq!(server.send(asked).await.status, 404);
    server.send(put(ALL, json!({"name": "tea"}), &bob)).await;
    server
        .send(put(
            &format!("{ALL}/conv_tea/nodes"),
            json!({"messages": [{"role": "user", "content": "Hi"}]}),
            &bob,
        ))
        .await;
    assert_eq!(server.send(server.request("GET", &path).bearer_auth(&bob)).await.status, 404);
    assert_eq!(server.get(&path).await.status, 401);
}
