//! Conversations whose prompts go without their oldest messages from now on. Knows units alone.

use alloquy_core::prompt::Unit;

/// How many units tell where a prompt goes on as a session does.
const NEEDLE: usize = 16;

/// So many units of the same words in a row are the same conversation, whatever was put before them.
const RUN: usize = 128;

/// Says whether a prompt, which shares its first `shared` units with what a session holds (`resident`), is the same
/// conversation with a part left out behind these: what it holds up to its end follows in the prompt. Where something else was
/// put in the place of that part, such as a summary, a long run of it must follow.
pub(super) fn is_of(resident: &[Unit], prompt: &[Unit], shared: usize) -> bool {
    let (Some(lost), Some(new)) = (resident.get(shared..), prompt.get(shared..)) else { return false };
    if lost.len() <= NEEDLE || new.len() < NEEDLE {
        return false;
    }
    let needle = lost.get(lost.len() - NEEDLE..).unwrap_or_default();
    let Some(place) = new.windows(NEEDLE).rposition(|window| window == needle) else { return false };
    let up_to = new.get(..place + NEEDLE).unwrap_or_default();
    let run = up_to.iter().rev().zip(lost.iter().rev()).take_while(|(left, right)| left == right).count();
    // Shorter than what is lost: nothing is left out of it otherwise.
    run < lost.len() && (run == up_to.len() || run >= RUN && run * 2 >= up_to.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(numbers: impl IntoIterator<Item = u32>) -> Vec<Unit> {
        numbers.into_iter().map(Unit::Token).collect()
    }

    #[test]
    fn a_prompt_without_the_middle_is_of_the_same_conversation() {
        let held = units(0..200);
        assert!(is_of(&held, &units((0..10).chain(150..230)), 10));
        assert!(is_of(&held, &units(150..230), 0), "nothing stays before");
        let summarised = units((0..10).chain(900..920).chain(50..230));
        assert!(is_of(&held, &summarised, 10), "a summary stands for the middle");
    }

    #[test]
    fn an_edit_a_branch_and_another_conversation_are_none() {
        let held = units(0..200);
        assert!(!is_of(&held, &units((0..100).chain(300..400)), 100), "another question");
        assert!(!is_of(&held, &units(0..150), 150), "the same question again");
        assert!(!is_of(&held, &units((0..10).chain(300..400).chain(100..220)), 10), "an edit far before");
        assert!(!is_of(&held, &units(500..700), 0), "another conversation");
        assert!(!is_of(&units(0..10), &units(5..40), 0), "too short to tell");
    }
}
