//! Paths as people type them in a chat: with a tilde, in quotation marks, or with escaped spaces as terminals paste them.

use std::path::PathBuf;

/// Returns the path that a person means.
pub(super) fn typed_path(text: &str) -> PathBuf {
    let text = text.trim();
    for mark in ['"', '\''] {
        if let Some(inside) = text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark)) {
            return at_home(inside);
        }
    }
    let path = at_home(text);
    if path.exists() || cfg!(windows) { path } else { at_home(&text.replace("\\ ", " ")) }
}

/// Puts the home folder in the place of a tilde.
pub(super) fn at_home(text: &str) -> PathBuf {
    if let Some(rest) = text.strip_prefix("~/")
        && let Ok(home) = etcetera::home_dir()
    {
        return home.join(rest);
    }
    PathBuf::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_what_people_mean() {
        assert_eq!(typed_path(" \"a b.png\" "), PathBuf::from("a b.png"));
        assert!(typed_path("~/cat.png").is_absolute());
        assert_eq!(typed_path("~cat"), PathBuf::from("~cat"));
        #[cfg(unix)]
        assert_eq!(typed_path("/nowhere/a\\ b.png"), PathBuf::from("/nowhere/a b.png"));
    }
}
