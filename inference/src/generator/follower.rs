//! A session of a draft model, which follows one reply and guesses its next tokens.

use alloquy_core::Result;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::TokenId;
use alloquy_engine::CancelToken;

use super::slots::Slot;

/// How likely a whole draft must be, by the draft model: what is less likely is rarely accepted.
const LIKELY: f64 = 0.3;

/// A session of a draft model that follows one reply.
#[derive(Debug)]
pub(super) struct Follower {
    pub(super) slot: Slot,
    /// The first unit of the reply's session that it holds; 0 for all of it.
    pub(super) start: usize,
}

impl Follower {
    /// Removes what is not in `units`, such as rejected tokens, and returns how many of them it lacks: one at least, so that there are
    /// logits to guess from.
    ///
    /// A session with a state that cannot be cut keeps less, and lacks more.
    pub(super) fn cut(&mut self, units: &[PromptUnit]) -> Result<usize> {
        let own = units.get(self.start..).unwrap_or_default();
        let equal = self.slot.cached.iter().zip(own).take_while(|(held, own)| held == own).count();
        let shared = equal.min(own.len().saturating_sub(1));
        if shared < self.slot.session.length() {
            self.slot.session.truncate(shared)?;
        }
        self.slot.cached.truncate(self.slot.session.length());
        Ok(own.len() - self.slot.cached.len())
    }

    /// Computes the next `most` of the units that it lacks.
    pub(super) fn follow(&mut self, units: &[PromptUnit], most: usize, cancel: &CancelToken) -> Result<()> {
        let missing = units.get(self.start + self.slot.cached.len()..).unwrap_or_default();
        let chunk = missing.get(..most).unwrap_or(missing);
        if chunk.is_empty() {
            return Ok(());
        }
        self.slot.cached.extend(chunk);
        let computed = self.slot.session.forward(chunk, cancel).map(drop);
        // A cancelled call may have computed a part of them.
        self.slot.cached.truncate(self.slot.session.length());
        computed
    }

    /// Guesses at most `most` tokens after those that it holds: the likeliest each time. It ends before one of `stop_tokens`, before an
    /// id that is not below `vocabulary`, and where the draft is unlikely.
    pub(super) fn guess(
        &mut self,
        most: usize,
        stop_tokens: &[TokenId],
        vocabulary: usize,
    ) -> Result<Vec<PromptUnit>> {
        // A session that cannot be cut anywhere returns here when guesses are rejected.
        self.slot.session.mark();
        let mut guesses = Vec::with_capacity(most);
        let mut certainty = 1.0;
        while guesses.len() < most {
            let Some((token, probability)) = likeliest(self.slot.session.logits()) else { break };
            certainty *= probability;
            if certainty < LIKELY || stop_tokens.contains(&token) || token as usize >= vocabulary {
                break;
            }
            let unit = PromptUnit::Token(token);
            guesses.push(unit.clone());
            // The last one is not computed: the reply may differ before it.
            if guesses.len() < most {
                self.slot.session.forward(std::slice::from_ref(&unit), &CancelToken::default())?;
                self.slot.cached.push(unit);
            }
        }
        Ok(guesses)
    }
}

/// Returns the likeliest token and its probability; `None` where logits are not numbers.
fn likeliest(logits: &[f32]) -> Option<(TokenId, f64)> {
    let mut best = (0, f32::NEG_INFINITY);
    for (index, &logit) in logits.iter().enumerate() {
        if logit > best.1 {
            best = (index, logit);
        }
    }
    let mut total = 0.0;
    for &logit in logits {
        total += f64::from(logit - best.1).exp();
    }
    // The likeliest adds 1 to the total, which is no number if a logit is none.
    let probability = 1.0 / total;
    let token = TokenId::try_from(best.0).ok()?;
    (total >= 1.0 && best.1.is_finite()).then_some((token, probability))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_token_has_its_probability() {
        let (token, probability) = likeliest(&[0.0, f32::NEG_INFINITY, 3.0_f32.ln(), 0.0]).unwrap();
        assert!(token == 2 && (probability - 0.6).abs() < 1e-6);
        assert_eq!(likeliest(&[]), None);
        assert_eq!(likeliest(&[1.0, f32::NAN]), None);
        assert_eq!(likeliest(&[f32::INFINITY, 1.0]), None);
        assert_eq!(likeliest(&[f32::NEG_INFINITY]), None);
    }
}
