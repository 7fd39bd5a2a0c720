//! Images of requests whose protocols have them in forms of their own: base64 with or without a MIME type, and addresses.

use alloquy_core::media::MediaKind;
use alloquy_core::{Content, Media};
use alloquy_formats::messages::MediaReference;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::{ApiError, ApiResult};
use crate::media_policy::MediaPolicy;

/// Reads an image from base64. Where no MIME type is given, the first bytes determine it.
///
/// # Errors
/// 400 for what is not base64, is empty, too large, or not an image.
pub(crate) fn from_base64(
    data: &str,
    media_type: Option<&str>,
    place: &str,
    media: &MediaPolicy,
) -> ApiResult<Content> {
    let limit = media.rules().max_bytes;
    if data.len() / 4 * 3 > limit {
        return Err(ApiError::invalid(place, format!("{place}: the image has more than {limit} bytes")));
    }
    let bytes = STANDARD
        .decode(data)
        .map_err(|source| ApiError::invalid(place, format!("{place}: the image is not base64: {source}")))?;
    let media_type = match media_type {
        Some(given) => given.to_ascii_lowercase(),
        None => MediaKind::Image.type_of(&bytes).unwrap_or_default().to_owned(),
    };
    if bytes.is_empty() || MediaKind::of_type(&media_type) != Some(MediaKind::Image) {
        let known = MediaKind::Image.known_types().join(", ");
        let message = format!("{place}: this is no image, expected the bytes of one of: {known}");
        return Err(ApiError::invalid(place, message));
    }
    Ok(Content::Image(Media::new(media_type, bytes)))
}

/// Reads an image from an address, where the server opens any.
///
/// # Errors
/// Those of the policy, with the place.
pub(crate) fn from_url(url: &str, place: &str, media: &MediaPolicy) -> ApiResult<Content> {
    let fetched = media.rules().source.fetch(MediaKind::Image, MediaReference::Url(url));
    let image = fetched.map_err(|error| ApiError::from(error.context(place)).param(place))?;
    Ok(Content::Image(image))
}
