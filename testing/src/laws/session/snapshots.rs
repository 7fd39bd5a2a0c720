//! What every session with snapshots must do when it is restored.

use alloquy_core::ErrorKind;
use alloquy_core::prompt::PromptUnit;
use alloquy_engine::decoder::StateReader;
use alloquy_engine::{CancelToken, Session};

use super::{Laws, checked};

impl Laws<'_> {
    /// Ends early for an engine without snapshots, as the other laws of snapshots do.
    pub(super) fn a_restored_session_continues_like_the_original(&self) {
        let all = self.units.len();
        for length in [1, all / 2, all - 1] {
            let (first, rest) = self.units.split_at(length);
            let mut original = self.marked(length);
            let Some(state) = self.snapshot(&*original, length) else { return };
            assert_eq!(original.length(), all, "a snapshot leaves the session as it is");
            assert_eq!(checked(original.truncate(length)), length, "what was saved can be gone back to");
            let mut restored = self.open();
            restore(restored.as_mut(), first, &state);
            assert_eq!(restored.length(), length, "a restored session holds the units of its snapshot");
            let wanted = checked(original.forward(rest, &CancelToken::default())).to_vec();
            let logits = checked(restored.forward(rest, &CancelToken::default())).to_vec();
            assert!(
                logits == wanted,
                "a session that was restored at {length} and the original: the same bits"
            );
            let mut fork = checked(restored.fork());
            let wanted = self.feed_one_more(restored.as_mut());
            let logits = self.feed_one_more(fork.as_mut());
            assert!(logits == wanted, "a restored session and its fork: the same bits");
        }
    }

    pub(super) fn a_session_that_stepped_with_another_is_restored(&self) {
        let (first, rest) = self.units.split_at(self.units.len() / 2);
        let (stepped, rest) = rest.split_at(2);
        let mut original = self.open();
        let mut other = self.open();
        checked(original.forward(first, &CancelToken::default()));
        checked(other.forward(rest, &CancelToken::default()));
        self.step(&mut [&mut *other, &mut *original], stepped);
        let units = [first, stepped].concat();
        let Some(state) = self.snapshot(&*original, units.len()) else { return };
        let mut restored = self.open();
        restore(restored.as_mut(), &units, &state);
        let wanted = checked(original.forward(rest, &CancelToken::default())).to_vec();
        let logits = checked(restored.forward(rest, &CancelToken::default())).to_vec();
        assert!(
            logits == wanted,
            "a session that stepped with another, and one restored from it: the same bits"
        );
    }

    pub(super) fn a_snapshot_is_of_the_units_alone(&self) {
        let half = self.units.len() / 2;
        let mut session = self.marked(half);
        let Some(longer) = self.snapshot(&*session, half) else { return };
        checked(session.truncate(half));
        let shorter = self.snapshot(&*session, half);
        assert!(
            shorter == Some(longer),
            "a snapshot of the first units does not depend on the units after them"
        );
        let mut into = b"before".to_vec();
        checked(session.snapshot(half, &mut into));
        assert!(into.starts_with(b"before"), "a snapshot is appended");
        let kind = session.snapshot(self.units.len(), &mut into).err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::Invalid), "a snapshot of more units than are cached is invalid");
    }

    pub(super) fn a_state_of_other_units_is_refused(&self) {
        let half = self.units.len() / 2;
        let (first, rest) = self.units.split_at(half);
        let mut original = self.open();
        checked(original.forward(first, &CancelToken::default()));
        let Some(state) = self.snapshot(&*original, half) else { return };
        let shorter = first.get(1..).unwrap_or_default();
        for (units, state) in [(shorter, &*state), (first, state.get(1..).unwrap_or_default()), (first, &[])]
        {
            let mut session = self.open();
            let mut state = state;
            let refused = session.restore(units, &mut StateReader::new(&mut state));
            let kind = refused.err().map(|error| error.kind());
            assert_eq!(kind, Some(ErrorKind::Corrupt), "a state of another number of units is refused");
        }
        let mut restored = self.open();
        checked(restored.forward(rest, &CancelToken::default()));
        restore(restored.as_mut(), first, &state);
        let logits = checked(restored.forward(rest, &CancelToken::default())).to_vec();
        self.agree(
            &logits,
            &self.whole(),
            "a session that was restored in place of another state and one that was fed whole",
        );
    }

    /// Returns a session that holds all units, and was marked after the first `length`.
    fn marked(&self, length: usize) -> Box<dyn Session> {
        let mut session = self.open();
        let (first, rest) = self.units.split_at(length);
        checked(session.forward(first, &CancelToken::default()));
        session.mark();
        for chunk in rest.chunks(7) {
            checked(session.forward(chunk, &CancelToken::default()));
        }
        session
    }

    fn snapshot(&self, session: &dyn Session, length: usize) -> Option<Vec<u8>> {
        let mut state = Vec::new();
        match session.snapshot(length, &mut state) {
            Ok(()) => Some(state),
            Err(error) if error.kind() == ErrorKind::Unsupported => None,
            Err(error) => panic!("a lawful call failed: {error:#}"),
        }
    }
}

fn restore(session: &mut dyn Session, units: &[PromptUnit], mut state: &[u8]) {
    checked(session.restore(units, &mut StateReader::new(&mut state)));
}
