//! Messages of several lines: three quotation marks begin and end them.

/// What begins and ends a message of several lines.
pub(super) const MARKS: &str = "\"\"\"";

/// The commands whose text may have several lines.
const TEXTS: [&str; 2] = ["/edit", "/system"];

/// A text as it begins with marks, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoted<'a> {
    /// It does not begin with marks, or has more text after those that end it.
    No,
    /// The marks that end it are missing.
    Open,
    /// The text between the marks.
    Closed(&'a str),
}

impl<'a> Quoted<'a> {
    /// Reads a text: it ends with the first line that ends with marks.
    pub(super) fn read(text: &'a str) -> Self {
        let Some(inside) = text.trim_start().strip_prefix(MARKS) else { return Self::No };
        let mut end = 0;
        for line in inside.split_inclusive('\n') {
            end += line.len();
            let Some((so_far, rest)) = inside.split_at_checked(end) else { return Self::Open };
            if let Some(said) = so_far.trim_end().strip_suffix(MARKS) {
                // Pasted code may begin with marks that end on its first line: it is sent as it is.
                let is_last = rest.trim().is_empty();
                return if is_last { Self::Closed(said.trim_matches(['\r', '\n'])) } else { Self::No };
            }
        }
        Self::Open
    }
}

/// Returns whether more lines follow: those of a message, or of the text of a command.
pub(super) fn is_open(text: &str) -> bool {
    let text = text.trim_start();
    let argument = match text.split_once(char::is_whitespace) {
        Some((command, argument)) if TEXTS.contains(&command) => argument,
        _ => text,
    };
    Quoted::read(argument) == Quoted::Open
}

/// Returns the text between marks, or the text itself.
pub(super) fn unquoted(text: &str) -> &str {
    match Quoted::read(text) {
        Quoted::Closed(inside) => inside,
        Quoted::No | Quoted::Open => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_begin_and_end_a_text() {
        assert_eq!(Quoted::read("\"\"\""), Quoted::Open);
        assert_eq!(Quoted::read("\"\"\"One\nTwo \"\"\" three\n"), Quoted::Open);
        assert_eq!(Quoted::read("\"\"\"exit\"\"\"\n"), Quoted::Closed("exit"));
        assert_eq!(Quoted::read("\"\"\"\n  One\n\nTwo\n\"\"\""), Quoted::Closed("  One\n\nTwo"));
        assert_eq!(Quoted::read("\"\"\"\"\"\""), Quoted::Closed(""));
        assert_eq!(Quoted::read("\"\"\"A docstring.\"\"\"\nx = 1"), Quoted::No);
        assert_eq!(Quoted::read("What is \"\"\"?"), Quoted::No);
    }

    #[test]
    fn texts_of_commands_may_have_several_lines() {
        assert!(is_open("/edit \"\"\"One") && is_open("/system \"\"\"") && !is_open("/goto \"\"\""));
        assert!(!is_open("/edit One") && !is_open("/edit \"\"\"One\nTwo\"\"\""));
        assert_eq!((unquoted("\"\"\"\nOne\n\"\"\""), unquoted("One")), ("One", "One"));
    }
}
