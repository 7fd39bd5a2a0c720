//! The bytes of an image, an audio clip or a video of a stored message.

use std::sync::Arc;

use alloquy_core::media::{Digest, MediaKind};
use alloquy_core::{Content, Node};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::identity::{node as found, opened};
use crate::app::App;
use crate::body::PathOf;
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::known_tag::is_known;

/// The type of bytes that no signature names. Whatever a message says of them, a browser shows them as nothing.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// What a browser may do with an answer that it opens by itself: nothing. The bytes are those of a client, of a model or of a document that
/// was imported.
const GUARDS: [(HeaderName, &str); 4] = [
    (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox; frame-ancestors 'none'"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // Looked at again each time: what is deleted must not be shown from a copy.
    (CACHE_CONTROL, "private, no-cache"),
];

/// Returns the kind of the media that a node has with a digest.
fn kind_of(node: &Node, digest: Digest) -> Option<MediaKind> {
    for part in &node.message.parts {
        let has_it = match &part.content {
            Content::Image(media) | Content::Audio(media) => media.digest() == digest,
            Content::Video(frames) => frames.iter().any(|frame| frame.digest() == digest),
            _ => false,
        };
        if has_it {
            return part.content.media_kind();
        }
    }
    None
}

/// Returns the type that the bytes themselves have. A frame of a video is an image.
fn type_of(kind: MediaKind, bytes: &[u8]) -> Option<&'static str> {
    let own = kind.type_of(bytes);
    if own.is_none() && kind == MediaKind::Video {
        return MediaKind::Image.type_of(bytes);
    }
    own
}

fn unknown(digest: &str) -> ApiError {
    ApiError::not_found(format!("the node has no media with the digest {digest:?}")).param("digest")
}

/// `GET /v1/alloquy/conversations/{id}/nodes/{node}/media/{digest}`
pub(super) async fn bytes(
    State(app): State<App>,
    caller: Caller,
    PathOf((id, name, text)): PathOf<(String, String, String)>,
    headers: HeaderMap,
) -> ApiResult {
    let conversation = opened(&app, &caller, &id).await?;
    let node = found(&conversation, &name, "node").await?;
    let node = app.store().load_node(&caller.owner, conversation.id(), node).await?;
    let Ok(digest) = text.parse::<Digest>() else { return Err(unknown(&text)) };
    let Some(kind) = kind_of(&node, digest) else { return Err(unknown(&text)) };
    let tag = format!("\"{digest}\"");
    if is_known(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, GUARDS, [(ETAG, tag)]).into_response());
    }
    let Some(bytes) = app.store().get_blob(&caller.owner, digest).await? else {
        let message = format!("the bytes with the digest \"{digest}\" are not in the store");
        return Err(ApiError::not_found(message).param("digest"));
    };
    Ok(answer(kind, digest, bytes, tag))
}

fn answer(kind: MediaKind, digest: Digest, bytes: Arc<[u8]>, tag: String) -> Response {
    let found = type_of(kind, &bytes);
    let disposition = match found {
        Some(_) => format!("inline; filename=\"{digest}\""),
        None => format!("attachment; filename=\"{digest}\""),
    };
    let about = [
        (CONTENT_TYPE, found.unwrap_or(UNKNOWN_TYPE).to_owned()),
        (CONTENT_DISPOSITION, disposition),
        (ETAG, tag),
    ];
    (GUARDS, about, Bytes::from_owner(bytes)).into_response()
}
