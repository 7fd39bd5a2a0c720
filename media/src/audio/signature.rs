//! Recognizes a file's format by its first bytes, for errors about formats that are not supported.

/// The supported formats, for errors.
pub(super) const TAKEN: &str = "WAV (also RF64 and BW64), AIFF, CAF, FLAC, MP1, MP2, MP3, Ogg (Vorbis, FLAC), MP4 and ADTS (AAC, ALAC), and Matroska with one of these";

/// How a format begins: where, with what, and its name.
const SIGNATURES: &[(usize, &[u8], &str)] = &[
    (0, b"wvpk", "WavPack"),
    (0, b"MAC ", "Monkey's Audio"),
    (0, b"TTA1", "True Audio"),
    (0, b"MPCK", "Musepack"),
    (0, b"RF64", "RF64, a WAV file of any length"),
    (0, b"BW64", "BW64, a WAV file of any length"),
    (0, b"riff", "Wave64"),
    (0, b".snd", "Sun audio"),
    (0, b"#!AMR", "AMR"),
    (0, b"DSD ", "DSD"),
    (0, b"MThd", "MIDI, which has notes and no audio"),
    (0, &[0x30, 0x26, 0xb2, 0x75], "Windows Media"),
    (0, &[0x1a, 0x45, 0xdf, 0xa3], "Matroska or WebM"),
    (0, b"OggS", "Ogg"),
    (0, b"fLaC", "FLAC"),
    (0, b"caff", "CAF"),
    (0, b"FORM", "AIFF"),
    (0, b"RIFF", "RIFF, such as WAV"),
    (0, b"ID3", "MP3"),
    (4, b"ftyp", "MP4"),
    (0, &[0x89, b'P', b'N', b'G'], "PNG, an image"),
    (0, &[0xff, 0xd8, 0xff], "JPEG, an image"),
    (0, b"GIF8", "GIF, an image"),
    (0, b"%PDF", "PDF"),
    (0, b"PK\x03\x04", "ZIP"),
];

/// How many bytes at the beginning are searched for the name of a codec.
const HEAD: usize = 4096;

/// Codecs without a decoder in supported containers: how a stream of them begins, and their names.
const UNSUPPORTED_CODECS: &[(&[u8], &str)] = &[(b"OpusHead", "Opus"), (b"Speex   ", "Speex")];

/// Names what a file is.
pub(super) fn found(bytes: &[u8]) -> &'static str {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    for (mark, codec) in UNSUPPORTED_CODECS {
        if head.windows(mark.len()).any(|window| window == *mark) {
            return codec;
        }
    }
    for (at, start, name) in SIGNATURES {
        if bytes.get(*at..).is_some_and(|rest| rest.starts_with(start)) {
            return name;
        }
    }
    if head.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        return "text";
    }
    "an unknown format"
}

/// Returns whether a file has an unsupported codec in a supported container.
pub(super) fn is_refused_codec(bytes: &[u8]) -> bool {
    matches!(found(bytes), "Opus" | "Speex")
}

/// The names of formats that are supported with at least some codecs.
const AUDIO: [&str; 10] = [
    "Matroska or WebM",
    "Ogg",
    "FLAC",
    "CAF",
    "AIFF",
    "RIFF, such as WAV",
    "RF64, a WAV file of any length",
    "BW64, a WAV file of any length",
    "MP3",
    "MP4",
];

/// Returns whether a file begins like one of a supported format.
pub(super) fn begins_like_an_audio(bytes: &[u8]) -> bool {
    AUDIO.contains(&found(bytes))
}
