//! What every session that can be written down must do when it is put back.

use alloquy_core::ErrorKind;
use alloquy_core::prompt::Unit;
use alloquy_engine::decoder::StateReader;
use alloquy_engine::{Cancel, Session};

use super::{Laws, checked};

impl Laws<'_> {
    /// Engines whose sessions cannot be written down say so, and are done.
    pub(super) fn a_restored_session_goes_on_as_the_original(&self) {
        let all = self.units.len();
        for length in [1, all / 2, all - 1] {
            let (first, rest) = self.units.split_at(length);
            let mut original = self.open();
            self.feed(original.as_mut(), 0, 7);
            let Some(state) = self.snapshot(&*original, length) else { return };
            assert_eq!(original.resident(), all, "a snapshot leaves the session as it is");
            checked(original.truncate(length));
            let mut restored = self.open();
            restore(restored.as_mut(), first, &state);
            assert_eq!(restored.resident(), length, "a restored session holds what was written down");
            let wanted = checked(original.forward(rest, &Cancel::default())).to_vec();
            let logits = checked(restored.forward(rest, &Cancel::default())).to_vec();
            assert!(
                logits == wanted,
                "a session that was restored at {length} and the original: the same bits"
            );
            let mut fork = checked(restored.fork());
            let (wanted, logits) = (self.feed_on(restored.as_mut()), self.feed_on(fork.as_mut()));
            assert!(logits == wanted, "a restored session and its fork: the same bits");
        }
    }

    pub(super) fn a_session_that_stepped_with_another_is_restored(&self) {
        let (first, rest) = self.units.split_at(self.units.len() / 2);
        let (stepped, rest) = rest.split_at(2);
        let (mut original, mut other) = (self.open(), self.open());
        checked(original.forward(first, &Cancel::default()));
        checked(other.forward(rest, &Cancel::default()));
        self.step(&mut [&mut *other, &mut *original], stepped);
        let units = [first, stepped].concat();
        let Some(state) = self.snapshot(&*original, units.len()) else { return };
        let mut restored = self.open();
        restore(restored.as_mut(), &units, &state);
        let wanted = checked(original.forward(rest, &Cancel::default())).to_vec();
        let logits = checked(restored.forward(rest, &Cancel::default())).to_vec();
        assert!(
            logits == wanted,
            "a session that stepped with another, and one restored from it: the same bits"
        );
    }

    pub(super) fn a_snapshot_is_of_the_units_alone(&self) {
        let half = self.units.len() / 2;
        let mut session = self.open();
        self.feed(session.as_mut(), 0, 7);
        let Some(longer) = self.snapshot(&*session, half) else { return };
        checked(session.truncate(half));
        let shorter = self.snapshot(&*session, half);
        assert!(
            shorter == Some(longer),
            "what was computed behind them does not change a snapshot of the first units"
        );
        let mut into = b"before".to_vec();
        checked(session.snapshot(half, &mut into));
        assert!(into.starts_with(b"before"), "a snapshot is appended");
        let kind = session.snapshot(self.units.len(), &mut into).err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::Invalid), "more units than are held cannot be written down");
    }

    pub(super) fn a_state_of_other_units_is_refused(&self) {
        let half = self.units.len() / 2;
        let (first, rest) = self.units.split_at(half);
        let mut original = self.open();
        checked(original.forward(first, &Cancel::default()));
        let Some(state) = self.snapshot(&*original, half) else { return };
        let shorter = first.get(1..).unwrap_or_default();
        for (units, state) in [(shorter, &*state), (first, state.get(1..).unwrap_or_default()), (first, &[])]
        {
            let (mut session, mut state) = (self.open(), state);
            let refused = session.restore(units, &mut StateReader::new(&mut state));
            let kind = refused.err().map(|error| error.kind());
            assert_eq!(kind, Some(ErrorKind::Corrupt), "a state that is not of so many units is refused");
        }
        let mut restored = self.open();
        checked(restored.forward(rest, &Cancel::default()));
        restore(restored.as_mut(), first, &state);
        let logits = checked(restored.forward(rest, &Cancel::default())).to_vec();
        self.agree(
            &logits,
            &self.whole(),
            "a session that was restored in place of another state and one that was fed whole",
        );
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

fn restore(session: &mut dyn Session, units: &[Unit], mut state: &[u8]) {
    checked(session.restore(units, &mut StateReader::new(&mut state)));
}
