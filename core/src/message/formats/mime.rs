//! MIME types: their form, the kind of media they name, and the one that first bytes give away.

use super::media::MediaKind;

/// Returns `type/subtype;name=value` with the type in lower case, or `None` when it is not of that form.
///
/// The characters are those of RFC 6838, section 4.2; parameters stay as they are.
pub(super) fn normal(media_type: &str) -> Option<String> {
    let (essence, parameters) = match media_type.find(';') {
        Some(at) => media_type.split_at(at),
        None => (media_type, ""),
    };
    let (kind, subtype) = essence.split_once('/')?;
    let well_formed = is_name(kind) && is_name(subtype) && parameters.split(';').skip(1).all(is_parameter);
    well_formed.then(|| essence.to_ascii_lowercase() + parameters)
}

/// Returns the kind of media that a MIME type names.
pub(super) fn kind(media_type: &str) -> Option<MediaKind> {
    let (top, _) = media_type.split_once('/')?;
    MediaKind::ALL.into_iter().find(|kind| kind.as_str() == top)
}

fn is_name(name: &str) -> bool {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    !name.is_empty() && name.len() <= 127 && name.bytes().all(valid)
}

fn is_parameter(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, value)| is_name(name) && is_name(value))
}

/// How a format begins: bytes at an offset, and bytes at a second one for containers that share the first.
struct Signature {
    kind: MediaKind,
    media_type: &'static str,
    marks: &'static [(usize, &'static [u8])],
}

const fn begins(
    kind: MediaKind,
    media_type: &'static str,
    marks: &'static [(usize, &'static [u8])],
) -> Signature {
    Signature { kind, media_type, marks }
}

/// The formats that decoders of media read, and their neighbours, as each format's specification has them.
static SIGNATURES: [Signature; 26] = [
    begins(MediaKind::Image, "image/png", &[(0, b"\x89PNG\r\n\x1a\n")]),
    begins(MediaKind::Image, "image/jpeg", &[(0, b"\xff\xd8\xff")]),
    begins(MediaKind::Image, "image/gif", &[(0, b"GIF8")]),
    begins(MediaKind::Image, "image/webp", &[(0, b"RIFF"), (8, b"WEBP")]),
    begins(MediaKind::Image, "image/bmp", &[(0, b"BM")]),
    begins(MediaKind::Image, "image/tiff", &[(0, b"II*\0")]),
    begins(MediaKind::Image, "image/tiff", &[(0, b"MM\0*")]),
    begins(MediaKind::Image, "image/x-icon", &[(0, b"\0\0\x01\0")]),
    begins(MediaKind::Image, "image/x-portable-pixmap", &[(0, b"P6")]),
    begins(MediaKind::Image, "image/x-portable-graymap", &[(0, b"P5")]),
    begins(MediaKind::Audio, "audio/wav", &[(0, b"RIFF"), (8, b"WAVE")]),
    begins(MediaKind::Audio, "audio/mpeg", &[(0, b"ID3")]),
    begins(MediaKind::Audio, "audio/mpeg", &[(0, b"\xff\xfb")]),
    begins(MediaKind::Audio, "audio/mpeg", &[(0, b"\xff\xf3")]),
    begins(MediaKind::Audio, "audio/mpeg", &[(0, b"\xff\xf2")]),
    begins(MediaKind::Audio, "audio/flac", &[(0, b"fLaC")]),
    begins(MediaKind::Audio, "audio/ogg", &[(0, b"OggS")]),
    begins(MediaKind::Audio, "audio/mp4", &[(4, b"ftyp")]),
    begins(MediaKind::Audio, "audio/aac", &[(0, b"\xff\xf1")]),
    begins(MediaKind::Audio, "audio/aac", &[(0, b"\xff\xf9")]),
    begins(MediaKind::Audio, "audio/aiff", &[(0, b"FORM"), (8, b"AIFF")]),
    begins(MediaKind::Audio, "audio/aiff", &[(0, b"FORM"), (8, b"AIFC")]),
    begins(MediaKind::Audio, "audio/x-caf", &[(0, b"caff")]),
    begins(MediaKind::Audio, "audio/webm", &[(0, b"\x1a\x45\xdf\xa3")]),
    begins(MediaKind::Video, "video/mp4", &[(4, b"ftyp")]),
    begins(MediaKind::Video, "video/webm", &[(0, b"\x1a\x45\xdf\xa3")]),
];

/// Returns the MIME type that the first bytes of media of a kind give away.
pub(super) fn of_bytes(kind: MediaKind, bytes: &[u8]) -> Option<&'static str> {
    let begins_so = |signature: &&Signature| {
        let here =
            |(offset, mark): &(usize, &[u8])| bytes.get(*offset..).is_some_and(|rest| rest.starts_with(mark));
        signature.kind == kind && signature.marks.iter().all(here)
    };
    SIGNATURES.iter().find(begins_so).map(|signature| signature.media_type)
}

/// Returns the MIME types that first bytes can give away.
pub(super) fn known(kind: MediaKind) -> Vec<&'static str> {
    let of_kind = SIGNATURES.iter().filter(|signature| signature.kind == kind);
    let mut known: Vec<_> = of_kind.map(|signature| signature.media_type).collect();
    known.dedup();
    known
}
