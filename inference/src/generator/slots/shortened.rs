//! Finds sessions of conversations whose oldest messages are left out of later prompts.

use alloquy_core::prompt::PromptUnit;

/// The number of units at the end of a session that are looked for in the prompt.
const NEEDLE: usize = 16;

/// How long a common run of units must be where another text replaces the part that is left out.
const RUN: usize = 128;

/// Returns whether a prompt is the conversation of a session with a part left out after their common prefix of `shared` units.
///
/// Then the end of the session (`cached`) follows that prefix in the prompt:
///
/// ```text
/// session:  system  question 1  answer 1  question 2  answer 2
/// prompt:   system  question 2  answer 2  question 3
/// ```
///
/// If another text replaces the part, such as a summary, a long run of units must follow it.
pub(super) fn is_of(cached: &[PromptUnit], prompt: &[PromptUnit], shared: usize) -> bool {
    let Some(lost) = cached.get(shared..) else { return false };
    let Some(new) = prompt.get(shared..) else { return false };
    if lost.len() <= NEEDLE || new.len() < NEEDLE {
        return false;
    }
    let needle = lost.get(lost.len() - NEEDLE..).unwrap_or_default();
    let Some(place) = new.windows(NEEDLE).rposition(|window| window == needle) else { return false };
    // From the needle's end backwards: how much of the session's end does the prompt have in a row?
    let up_to = new.get(..place + NEEDLE).unwrap_or_default();
    let run = up_to.iter().rev().zip(lost.iter().rev()).take_while(|(left, right)| left == right).count();
    // All of it: nothing is left out.
    if run >= lost.len() {
        return false;
    }
    // The run begins at the common prefix, or something shorter than the run is between the two.
    run == up_to.len() || run >= RUN && run * 2 >= up_to.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(numbers: impl IntoIterator<Item = u32>) -> Vec<PromptUnit> {
        numbers.into_iter().map(PromptUnit::Token).collect()
    }

    #[test]
    fn a_prompt_without_the_middle_is_of_the_same_conversation() {
        let held = units(0..200);
        assert!(is_of(&held, &units((0..10).chain(150..230)), 10));
        assert!(is_of(&held, &units(150..230), 0), "nothing stays before");
        let summarized = units((0..10).chain(900..920).chain(50..230));
        assert!(is_of(&held, &summarized, 10), "a summary replaces the middle");
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
