//! Characters that are invisible in a name: they hide a difference or reverse the direction of the text.

/// Returns the first invisible character of a text, except for joiners that change the characters around them.
///
/// Joiners and variation selectors are needed in some scripts and in emoji, where they change the shape of what they
/// follow. After ASCII they change nothing, so two names would look alike. Control characters are not checked here.
pub(crate) fn first_invisible(text: &str) -> Option<char> {
    let mut has_shape = false;
    for character in text.chars() {
        if is_invisible(character) || (is_joiner(character) && !has_shape) {
            return Some(character);
        }
        has_shape = !character.is_ascii();
    }
    None
}

/// Returns whether a character changes the shape of the characters around it.
fn is_joiner(character: char) -> bool {
    matches!(
        character,
        '\u{180B}'..='\u{180D}'
            | '\u{180F}'
            | '\u{200C}'..='\u{200D}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{E0100}'..='\u{E01EF}'
    )
}

/// Returns whether Unicode counts a character as formatting or ignorable. These are soft hyphens, directional marks,
/// embeddings, overrides and isolates, line breaks, empty letters and tags. Marks before numbers are formatting too,
/// but are visible.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180E}'
            | '\u{200B}'
            | '\u{200E}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{13430}'..='\u{1343F}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E00FF}'
            | '\u{E01F0}'..='\u{E0FFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::first_invisible;

    #[test]
    fn invisible_characters_are_found_and_joiners_in_words_are_not() {
        let turning = ('\u{202A}'..='\u{202E}').chain('\u{2066}'..='\u{2069}');
        for character in
            turning.chain(['\u{200E}', '\u{200F}', '\u{61C}', '\u{200B}', '\u{FEFF}', '\u{2028}'])
        {
            assert_eq!(first_invisible(&format!("ä{character}b")), Some(character));
        }
        for visible in [
            "support/42",
            "a b",
            "چای",
            "می\u{200C}خواهم",
            "क्\u{200D}ष",
            "👩\u{200D}🔥",
            "❤\u{FE0F}\u{200D}🔥",
            "葛\u{E0100}",
        ] {
            assert_eq!(first_invisible(visible), None, "{visible:?}");
        }
        for hidden in ["a\u{200D}b", "\u{200C}", "1\u{FE0F}"] {
            assert!(first_invisible(hidden).is_some(), "{hidden:?}");
        }
    }
}
