//! The head of a snapshot, before its state: versions, lengths, what it was computed with, and its units as bytes.

use super::refusal::SnapshotError;
use alloquy_core::Result;
use alloquy_core::media::{Digest, Media};
use alloquy_core::prompt::PromptUnit;

const MAGIC: [u8; 8] = *b"ALQYSNAP";
const VERSION: u32 = 4;

pub(super) const DIGEST: usize = 32;

/// Where the units begin.
pub(super) const UNITS: usize = MAGIC.len() + 4 + 8 + 8 + 3 * DIGEST;

/// What a state was computed with: with anything else it would be another one.
///
/// [`Reading`](crate::decoder::snapshot::Reading) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotIdentity {
    /// The model, with its adapter where it has one: [`Engine::identity`](crate::Engine::identity).
    pub model: Digest,
    /// The template that rendered the prompts.
    pub template: Digest,
    /// Whose sessions it comes from or goes to, as the digest of a name. It is not written: every owner of the snapshot's bytes may use it.
    pub owner: Option<Digest>,
}

impl SnapshotIdentity {
    /// A model and a template.
    pub fn new(model: Digest, template: Digest) -> Self {
        Self { model, template, owner: None }
    }

    /// Sets whose sessions a snapshot comes from or goes to.
    ///
    /// ```
    /// use alloquy_core::media::Digest;
    /// use alloquy_engine::decoder::SnapshotIdentity;
    ///
    /// let identity = SnapshotIdentity::new(Digest::of(b"model"), Digest::of(b"template")).of_owner("ada");
    /// assert_eq!(identity.owner, Some(Digest::of(b"ada")));
    /// ```
    #[must_use]
    pub fn of_owner(self, name: &str) -> Self {
        Self { owner: Some(Digest::of(name.as_bytes())), ..self }
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

/// What a snapshot has before its state.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) origin: SnapshotIdentity,
    pub(super) key: Digest,
    pub(super) beginning: Beginning,
}

impl Head {
    /// Checks that sessions of `origin` can continue from this snapshot.
    pub(super) fn check(&self, origin: &SnapshotIdentity) -> Result<(), SnapshotError> {
        let SnapshotIdentity { model, template, .. } = self.origin;
        if model != origin.model {
            return Err(SnapshotError::OtherModel);
        }
        if template != origin.template {
            return Err(SnapshotError::OtherTemplate);
        }
        Ok(())
    }
}

/// The first units that a session held.
///
/// [`Reading`](crate::decoder::snapshot::Reading) has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// The units.
    pub units: Vec<PromptUnit>,
    /// Whether the session held more units after these, which another prompt had.
    pub was_longer: bool,
}

/// The fields before the units.
pub(super) struct Header {
    pub(super) units: u64,
    pub(super) state: u64,
    pub(super) origin: SnapshotIdentity,
    pub(super) key: Digest,
}

impl Header {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let [model, template] = self.origin.bytes();
        let numbers = [self.units.to_le_bytes(), self.state.to_le_bytes()];
        let digests = [model, template, *self.key.as_bytes()];
        [&MAGIC[..], &VERSION.to_le_bytes(), numbers.as_flattened(), digests.as_flattened()].concat()
    }

    /// Reads the first bytes of a snapshot that has `found` bytes.
    pub(super) fn read(mut bytes: &[u8], found: u64) -> Result<Self, SnapshotError> {
        let expected = (UNITS + DIGEST) as u64;
        if take(&mut bytes) != Some(MAGIC) {
            return Err(SnapshotError::Foreign);
        }
        let Some(version) = take(&mut bytes).map(u32::from_le_bytes) else {
            return Err(SnapshotError::Cut { expected, found });
        };
        if version != VERSION {
            return Err(SnapshotError::OtherVersion { found: version });
        }
        Self::read_fields(&mut bytes).ok_or(SnapshotError::Cut { expected, found })
    }

    fn read_fields(bytes: &mut &[u8]) -> Option<Self> {
        let [units, state] = [u64::from_le_bytes(take(bytes)?), u64::from_le_bytes(take(bytes)?)];
        let model = Digest::from_bytes(take(bytes)?);
        let template = Digest::from_bytes(take(bytes)?);
        let key = Digest::from_bytes(take(bytes)?);
        Some(Self { units, state, origin: SnapshotIdentity::new(model, template), key })
    }

    /// Checks that a snapshot of `found` bytes has units and a state of the lengths in this header.
    pub(super) fn check_length(&self, found: u64) -> Result<(), SnapshotError> {
        let rest = (UNITS + DIGEST) as u64;
        let expected = rest.checked_add(self.units).and_then(|length| length.checked_add(self.state));
        let expected = expected.ok_or(SnapshotError::Damaged)?;
        if expected == found { Ok(()) } else { Err(SnapshotError::Cut { expected, found }) }
    }
}

/// Takes the first `LENGTH` bytes off.
fn take<const LENGTH: usize>(bytes: &mut &[u8]) -> Option<[u8; LENGTH]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

const TOKEN: u8 = 0;
const MEDIA: u8 = 1;
const WAS_LONGER: u8 = 2;

pub(super) fn encode(Beginning { units, was_longer }: &Beginning) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(units.len() * 5 + 1);
    for unit in units {
        match unit {
            PromptUnit::Token(token) => {
                bytes.push(TOKEN);
                bytes.extend_from_slice(&token.to_le_bytes());
            }
            PromptUnit::Media(media) => {
                bytes.push(MEDIA);
                bytes.extend_from_slice(media.digest().as_bytes());
            }
        }
    }
    bytes.extend(was_longer.then_some(WAS_LONGER));
    bytes
}

/// Reads units; `None` where the bytes are no units.
pub(super) fn decode(mut bytes: &[u8]) -> Option<Beginning> {
    let mut units = Vec::new();
    while let Some([kind]) = take(&mut bytes) {
        units.push(match kind {
            TOKEN => PromptUnit::Token(u32::from_le_bytes(take(&mut bytes)?)),
            // Its units are never computed again, so its bytes and their type are not needed.
            MEDIA => PromptUnit::Media(Media::known_as(Digest::from_bytes(take(&mut bytes)?))),
            WAS_LONGER if bytes.is_empty() => return Some(Beginning { units, was_longer: true }),
            _ => return None,
        });
    }
    Some(Beginning { units, was_longer: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_come_back_and_others_are_none() {
        let image = Media::new("image/png", b"x".to_vec());
        let units = vec![PromptUnit::Token(7), PromptUnit::Media(image), PromptUnit::Token(u32::MAX)];
        for was_longer in [false, true] {
            let beginning = Beginning { units: units.clone(), was_longer };
            let bytes = encode(&beginning);
            assert!(decode(&bytes) == Some(beginning));
        }
        let bytes = encode(&Beginning { units, was_longer: false });
        assert!(decode(bytes.get(..bytes.len() - 1).unwrap_or_default()).is_none());
        assert!(decode(&[3, 0, 0, 0, 0]).is_none());
        assert!(decode(&[2, 0, 7, 0, 0, 0]).is_none(), "nothing follows it");
    }

    #[test]
    fn a_key_is_of_everything_that_the_state_depends_on() {
        let another = Digest::of(b"another");
        let origin = SnapshotIdentity::new(Digest::of(b"model"), Digest::of(b"template"));
        let others =
            [SnapshotIdentity::new(another, origin.template), SnapshotIdentity::new(origin.model, another)];
        let units = encode(&Beginning { units: vec![PromptUnit::Token(1)], was_longer: false });
        for other in others {
            assert_ne!(other.key(&units), origin.key(&units));
        }
        let other_units = encode(&Beginning { units: vec![PromptUnit::Token(2)], was_longer: false });
        assert_ne!(origin.key(&other_units), origin.key(&units));
    }
}
