//! What stands before the state of a snapshot: versions, lengths, what it was computed with, and its units as bytes.

use super::refusal::SnapshotRefusal;
use alloquy_core::Result;
use alloquy_core::media::{Digest, Media};
use alloquy_core::prompt::Unit;

const MAGIC: [u8; 8] = *b"ALQYSNAP";
const VERSION: u32 = 4;

pub(super) const DIGEST: usize = 32;

/// Where the units begin.
pub(super) const UNITS: usize = MAGIC.len() + 4 + 8 + 8 + 3 * DIGEST;

/// What a state was computed with: with anything else it would be another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotOrigin {
    /// The model, with its adapter where it has one: [`Engine::identity`](crate::Engine::identity).
    pub model: Digest,
    /// The template that rendered the prompts.
    pub template: Digest,
}

impl SnapshotOrigin {
    /// A model and a template.
    pub fn new(model: Digest, template: Digest) -> Self {
        Self { model, template }
    }

    fn bytes(&self) -> [[u8; DIGEST]; 2] {
        [*self.model.as_bytes(), *self.template.as_bytes()]
    }

    /// The key of units that were computed with this.
    pub(super) fn key(&self, units: &[u8]) -> Digest {
        let version = VERSION.to_le_bytes();
        Digest::of(&[&version, self.bytes().as_flattened(), units].concat())
    }
}

/// What a snapshot says before its state.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) origin: SnapshotOrigin,
    pub(super) key: Digest,
    pub(super) beginning: Beginning,
}

impl Head {
    /// Says whether what was computed with `origin` can go on from this.
    pub(super) fn check(&self, origin: &SnapshotOrigin) -> Result<(), SnapshotRefusal> {
        let SnapshotOrigin { model, template } = self.origin;
        match () {
            () if model != origin.model => Err(SnapshotRefusal::OtherModel),
            () if template != origin.template => Err(SnapshotRefusal::OtherTemplate),
            () => Ok(()),
        }
    }
}

/// The first units that a session held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// The units.
    pub units: Vec<Unit>,
    /// Whether the session held something else after them than the prompt has.
    pub went_on: bool,
}

/// What stands before the units.
pub(super) struct Header {
    pub(super) units: u64,
    pub(super) state: u64,
    pub(super) origin: SnapshotOrigin,
    pub(super) key: Digest,
}

impl Header {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let [model, template] = self.origin.bytes();
        let numbers = [self.units.to_le_bytes(), self.state.to_le_bytes()];
        let digests = [model, template, *self.key.as_bytes()];
        [&MAGIC[..], &VERSION.to_le_bytes(), numbers.as_flattened(), digests.as_flattened()].concat()
    }

    /// Reads the first bytes of `found`.
    pub(super) fn read(mut bytes: &[u8], found: u64) -> Result<Self, SnapshotRefusal> {
        let cut = || SnapshotRefusal::Cut { expected: (UNITS + DIGEST) as u64, found };
        if take(&mut bytes) != Some(MAGIC) {
            return Err(SnapshotRefusal::Foreign);
        }
        let version = take(&mut bytes).map(u32::from_le_bytes).ok_or_else(cut)?;
        if version != VERSION {
            return Err(SnapshotRefusal::OtherVersion { found: version });
        }
        Self::read_fields(&mut bytes).ok_or_else(cut)
    }

    fn read_fields(bytes: &mut &[u8]) -> Option<Self> {
        let [units, state] = [u64::from_le_bytes(take(bytes)?), u64::from_le_bytes(take(bytes)?)];
        let model = Digest::from_bytes(take(bytes)?);
        let template = Digest::from_bytes(take(bytes)?);
        let key = Digest::from_bytes(take(bytes)?);
        Some(Self { units, state, origin: SnapshotOrigin { model, template }, key })
    }

    /// Makes sure that units and state are as long as they say, where there are `found` bytes in all.
    pub(super) fn check_length(&self, found: u64) -> Result<(), SnapshotRefusal> {
        let rest = (UNITS + DIGEST) as u64;
        let expected = rest.checked_add(self.units).and_then(|length| length.checked_add(self.state));
        let expected = expected.ok_or(SnapshotRefusal::Damaged)?;
        match expected == found {
            true => Ok(()),
            false => Err(SnapshotRefusal::Cut { expected, found }),
        }
    }
}

/// Takes so many bytes off the front.
fn take<const LENGTH: usize>(bytes: &mut &[u8]) -> Option<[u8; LENGTH]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

const TOKEN: u8 = 0;
const MEDIA: u8 = 1;
const WENT_ON: u8 = 2;

pub(super) fn encode(Beginning { units, went_on }: &Beginning) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(units.len() * 5 + 1);
    for unit in units {
        match unit {
            Unit::Token(token) => {
                bytes.push(TOKEN);
                bytes.extend_from_slice(&token.to_le_bytes());
            }
            Unit::Media(media) => {
                bytes.push(MEDIA);
                bytes.extend_from_slice(media.digest().as_bytes());
            }
        }
    }
    bytes.extend(went_on.then_some(WENT_ON));
    bytes
}

/// Reads units; `None` where they are none.
pub(super) fn decode(mut bytes: &[u8]) -> Option<Beginning> {
    let mut units = Vec::new();
    while let Some([kind]) = take(&mut bytes) {
        units.push(match kind {
            TOKEN => Unit::Token(u32::from_le_bytes(take(&mut bytes)?)),
            // Nobody computes it again, so that its bytes and their type are not missed.
            MEDIA => Unit::Media(Media::known_as(Digest::from_bytes(take(&mut bytes)?))),
            WENT_ON if bytes.is_empty() => return Some(Beginning { units, went_on: true }),
            _ => return None,
        });
    }
    Some(Beginning { units, went_on: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_come_back_and_others_are_none() {
        let picture = Media::new("image/png", b"x".to_vec());
        let units = vec![Unit::Token(7), Unit::Media(picture), Unit::Token(u32::MAX)];
        for went_on in [false, true] {
            let beginning = Beginning { units: units.clone(), went_on };
            let bytes = encode(&beginning);
            assert!(decode(&bytes) == Some(beginning));
        }
        let bytes = encode(&Beginning { units, went_on: false });
        assert!(decode(bytes.get(..bytes.len() - 1).unwrap_or_default()).is_none());
        assert!(decode(&[3, 0, 0, 0, 0]).is_none());
        assert!(decode(&[2, 0, 7, 0, 0, 0]).is_none(), "nothing stands behind it");
    }

    #[test]
    fn a_key_is_of_everything_that_the_state_depends_on() {
        let digest = |text: &str| Digest::of(text.as_bytes());
        let origin = SnapshotOrigin::new(digest("model"), digest("template"));
        let others = [
            SnapshotOrigin::new(digest("another"), origin.template),
            SnapshotOrigin::new(origin.model, digest("another")),
        ];
        let encoded = |token| encode(&Beginning { units: vec![Unit::Token(token)], went_on: false });
        let units = encoded(1);
        others.iter().for_each(|other| assert_ne!(other.key(&units), origin.key(&units)));
        assert_ne!(origin.key(&encoded(2)), origin.key(&units));
    }
}
