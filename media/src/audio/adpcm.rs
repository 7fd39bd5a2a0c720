//! Decodes ADPCM. A code of 4 bits says how far the next sample is from the expected one, and no block depends on another.
//!
//! IMA ADPCM follows "Recommended Practices for Enhancing Digital Audio Compatibility in Multimedia Systems" (Interactive
//! Multimedia Association, revision 3.00). Its sums of shifted steps round differently than one product does. Microsoft ADPCM
//! and the WAV blocks of both follow "New Multimedia Data Types and Data Techniques" (1994). Apple's blocks follow the QuickTime
//! file format.

use symphonia::core::audio::{
    AsGenericAudioBufferRef, AudioBuffer, AudioMut, AudioSpec, GenericAudioBufferRef,
};
use symphonia::core::codecs::CodecInfo;
use symphonia::core::codecs::audio::well_known::{
    CODEC_ID_ADPCM_IMA_QT, CODEC_ID_ADPCM_IMA_WAV, CODEC_ID_ADPCM_MS,
};
use symphonia::core::codecs::audio::{AudioCodecId, AudioCodecParameters, AudioDecoder, FinalizeResult};
use symphonia::core::errors::{Result, decode_error, unsupported_error};
use symphonia::core::packet::PacketRef;

/// Appends the samples of a block to those of each channel; `None` for a malformed block.
type Block = fn(&[u8], &mut [Vec<i16>]) -> Option<()>;

/// Each kind of blocks: its codec, the codec's name, and how a block is decoded.
const KINDS: [(AudioCodecId, CodecInfo, Block); 3] = [
    (CODEC_ID_ADPCM_IMA_WAV, named("adpcm_ima_wav", "IMA ADPCM"), ima),
    (CODEC_ID_ADPCM_MS, named("adpcm_ms", "Microsoft ADPCM"), microsoft),
    (CODEC_ID_ADPCM_IMA_QT, named("adpcm_ima_qt", "Apple's IMA ADPCM"), apple),
];

const fn named(short_name: &'static str, long_name: &'static str) -> CodecInfo {
    CodecInfo { short_name, long_name, profiles: &[] }
}

/// Returns how many samples of a channel a block has; `None` where the codec is not ADPCM.
pub(super) fn block(parameters: &AudioCodecParameters) -> Option<u64> {
    kind(parameters).and(parameters.frames_per_block)
}

fn kind(parameters: &AudioCodecParameters) -> Option<(CodecInfo, Block)> {
    KINDS.into_iter().find(|(codec, ..)| *codec == parameters.codec).map(|(_, info, block)| (info, block))
}

/// Decodes blocks of one kind.
pub(super) struct Adpcm {
    parameters: AudioCodecParameters,
    info: CodecInfo,
    block: Block,
    /// How many samples of a channel a block has.
    length: u64,
    planes: Vec<Vec<i16>>,
    buffer: AudioBuffer<i16>,
}

impl Adpcm {
    /// A decoder of audio with these parameters; `None` where they are not ADPCM.
    pub(super) fn of(parameters: &AudioCodecParameters) -> Option<Result<Self>> {
        kind(parameters).map(|(info, block)| Self::new(parameters, info, block))
    }

    fn new(parameters: &AudioCodecParameters, info: CodecInfo, block: Block) -> Result<Self> {
        let parameters = parameters.clone();
        let (Some(rate), Some(channels), Some(length @ 1..)) =
            (parameters.sample_rate, parameters.channels.clone(), parameters.frames_per_block)
        else {
            return unsupported_error("ADPCM without a sample rate, channels or a length of its blocks");
        };
        let planes = vec![Vec::new(); channels.count()];
        // The buffer grows with the packets that are decoded: a header may declare any length.
        let buffer = AudioBuffer::new(AudioSpec::new(rate, channels), 0);
        Ok(Self { parameters, info, block, length, planes, buffer })
    }

    /// Decodes a packet of whole blocks into the planes; returns how many samples each has.
    fn blocks(&mut self, packet: &PacketRef<'_>) -> Option<usize> {
        self.planes.iter_mut().for_each(Vec::clear);
        let samples = packet.block_dur().get();
        let count = usize::try_from(samples / self.length).ok().filter(|&count| count > 0)?;
        let blocks = packet.data.chunks_exact((packet.data.len() / count).max(1));
        for block in blocks.take(count) {
            (self.block)(block, &mut self.planes)?;
        }
        let samples = usize::try_from(samples).ok()?;
        self.planes.iter().all(|plane| plane.len() == samples).then_some(samples)
    }
}

impl AudioDecoder for Adpcm {
    fn reset(&mut self) {
        // No block depends on the one before.
    }

    fn codec_info(&self) -> &CodecInfo {
        &self.info
    }

    fn codec_params(&self) -> &AudioCodecParameters {
        &self.parameters
    }

    fn decode_ref(&mut self, packet: &PacketRef<'_>) -> Result<GenericAudioBufferRef<'_>> {
        self.buffer.clear();
        let Some(samples) = self.blocks(packet) else {
            return decode_error("a block of ADPCM is damaged or truncated");
        };
        self.buffer.grow_capacity(samples);
        self.buffer.resize_with_silence(samples);
        for (index, samples) in self.planes.iter().enumerate() {
            if let Some(plane) = self.buffer.plane_mut(index) {
                plane.copy_from_slice(samples);
            }
        }
        Ok(self.buffer.as_generic_audio_buffer_ref())
    }

    fn finalize(&mut self) -> FinalizeResult {
        FinalizeResult::default()
    }

    fn last_decoded(&self) -> GenericAudioBufferRef<'_> {
        self.buffer.as_generic_audio_buffer_ref()
    }
}

/// WAV's block of IMA ADPCM: for each channel its first sample, the index of its step and a zero; then words of eight codes,
/// from the channels in turn.
fn ima(block: &[u8], planes: &mut [Vec<i16>]) -> Option<()> {
    let channels = planes.len();
    let (headers, words) = block.split_at_checked(4 * channels)?;
    for (channel, (header, plane)) in headers.as_chunks().0.iter().zip(planes).enumerate() {
        let [low, high, step, _] = *header;
        let mut state = Ima::new(i16::from_le_bytes([low, high]), step)?;
        plane.push(state.sample);
        let words = words.chunks(4).skip(channel).step_by(channels);
        plane.extend(words.flatten().flat_map(low_first).map(|code| state.next(code)));
    }
    Some(())
}

/// QuickTime's block, for each channel in turn: 9 bits of the sample before the first and 7 of the index of its step, then
/// 64 codes.
fn apple(block: &[u8], planes: &mut [Vec<i16>]) -> Option<()> {
    for (block, plane) in block.as_chunks::<34>().0.iter().zip(planes) {
        let (&[high, low], codes) = block.split_first_chunk()?;
        let mut state = Ima::new(i16::from_be_bytes([high, low & 0x80]), low & 0x7f)?;
        plane.extend(codes.iter().flat_map(low_first).map(|code| state.next(code)));
    }
    Some(())
}

/// The two codes of a byte, where the first one has the low bits.
fn low_first(byte: &u8) -> [u8; 2] {
    [byte & 15, byte >> 4]
}

/// The state of IMA's decoder for a channel.
struct Ima {
    sample: i16,
    /// Where in [`STEPS`] the step is.
    step: usize,
}

impl Ima {
    fn new(sample: i16, step: u8) -> Option<Self> {
        let step = usize::from(step);
        (step < STEPS.len()).then_some(Self { sample, step })
    }

    /// The next sample: a sign, and how many steps, halves and quarters of one it is away, with an eighth more.
    fn next(&mut self, code: u8) -> i16 {
        let step = STEPS.get(self.step).copied().unwrap_or_default();
        let mut distance = step >> 3;
        for (bit, shift) in [(4, 0), (2, 1), (1, 2)] {
            if code & bit != 0 {
                distance += step >> shift;
            }
        }
        if code & 8 != 0 {
            distance = -distance;
        }
        self.sample = clamped(i32::from(self.sample) + distance);
        self.step = match code & 7 {
            0..4 => self.step.saturating_sub(1),
            many => (self.step + 2 * usize::from(many - 3)).min(STEPS.len() - 1),
        };
        self.sample
    }
}

/// The steps of IMA ADPCM, each about a tenth more than the one before.
const STEPS: [i32; 89] = [
    7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88,
    97, 107, 118, 130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658,
    724, 796, 876, 963, 1060, 1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660,
    4026, 4428, 4871, 5358, 5894, 6484, 7132, 7845, 8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818,
    18500, 20350, 22385, 24623, 27086, 29794, 32767,
];

/// WAV's block of Microsoft's ADPCM. It begins with the predictor of each channel, the distance that a code counts, the second
/// sample and the first. Codes from the channels in turn follow, where the first one has the high bits.
fn microsoft(block: &[u8], planes: &mut [Vec<i16>]) -> Option<()> {
    let channels = planes.len();
    let (predictors, rest) = block.split_at_checked(channels)?;
    let (words, bytes) = rest.split_at_checked(6 * channels)?;
    let words: Vec<i16> = words.as_chunks().0.iter().map(|word| i16::from_le_bytes(*word)).collect();
    for (channel, (predictor, plane)) in predictors.iter().zip(planes).enumerate() {
        let mut state = Microsoft {
            weights: *WEIGHTS.get(usize::from(*predictor))?,
            distance: i32::from(*words.get(channel)?),
            samples: [*words.get(channels + channel)?, *words.get(2 * channels + channel)?],
        };
        let [second, first] = state.samples;
        plane.extend([first, second]);
        let codes = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).skip(channel).step_by(channels);
        plane.extend(codes.map(|code| state.next(code)));
    }
    Some(())
}

/// The state of Microsoft's decoder for a channel.
struct Microsoft {
    /// How much of the last sample and of the one before is expected, in parts of 256.
    weights: [i32; 2],
    distance: i32,
    /// The last sample and the one before.
    samples: [i16; 2],
}

impl Microsoft {
    fn next(&mut self, code: u8) -> i16 {
        let expected: i32 =
            self.samples.iter().zip(self.weights).map(|(&sample, weight)| i32::from(sample) * weight).sum();
        // The quotient is rounded down as in libsndfile, which Hugging Face's processors read with.
        let sample = clamped((expected >> 8) + signed(code) * self.distance);
        self.samples = [sample, self.samples[0]];
        let factor = FACTORS.get(usize::from(code)).copied().unwrap_or_default();
        self.distance = (factor * self.distance / 256).clamp(LEAST_DISTANCE, MOST_DISTANCE);
        sample
    }
}

/// A code as a number from -8 to 7.
fn signed(code: u8) -> i32 {
    i32::from(code) - if code < 8 { 0 } else { 16 }
}

fn clamped(sample: i32) -> i16 {
    sample.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16
}

/// The predictors of Microsoft's ADPCM.
const WEIGHTS: [[i32; 2]; 7] = [[256, 0], [512, -256], [0, 0], [192, 64], [240, 0], [460, -208], [392, -232]];
/// The factor by which each code multiplies the distance, in parts of 256.
const FACTORS: [i32; 16] = [230, 230, 230, 230, 307, 409, 512, 614, 768, 614, 512, 409, 307, 230, 230, 230];
/// The distance that a code counts at least.
const LEAST_DISTANCE: i32 = 16;
/// The distance that a code counts at most: a larger one is far outside of the range of samples, and overflows.
const MOST_DISTANCE: i32 = i32::MAX / 768;
