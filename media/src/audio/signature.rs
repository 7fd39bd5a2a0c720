//! What the first bytes of a file say that it is, for errors about sounds that are not taken.

/// What is taken, for errors.
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
    (0, b"MThd", "MIDI, which has notes and no sound"),
    (0, &[0x30, 0x26, 0xb2, 0x75], "Windows Media"),
    (0, &[0x1a, 0x45, 0xdf, 0xa3], "Matroska or WebM"),
    (0, b"OggS", "Ogg"),
    (0, b"fLaC", "FLAC"),
    (0, b"caff", "CAF"),
    (0, b"FORM", "AIFF"),
    (0, b"RIFF", "RIFF, such as WAV"),
    (0, b"ID3", "MP3"),
    (4, b"ftyp", "MP4"),
    (0, &[0x89, b'P', b'N', b'G'], "PNG, a picture"),
    (0, &[0xff, 0xd8, 0xff], "JPEG, a picture"),
    (0, b"GIF8", "GIF, a picture"),
    (0, b"%PDF", "PDF"),
    (0, b"PK\x03\x04", "ZIP"),
];

/// How many bytes at the beginning hold the name of a codec.
const HEAD: usize = 4096;

/// Names what a file is.
pub(super) fn found(bytes: &[u8]) -> &'static str {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let holds = |word: &[u8]| head.windows(word.len()).any(|window| window == word);
    if holds(b"OpusHead") {
        return "Opus";
    }
    if holds(b"Speex   ") {
        return "Speex";
    }
    let begins = |&&(at, start, _): &&(usize, &[u8], &str)| {
        bytes.get(at..).is_some_and(|rest| rest.starts_with(start))
    };
    match SIGNATURES.iter().find(begins) {
        Some((_, _, name)) => name,
        None if head.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) => "text",
        None => "an unknown format",
    }
}

/// Says whether a file in a container that is taken holds a codec that is not.
pub(super) fn is_refused_codec(bytes: &[u8]) -> bool {
    matches!(found(bytes), "Opus" | "Speex")
}

/// The names of formats that are taken, with some codecs at least.
const SOUNDS: [&str; 10] = [
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

/// Whether a file begins like one of a format that is taken.
pub(super) fn begins_like_a_sound(bytes: &[u8]) -> bool {
    SOUNDS.contains(&found(bytes))
}
