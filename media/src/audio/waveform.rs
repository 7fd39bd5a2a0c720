//! Decodes an audio file with symphonia, and mixes its channels to one.

use std::fmt;
use std::io::Cursor;
use std::panic::catch_unwind;

use alloquy_core::{Error, ErrorKind, Result};
use symphonia::core::codecs::audio::{
    AudioCodecParameters, AudioDecoder, AudioDecoderOptions, VerificationCheck,
};
use symphonia::core::errors::Error as Failure;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, Track, TrackType};
use symphonia::core::io::MediaSourceStream;
use symphonia::core::meta::MetadataOptions;

use super::limits::{AudioLimits, invalid};
use super::resampler::Resampler;
use super::signature::{TAKEN, begins_like_an_audio, found, is_refused_codec};
use super::wave::WaveformCut;
use super::{adpcm, edit_list, mpeg, wave};

/// A decoded audio clip, mixed to one channel.
///
/// Samples are between -1 and 1, and channels are mixed to their mean. A damaged file is refused, so that an audio clip with a gap
/// never passes for a whole one. A WAV file that ends too early is decoded up to its end, and [`cut`](Waveform::cut) reports what
/// it lacks.
///
/// ```
/// use alloquy_media::{Waveform, AudioLimits};
///
/// // A WAV file of two samples at 8 kHz.
/// let mut wav = b"RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0".to_vec();
/// wav.extend(b"data\x04\0\0\0\0\x40\0\xc0");
/// let audio = Waveform::decode(&wav, &AudioLimits::default())?;
/// assert_eq!((audio.rate(), audio.samples()), (8000, &[0.5, -0.5][..]));
/// assert_eq!(audio.at_rate(16_000).len(), 4);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Waveform {
    rate: u32,
    samples: Vec<f32>,
    cut: Option<WaveformCut>,
}

impl fmt::Debug for Waveform {
    /// Prints the length and the rate, without the samples.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Waveform({} samples at {} Hz)", self.samples.len(), self.rate)
    }
}

impl Waveform {
    /// Decodes the bytes of a file, and recognizes the format by them.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for formats that are not supported. [`ErrorKind::Invalid`] for audio that is damaged, exceeds a
    /// limit, or has a rate or channels that make no sense.
    pub fn decode(bytes: &[u8], limits: &AudioLimits) -> Result<Self> {
        limits.check_bytes(bytes.len())?;
        // Demuxers multiply numbers of a header without a check: in builds that panic on overflow, as debug builds do, a damaged
        // file would end the program.
        catch_unwind(|| Self::decoded(bytes, limits)).unwrap_or_else(|_| {
            Err(invalid(format!("the audio ({}) is damaged: its header makes no sense", found(bytes))))
        })
    }

    fn decoded(file: &[u8], limits: &AudioLimits) -> Result<Self> {
        let wave::Whole { bytes, cut } = wave::with_length(file)?;
        let bytes = &*bytes;
        let mut reader = probe(bytes)?;
        let track = reader
            .default_track(TrackType::Audio)
            .cloned()
            .ok_or_else(|| unsupported(bytes, "it has no audio"))?;
        let parameters = parameters(&track).ok_or_else(|| unsupported(bytes, "its codec is not known"))?;
        let declared = Declared::of(&track, parameters, limits)?;
        let mut decoding = Decoding {
            decoder: decoder(parameters).map_err(|failure| refused(bytes, failure))?,
            track: track.id,
            limits: *limits,
            rate: declared.rate,
            channels: 0,
            samples: Vec::new(),
            mixed: Vec::new(),
        };
        decoding.run(reader.as_mut())?;
        let audio = decoding.finish(file, bytes, reader.format_info().short_name, &declared)?;
        Ok(Self { cut, ..audio })
    }

    /// Makes an audio clip of the samples of one channel that were decoded elsewhere.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a rate outside 1 to 768 kHz, and for samples that are no finite numbers.
    pub fn new(rate: u32, samples: Vec<f32>) -> Result<Self> {
        AudioLimits::check_rate(rate)?;
        match samples.iter().position(|sample| !sample.is_finite()) {
            Some(at) => Err(invalid(format!("sample {at} of the audio is no finite number"))),
            None => Ok(Self { rate, samples, cut: None }),
        }
    }

    /// Returns how many samples a second has.
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// Returns the samples.
    pub fn samples(&self) -> &[f32] {
        &self.samples
    }

    /// Returns what the file lacks of its declared samples; `None` for a whole file.
    ///
    /// ```
    /// use alloquy_media::{Waveform, AudioLimits};
    ///
    /// // The WAV file of two samples again, whose second one lacks a byte.
    /// let mut wav = b"RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0".to_vec();
    /// wav.extend(b"data\x04\0\0\0\0\x40\0");
    /// let audio = Waveform::decode(&wav, &AudioLimits::default())?;
    /// let cut = audio.cut().expect("it is cut");
    /// assert_eq!((audio.samples(), cut.missing, cut.partial), (&[0.5][..], 1, 1));
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn cut(&self) -> Option<WaveformCut> {
        self.cut
    }

    /// Returns how many samples the audio has at another rate.
    pub fn length_at(&self, rate: u32) -> usize {
        (self.samples.len() as u128 * u128::from(rate)).div_ceil(u128::from(self.rate)) as usize
    }

    /// Returns the samples at another rate: band-limited with 125 dB of damping, without delay.
    pub fn at_rate(&self, rate: u32) -> Vec<f32> {
        if rate == self.rate {
            self.samples.clone()
        } else {
            Resampler::new(self.rate, rate.max(1)).resample(&self.samples)
        }
    }
}

/// What the header declares.
struct Declared {
    rate: u32,
    samples: Option<u64>,
    /// How many samples the track's unit of time has.
    unit: f64,
    /// How many samples a block has, where samples are stored in blocks.
    block: Option<u64>,
}

impl Declared {
    fn of(track: &Track, parameters: &AudioCodecParameters, limits: &AudioLimits) -> Result<Self> {
        let rate = parameters.sample_rate.unwrap_or_default();
        AudioLimits::check_rate(rate)?;
        if let Some(channels) = &parameters.channels {
            limits.check_channels(channels.count())?;
        }
        limits.check_samples(track.num_frames.unwrap_or_default(), rate)?;
        let mut unit = 1.0;
        if let Some(base) = track.time_base {
            let seconds = f64::from(base.numer.get()) / f64::from(base.denom.get());
            unit = seconds * f64::from(rate);
        }
        Ok(Self { rate, samples: track.num_frames, unit, block: adpcm::block(parameters) })
    }
}

/// The part of an audio clip that is decoded so far.
struct Decoding {
    decoder: Box<dyn AudioDecoder>,
    track: u32,
    limits: AudioLimits,
    rate: u32,
    channels: usize,
    samples: Vec<f32>,
    mixed: Vec<f32>,
}

impl Decoding {
    fn run(&mut self, reader: &mut dyn FormatReader) -> Result<()> {
        loop {
            match reader.next_packet() {
                Ok(Some(packet)) if packet.track_id != self.track => {}
                Ok(Some(packet)) => self.packet(&packet)?,
                Ok(None) => return Ok(()),
                Err(failure) => return Err(damaged(self.samples.len(), failure)),
            }
        }
    }

    fn packet(&mut self, packet: &symphonia::core::packet::Packet) -> Result<()> {
        let so_far = self.samples.len();
        let buffer = self.decoder.decode(packet).map_err(|failure| damaged(so_far, failure))?;
        let rate = buffer.spec().rate();
        let channels = buffer.num_planes();
        if buffer.frames() == 0 {
            return Ok(());
        }
        self.limits.check_channels(channels)?;
        if rate != self.rate || (self.channels != 0 && channels != self.channels) {
            let message =
                format!("the audio changes from {} Hz to {rate} Hz, or its channels, midway", self.rate);
            return Err(invalid(message));
        }
        self.channels = channels;
        self.limits.check_samples(so_far as u64 + buffer.frames() as u64, rate)?;
        buffer.copy_to_vec_interleaved(&mut self.mixed);
        for frame in self.mixed.chunks_exact(channels) {
            self.samples.push(frame.iter().sum::<f32>() / channels as f32);
        }
        Ok(())
    }

    /// Returns the audio if it is whole. `bytes` is `file` with a corrected header.
    fn finish(mut self, file: &[u8], bytes: &[u8], format: &str, declared: &Declared) -> Result<Waveform> {
        let parameters = self.decoder.codec_params();
        let has_digest = matches!(parameters.verification_check, Some(VerificationCheck::Md5(digest)) if digest != [0; 16]);
        if has_digest && self.decoder.finalize().verify_ok == Some(false) {
            return Err(invalid("the audio is damaged: it has not the digest that its header has"));
        }
        let decoded = self.samples.len();
        if let Some(samples) = declared.samples
            && let Some(fewer) = allowance(bytes, format)
            && samples > decoded as u64 + fewer
        {
            let message =
                format!("the audio is damaged: its header has {samples} samples, and {decoded} are there");
            return Err(invalid(message));
        }
        whole(file, format, decoded)?;
        if let Some(block) = declared.block.filter(|_| format == "wave") {
            self.samples.truncate(wave::samples(bytes, decoded, block)?);
        }
        if format == "isomp4" {
            let before = edit_list::samples_before(bytes, self.track) as f64 * declared.unit;
            self.samples.drain(..(before.round() as usize).min(decoded));
        }
        Waveform::new(self.rate, self.samples)
    }
}

/// Returns how many samples fewer than declared a whole file may have; `None` where the header does not count them.
fn allowance(bytes: &[u8], format: &str) -> Option<u64> {
    match format {
        "flac" | "wave" | "aiff" | "caf" | "isomp4" => Some(0),
        // Without a tag the demuxer estimates the number from the bit rate.
        "mp1" | "mp2" | "mp3" => mpeg::has_tag(bytes).then_some(MPEG_FRAME),
        _ => None,
    }
}

/// The most samples of a frame of MPEG audio. Some encoders count the frame with the tag, which has no audio.
const MPEG_FRAME: u64 = 1152;

/// Checks that the end of a stream is there, in formats that mark it.
fn whole(bytes: &[u8], format: &str, decoded: usize) -> Result<()> {
    match format {
        "ogg" if !ends_with_last_page(bytes) => {
            Err(invalid(format!("the audio is damaged: its Ogg stream ends after {decoded} samples")))
        }
        _ if decoded == 0 && bytes.len() > MOST_HEADER => {
            let message = format!("the audio's header has no samples, and {} bytes are there", bytes.len());
            Err(invalid(message))
        }
        _ => Ok(()),
    }
}

/// A longer file without samples is one whose header was never completed.
const MOST_HEADER: usize = 512;

/// Returns whether the last page of an Ogg file is marked as the stream's last.
fn ends_with_last_page(bytes: &[u8]) -> bool {
    let last = bytes.windows(4).rposition(|window| window == b"OggS");
    last.and_then(|at| bytes.get(at + 5)).is_some_and(|kind| kind & 4 != 0)
}

fn probe(bytes: &[u8]) -> Result<Box<dyn FormatReader + '_>> {
    let stream = MediaSourceStream::new(Box::new(Cursor::new(bytes)), Default::default());
    let format = FormatOptions::default();
    let metadata = MetadataOptions::default();
    let reader = symphonia::default::get_probe().probe(&Hint::new(), stream, format, metadata);
    reader.map_err(|failure| refused(bytes, failure))
}

fn decoder(parameters: &AudioCodecParameters) -> Result<Box<dyn AudioDecoder>, Failure> {
    if let Some(adpcm) = adpcm::Adpcm::of(parameters) {
        return Ok(Box::new(adpcm?));
    }
    let options = AudioDecoderOptions::default().verify(true);
    symphonia::default::get_codecs().make_audio_decoder(parameters, &options)
}

fn parameters(track: &Track) -> Option<&AudioCodecParameters> {
    track.codec_params.as_ref().and_then(|parameters| parameters.audio())
}

/// A file that could not be opened.
fn refused(bytes: &[u8], failure: Failure) -> Error {
    match failure {
        Failure::Unsupported(reason) => unsupported(bytes, reason),
        // A demuxer that reads it as another codec may report damage.
        _ if is_refused_codec(bytes) => unsupported(bytes, "there is no decoder of it"),
        // The reader reached the end of a file that is no audio at all.
        Failure::IoError(_) if !begins_like_an_audio(bytes) => {
            unsupported(bytes, "it does not begin like one")
        }
        failure => invalid(format!("the audio ({}) cannot be read", found(bytes))).with_source(failure),
    }
}

fn unsupported(bytes: &[u8], reason: &str) -> Error {
    let message =
        format!("the audio is {}, which is not supported ({reason}); supported: {TAKEN}", found(bytes));
    Error::new(ErrorKind::Unsupported, message)
}

fn damaged(decoded: usize, failure: Failure) -> Error {
    let kind = match failure {
        Failure::Unsupported(_) => ErrorKind::Unsupported,
        _ => ErrorKind::Invalid,
    };
    Error::new(kind, format!("the audio is damaged after {decoded} samples")).with_source(failure)
}
