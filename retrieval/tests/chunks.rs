//! Documents, and the chunks they are cut into.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a test may panic

use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_retrieval::{Chunker, Document};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

/// Checks what holds for each document, and returns the texts of the chunks.
fn checked(chunker: &Chunker, document: &Document) -> Vec<String> {
    let text = document.content();
    let ((limit, _), _) = chunker.settings();
    let mut borders: Vec<usize> = text.grapheme_indices(true).map(|(start, _)| start).collect();
    borders.push(text.len());
    let mut joined = String::new();
    let mut texts = Vec::new();
    for chunk in chunker.chunks(document) {
        let own = chunk.range.start + chunk.overlap;
        assert!(own < chunk.range.end, "chunk {chunk:?} has nothing of its own");
        for border in [chunk.range.start, own, chunk.range.end] {
            assert!(borders.binary_search(&border).is_ok(), "{border} is inside of a grapheme of {text:?}");
        }
        joined += &text[own..chunk.range.end];
        let chunk = &text[chunk.range];
        let is_one = chunk.graphemes(true).count() == 1;
        assert!(characters(chunk) <= limit || is_one, "{chunk:?} has more than {limit} tokens");
        texts.push(chunk.to_owned());
    }
    assert_eq!(joined, text);
    texts
}

fn characters(text: &str) -> usize {
    text.chars().count()
}

fn by_characters(limit: usize, overlap: usize) -> Chunker {
    Chunker::new(limit, overlap).unwrap().counter("characters", Arc::new(characters))
}

proptest! {
    #[test]
    fn chunks_join_to_the_text(text in texts(), limit in 1..60_usize, overlap in 0..30_usize, kind in 0..4_u8) {
        let document = match kind {
            0 => Document::text("x", text),
            1 => Document::markdown("x", text),
            2 => Document::code("x", text),
            _ => Document::html("x", &text),
        };
        checked(&by_characters(limit, overlap.min(limit / 2)), &document);
    }

    #[test]
    fn unchanged_parts_keep_their_ids(before in "[a-z][a-z .]{0,200}", after in "[a-z .]{1,200}") {
        let chunker = Chunker::new(10, 2).unwrap();
        let old = chunker.passages(&Document::markdown("x", format!("# A\n\n{before}\n\n# B\n\n{after}\n")));
        let new = chunker.passages(&Document::markdown("x", format!("# A\n\nNew. {before}\n\n# B\n\n{after}\n")));
        let of_b = |passages: &[alloquy_retrieval::Passage]| -> Vec<String> {
            let of_b = passages.iter().filter(|passage| passage.metadata["heading"] == "B");
            of_b.map(|passage| passage.id.clone()).collect()
        };
        prop_assert_eq!(of_b(&old), of_b(&new));
    }
}

/// Texts with what is hard to cut: joined emoji, flags, marks, scripts without spaces, ends of lines, Markdown and markup.
fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "tea",
        " ",
        "  ",
        "\n",
        "\r\n",
        "\n\n",
        ". ",
        "# ",
        "\n## Green\n",
        "```\n",
        "| a | b |\n",
        "{",
        "}",
        "(",
        "👩‍👩‍👧",
        "🇵🇹🇩🇪",
        "é",
        "e\u{301}",
        "กำ",
        "नमस्ते",
        "東京都",
        "<p>",
        "<h2>",
        "</h2>",
        "<pre>",
        "&amp;",
        "\t",
        "\u{600}1",
        "각",
        "supercalifragilistic",
        "---\n",
        "> ",
        "- ",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_chunk_ends_at_the_best_place() {
    let text = "One two. Three four.\nFive six seven.\n\nEight nine ten. Eleven twelve.\n";
    let table: [(usize, &[&str]); 3] = [
        (12, &["One two. Three four.\nFive six seven.\n\n", "Eight nine ten. Eleven twelve.\n"]),
        (9, &["One two. Three four.\n", "Five six seven.\n\n", "Eight nine ten. Eleven twelve.\n"]),
        (5, &["One two. ", "Three four.\n", "Five six seven.\n\n", "Eight nine ten. ", "Eleven twelve.\n"]),
    ];
    for (limit, expected) in table {
        let document = Document::text("x", text);
        let chunks = Chunker::new(limit, 0).unwrap().chunks(&document);
        let texts: Vec<_> = chunks.iter().map(|chunk| &text[chunk.range.clone()]).collect();
        assert_eq!(texts, expected, "with {limit} tokens");
    }
}

#[test]
fn a_chunk_repeats_the_end_of_the_one_before() {
    let text = "One two three. Four five six. Seven eight nine. Ten eleven twelve.";
    let document = Document::text("x", text);
    let chunks = Chunker::new(8, 4).unwrap().chunks(&document);
    let texts: Vec<_> = chunks.iter().map(|chunk| &text[chunk.range.clone()]).collect();
    assert_eq!(
        texts,
        [
            "One two three. Four five six. ",
            "Four five six. Seven eight nine. ",
            "Seven eight nine. Ten eleven twelve."
        ]
    );
}

#[test]
fn passages_have_their_headings() {
    let text = "Before.\n\n# Tea\n\n## Green\n\nUnfermented.\n\n### Japan\n\nSencha.\n\nBlack\n-----\n\nFermented.\n";
    let passages =
        Chunker::default().passages(&Document::markdown("tea.md", text).metadata("language", "en"));
    let found: Vec<_> = passages
        .iter()
        .map(|passage| {
            (passage.metadata.get("heading").and_then(|heading| heading.as_str()), passage.text.as_str())
        })
        .collect();
    assert_eq!(
        found,
        [
            (None, "Before."),
            (Some("Tea > Green"), "# Tea\n\n## Green\n\nUnfermented."),
            (Some("Tea > Green > Japan"), "### Japan\n\nSencha."),
            (Some("Tea > Black"), "Black\n-----\n\nFermented."),
        ]
    );
    assert!(passages.iter().all(|passage| passage.metadata["language"] == "en"));
    assert!(passages.iter().all(|passage| passage.source.as_deref() == Some("tea.md")));
}

#[test]
fn equal_texts_of_a_document_have_ids_of_their_own() {
    let text = "same.\n\nsame.\n\nsame.\n";
    let passages = Chunker::new(2, 0).unwrap().passages(&Document::text("x", text));
    let mut ids: Vec<_> = passages.iter().map(|passage| passage.id.as_str()).collect();
    ids.dedup();
    assert_eq!((passages.len(), ids.len()), (3, 3));
}

#[test]
fn html_is_what_a_browser_shows() {
    let table = [
        ("<p>One<p>Two", "One\n\nTwo"),
        ("a <b>bold</b> word, a<i>b</i>c", "a bold word, abc"),
        ("<ul><li>One<li>Two</ul>", "One\nTwo"),
        ("<script>if (1 < 2) { '<p>no' }</script>yes<style>p{}</style>", "yes"),
        ("<head><title>T</title><meta></head><body>shown", "shown"),
        ("a&nbsp;&lt;b&gt; &eacute;", "a <b> é"),
        ("<pre>let x;\n  y</pre>end", "let x;\n  y\n\nend"),
        ("<table><tr><td>1<td>2<tr><td>3</table>", "1 2\n3"),
        ("one<br>two", "one\ntwo"),
        ("<svg><svg>no</svg>no</svg>yes", "yes"),
        ("", ""),
    ];
    for (html, expected) in table {
        assert_eq!(Document::html("x", html).content(), expected, "of {html:?}");
    }
    let document = Document::html("x", "<title>The \n page</title><h1>A <i>B</i></h1>text<h2>C");
    assert_eq!(document.entries()["title"], "The page");
    let headings: Vec<_> =
        document.headings().iter().map(|heading| (heading.at, heading.title.as_str())).collect();
    assert_eq!(headings, [(0, "A B"), (11, "C")]);
}

#[test]
fn code_is_cut_between_functions() {
    let text = "fn one() {\n    a();\n\n    b();\n}\n\nfn two() {\n    c();\n}\n";
    let document = Document::code("x.rs", text);
    let chunks = Chunker::new(22, 0).unwrap().chunks(&document);
    let texts: Vec<_> = chunks.iter().map(|chunk| &text[chunk.range.clone()]).collect();
    assert_eq!(texts, ["fn one() {\n    a();\n\n    b();\n}\n\n", "fn two() {\n    c();\n}\n"]);
}

#[test]
fn files_are_read_by_their_names() {
    assert_eq!(Document::from_bytes("a.MD", b"# A").unwrap().headings().len(), 1);
    assert_eq!(Document::from_bytes("a.txt", b"\xef\xbb\xbf# A").unwrap().content(), "# A");
    let error = Document::from_bytes("a.pdf", b"").unwrap_err();
    assert!(error.to_string().contains("pdftotext"), "{error}");
    let error = Document::from_bytes("a.txt", b"ab\xff").unwrap_err();
    assert!(error.to_string().contains("byte 2"), "{error}");
}

#[test]
fn a_chunker_needs_room() {
    assert!(Chunker::new(0, 0).is_err());
    let error = Chunker::new(10, 6).unwrap_err();
    assert!(error.to_string().contains("overlap of 6"), "{error}");
}

#[test]
fn a_large_document_takes_time_in_proportion() {
    let lines =
        "Tea is a drink, which people have (mostly) hot. It has many kinds: green, black.\n".repeat(13_000);
    let word = "a".repeat(1_000_000);
    let marks = format!("e{}", "\u{301}".repeat(500_000));
    let flags = "🇵".repeat(125_000);
    let spaces = " ".repeat(1_000_000);
    let ends = "\n".repeat(1_000_000);
    let nested = "[".repeat(1_000_000);
    for text in [lines, word, marks, flags, spaces, ends, nested] {
        for document in
            [Document::text("x", text.clone()), Document::code("x", text.clone()), Document::html("x", &text)]
        {
            let start = Instant::now();
            let chunks = Chunker::default().chunks(&document);
            assert_eq!(
                chunks.iter().map(|chunk| chunk.range.len() - chunk.overlap).sum::<usize>(),
                document.content().len()
            );
            assert!(start.elapsed() < Duration::from_secs(20), "{:?} of {:.20?}", start.elapsed(), text);
        }
    }
}
