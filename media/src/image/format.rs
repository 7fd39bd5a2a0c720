//! Recognizes the format of an image file by its first bytes.

use alloquy_core::{Error, ErrorKind, Media, Result};
use image::ImageFormat;

/// The supported formats, for messages.
pub(crate) const SUPPORTED: &str = "JPEG, PNG, GIF, WebP, BMP, TIFF, ICO, PNM (PBM, PGM, PPM, PAM) and TGA";

/// Formats that are recognized for messages only: at which byte they have which bytes, and their names.
const UNREAD: &[(usize, &[u8], &str)] = &[
    (4, b"ftypavif", "AVIF"),
    (4, b"ftypavis", "AVIF"),
    (4, b"ftypheic", "HEIC"),
    (4, b"ftypheix", "HEIC"),
    (4, b"ftypmif1", "HEIF"),
    (4, b"ftypmsf1", "HEIF"),
    (4, b"ftyp", "MP4"),
    (0, b"\xff\x0a", "JPEG XL"),
    (0, b"\0\0\0\x0cJXL ", "JPEG XL"),
    (0, b"\0\0\0\x0cjP  ", "JPEG 2000"),
    (0, b"\xff\x4f\xff\x51", "JPEG 2000"),
    (0, b"8BPS", "PSD"),
    (0, b"DDS ", "DDS"),
    (0, b"qoif", "QOI"),
    (0, b"farbfeld", "farbfeld"),
    (0, b"\x76\x2f\x31\x01", "OpenEXR"),
    (0, b"#?RADIANCE", "Radiance HDR"),
    (0, b"<svg", "SVG"),
    (0, b"<?xml", "XML"),
    (0, b"%PDF", "PDF"),
    (0, b"\x1aE\xdf\xa3", "Matroska"),
];

/// Returns the format of `bytes`. TGA has no signature, and is recognized by the media's type.
pub(crate) fn format(media: &Media, bytes: &[u8]) -> Result<ImageFormat> {
    if bytes.is_empty() {
        return Err(Error::new(ErrorKind::Invalid, "an image is empty: it has no bytes"));
    }
    let sniffed = image::guess_format(bytes).ok().filter(|format| is_read(*format));
    if let Some(format) = sniffed {
        return Ok(format);
    }
    for (at, magic, name) in UNREAD {
        if bytes.get(*at..).is_some_and(|bytes| bytes.starts_with(magic)) {
            return Err(unsupported(media, &format!("is {name}, which is not read")));
        }
    }
    if is_tga(media.media_type()) {
        return Ok(ImageFormat::Tga);
    }
    Err(unsupported(media, "begins like no format that is read"))
}

fn unsupported(media: &Media, found: &str) -> Error {
    let message = format!("an image of type {:?} {found}; supported: {SUPPORTED}", media.media_type());
    Error::new(ErrorKind::Unsupported, message)
}

/// Returns whether bytes begin like an image of a supported format.
pub(crate) fn is_image(bytes: &[u8]) -> bool {
    image::guess_format(bytes).is_ok_and(is_read)
}

fn is_read(format: ImageFormat) -> bool {
    use ImageFormat::{Bmp, Gif, Ico, Jpeg, Png, Pnm, Tiff, WebP};
    matches!(format, Bmp | Gif | Ico | Jpeg | Png | Pnm | Tiff | WebP)
}

fn is_tga(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(name.as_str(), "image/tga" | "image/x-tga" | "image/targa" | "image/x-targa")
}

/// Returns the common name of a format.
pub(crate) fn name(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Jpeg => "JPEG",
        ImageFormat::Png => "PNG",
        ImageFormat::Gif => "GIF",
        ImageFormat::WebP => "WebP",
        ImageFormat::Bmp => "BMP",
        ImageFormat::Tiff => "TIFF",
        ImageFormat::Ico => "ICO",
        ImageFormat::Pnm => "PNM",
        ImageFormat::Tga => "TGA",
        _ => "unknown",
    }
}
