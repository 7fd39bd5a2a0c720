//! Style counts what is planted, and nothing else.

#![allow(clippy::unwrap_used)] // a test may panic

mod planted;

use xtask::{Count, Figures};

/// The lines of `count` in a file of a crate.
fn lines(count: Count, path: &str, text: &str) -> Vec<usize> {
    let figures = Figures::of(&planted::tree(&[(path, text)])).unwrap();
    figures.places.iter().filter(|place| place.count == count).map(|place| place.line).collect()
}

const CODE: &str = r#"//! A.

/// Returns the sum of two images.
fn sum(left: u32, right: u32, is_both: bool) -> u32 {
    let twice = |number: u32| 2 * number;
    let (one, two) = (left, right);
    let (three, four) = pair();
    let wide = [1].map(|number: u32| number + 1);
    match is_both {
        true => twice(one) + two,
        false => three,
    }
}

#[cfg(test)]
mod tests {
    fn test() {
        let helper = || 1;
    }
}
"#;

#[test]
fn constructs_are_counted_where_they_are() {
    assert_eq!(lines(Count::Closures, "core/src/a.rs", CODE), [5]);
    assert_eq!(lines(Count::Tuples, "core/src/a.rs", CODE), [6]);
    assert_eq!(lines(Count::Matches, "core/src/a.rs", CODE), [9]);
    assert!(lines(Count::Words, "core/src/a.rs", CODE).is_empty());
}

#[test]
fn tests_and_examples_are_not_counted() {
    for path in ["core/tests/a.rs", "core/examples/a.rs", "core/benches/a.rs"] {
        assert!(lines(Count::Closures, path, CODE).is_empty(), "{path}");
    }
}

#[test]
fn words_are_found_in_comments_names_and_texts_and_not_in_attributes() {
    let code = "//! A picture.\n\n// Stands here.\n#[serde(rename = \"video\")]\nstruct FilmReel;\nconst A: &str = \"nobody\";\n\
                const B: &str = \"picturesque\";\n";
    let mut found = lines(Count::Words, "core/src/a.rs", code);
    found.sort_unstable();
    assert_eq!(found, [1, 3, 5, 6]);
    assert_eq!(lines(Count::Words, "docs/a.md", "# A picture\n\nTwo\npictures of a `picture`.\n"), [3]);
}

#[test]
fn long_sentences_are_found_and_code_is_one_word() {
    let words = "word ".repeat(30);
    assert!(lines(Count::Sentences, "docs/a.md", &format!("{words}.\n")).is_empty());
    assert_eq!(lines(Count::Sentences, "docs/a.md", &format!("Short one.\n\n{words}\nmore. And on.\n")), [3]);
    let code = format!("`{words}` is one word, and so is [this](../a/{}).\n", words.replace(' ', "-"));
    assert!(lines(Count::Sentences, "docs/a.md", &code).is_empty());
    let fenced = format!("```text\n{words} more words\n```\n");
    assert!(lines(Count::Sentences, "docs/a.md", &fenced).is_empty());
    let comment = format!("//! A.\n\n/// {words}\n/// and more.\nfn a() {{}}\n");
    assert_eq!(lines(Count::Sentences, "core/src/a.rs", &comment), [3]);
}

#[test]
fn a_file_that_is_not_rust_is_an_error() {
    let error = Figures::of(&planted::tree(&[("core/src/a.rs", "fn {")])).unwrap_err();
    assert!(error.to_string().contains("core/src/a.rs"), "{error}");
}
