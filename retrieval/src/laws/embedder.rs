//! The laws of embedders.

use alloquy_core::Result;

use crate::{Embedder, TextKind};

/// How much a number of a vector may differ between a text alone and in a batch.
const TOLERANCE: f32 = 0.001;

/// Texts of many scripts and lengths.
const TEXTS: [&str; 9] = [
    "Where is tea grown?",
    "Tea is grown in Assam, in Kenya, and on the slopes of Mount Fuji; it needs rain, warmth, and an acid soil.",
    "",
    " ",
    "茶はどこで栽培されていますか",
    "👩‍👩‍👧 🇵🇹",
    "a",
    "<|im_end|> [CLS] [SEP] <s>",
    "tea\u{0}tea\r\ntea\u{fffd}",
];

/// Checks all laws on an embedder.
///
/// ```
/// use alloquy_retrieval::{NgramEmbedder, laws};
///
/// # pollster::block_on(laws::embedder::all(&NgramEmbedder::default())).unwrap();
/// ```
///
/// # Errors
/// Those of the embedder.
///
/// # Panics
/// If the embedder breaks a law.
pub async fn all(embedder: &dyn Embedder) -> Result<()> {
    for kind in [TextKind::Query, TextKind::Passage] {
        vectors_have_length_one(embedder, kind).await?;
        a_batch_changes_nothing(embedder, kind).await?;
        cut_texts_are_listed(embedder, kind).await?;
    }
    Ok(())
}

/// There is a vector for each text, with the right number of finite numbers and a length of 1.
///
/// [`all`] has an example.
///
/// # Errors
/// Those of the embedder.
///
/// # Panics
/// If the embedder breaks the law.
pub async fn vectors_have_length_one(embedder: &dyn Embedder, kind: TextKind) -> Result<()> {
    let digest = embedder.digest();
    let none = embedder.embed(&[], kind).await?;
    assert!(none.vectors.is_empty() && none.cut.is_empty(), "there are vectors for no texts");
    let embeddings = embedder.embed(&TEXTS, kind).await?;
    assert_eq!(embeddings.vectors.len(), TEXTS.len(), "there is not one vector for each text");
    for (text, vector) in TEXTS.iter().zip(&embeddings.vectors) {
        assert_eq!(vector.len(), embedder.dimensions(), "the vector of {text:?} has another length");
        assert!(
            vector.iter().all(|number| number.is_finite()),
            "the vector of {text:?} has a number that is not finite"
        );
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        assert!((length - 1.0).abs() < TOLERANCE, "the vector of {text:?} has the length {length}, not 1");
    }
    assert_eq!(embedder.digest(), digest, "computing vectors changed the digest");
    Ok(())
}

/// A text has the same vector alone, in a batch, and the second time.
///
/// [`all`] has an example.
///
/// # Errors
/// Those of the embedder.
///
/// # Panics
/// If the embedder breaks the law.
pub async fn a_batch_changes_nothing(embedder: &dyn Embedder, kind: TextKind) -> Result<()> {
    let batch = embedder.embed(&TEXTS, kind).await?;
    for (text, in_batch) in TEXTS.iter().zip(&batch.vectors) {
        let alone = embedder.embed(&[text], kind).await?;
        let [alone] = alone.vectors.as_slice() else { panic!("there is not one vector for one text") };
        for (left, right) in alone.iter().zip(in_batch) {
            assert!(
                (left - right).abs() < TOLERANCE,
                "{text:?} has another vector in a batch: {left} and {right}"
            );
        }
    }
    Ok(())
}

/// Texts whose end has no effect are listed, by their indices in order, and short ones are not.
///
/// [`all`] has an example.
///
/// # Errors
/// Those of the embedder.
///
/// # Panics
/// If the embedder breaks the law.
pub async fn cut_texts_are_listed(embedder: &dyn Embedder, kind: TextKind) -> Result<()> {
    let start = "Tea is grown in Assam. ".repeat(2_000);
    let long = format!("{start}Rain falls in April.");
    let other = format!("{start}Some prefer coffee.");
    let embeddings = embedder.embed(&["tea", &long, "rain", &other], kind).await?;
    let [_, one, _, two] = embeddings.vectors.as_slice() else {
        panic!("there is not one vector for each text")
    };
    match embeddings.cut.as_slice() {
        [] => assert_ne!(one, two, "the end of a long text has no effect, and the text is not listed as cut"),
        cut => assert_eq!(cut, [1, 3], "other texts are listed as cut than the long ones"),
    }
    Ok(())
}
