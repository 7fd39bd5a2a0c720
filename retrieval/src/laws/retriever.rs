//! The laws of retrievers.

use alloquy_core::query::Filter;
use alloquy_core::{Owner, Result};

use crate::{Found, Lookup, Passage, Retriever};

/// How many passages an owner has.
const PASSAGES: usize = 12;

/// The passages that a retriever is to find, of two owners.
///
/// Each has a text, a source and metadata of its own. A retriever may give them other ids, and may add metadata.
///
/// [`all`] has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sample {
    /// The owners and their passages.
    pub owners: Vec<(Owner, Vec<Passage>)>,
}

/// Checks all laws on a retriever that `fill` creates for a sample, once.
///
/// ```
/// use alloquy_retrieval::{MemoryRetriever, laws};
///
/// # pollster::block_on(async {
/// laws::retriever::all(async |sample| {
///     let retriever = MemoryRetriever::default();
///     for (owner, passages) in sample.owners {
///         retriever.add(&owner, passages);
///     }
///     Ok(retriever)
/// })
/// .await
/// # }).unwrap();
/// ```
///
/// # Errors
/// Those of `fill` and of the retriever.
///
/// # Panics
/// If the retriever breaks a law.
pub async fn all<R: Retriever>(fill: impl AsyncFnOnce(Sample) -> Result<R>) -> Result<()> {
    let one = passages("one");
    let other = passages("other");
    let owners = [owner("law-one")?, owner("law-other")?];
    let [first, second] = owners.clone();
    let sample = Sample { owners: vec![(first, one.clone()), (second, other)] };
    let retriever = fill(sample).await?;
    let [owner, second] = &owners;
    finds_words(&retriever, owner, &one).await?;
    is_sorted_and_limited(&retriever, owner).await?;
    is_repeatable(&retriever, owner).await?;
    filters_apply_before_the_limit(&retriever, owner).await?;
    lowest_scores_are_kept(&retriever, owner).await?;
    owners_are_apart(&retriever, owner, second).await?;
    nothing_is_found_for_no_text(&retriever, owner).await
}

fn owner(name: &str) -> Result<Owner> {
    name.parse()
}

fn passages(of: &str) -> Vec<Passage> {
    let words = ["oolong", "sencha", "matcha", "assam", "darjeeling", "keemun"];
    let mut passages = Vec::new();
    for (number, word) in words.iter().cycle().take(PASSAGES).enumerate() {
        let id = format!("{of}{number}");
        // The words that passages share are as frequent in each, so that some scores are equal.
        let text = format!("The {word} tea of {of}. It is number{number} of them.");
        let parity = if number % 2 == 0 { "even" } else { "odd" };
        passages
            .push(Passage::new(&id, text).source(&id).metadata("number", number).metadata("parity", parity));
    }
    passages
}

fn texts(found: &Found) -> Vec<&str> {
    found.passages.iter().map(|passage| passage.text.as_str()).collect()
}

/// A word that only one passage has finds it first, as it was given.
///
/// [`all`] has an example.
///
/// # Errors
/// Those of the retriever.
///
/// # Panics
/// If the retriever breaks the law.
pub async fn finds_words(retriever: &dyn Retriever, owner: &Owner, passages: &[Passage]) -> Result<()> {
    for (number, passage) in passages.iter().enumerate() {
        let found = retriever.find(owner, &Lookup::new(format!("number{number}"))).await?;
        let Some(first) = found.passages.first() else {
            panic!("{} finds nothing for number{number}", retriever.name())
        };
        assert_eq!(first.text, passage.text, "{} finds another passage for number{number}", retriever.name());
        assert_eq!(first.source, passage.source, "{} changes the source of a passage", retriever.name());
        for (name, value) in &passage.metadata {
            let found = first.metadata.get(name);
            assert_eq!(found, Some(value), "{} changes the metadata {name:?}", retriever.name());
        }
    }
    Ok(())
}

/// Passages are sorted by score and then by id, each once, and no more than the limit.
///
/// [`all`] has an example.
///
/// # Errors
/// Those of the retriever.
///
/// # Panics
/// If the retriever breaks the law.
pub async fn is_sorted_and_limited(retriever: &dyn Retriever, owner: &Owner) -> Result<()> {
    for limit in 1..=PASSAGES + 1 {
        let found = retriever.find(owner, &Lookup::new("the tea of matcha").limit(limit)).await?;
        let name = retriever.name();
        assert_eq!(
            found.passages.len(),
            limit.min(PASSAGES),
            "{name} finds another number than the limit allows"
        );
        for pair in found.passages.windows(2) {
            let [before, after] = pair else { continue };
            assert!(
                before.score.is_finite() && after.score.is_finite(),
                "{name} has a score that is no number"
            );
            let is_sorted =
                before.score > after.score || (before.score == after.score && before.id < after.id);
            assert!(is_sorted, "{name} does not sort passages by score and id: {before:?}, {after:?}");
        }
    }
    Ok(())
}

/// The same lookup finds the same passages with the same scores, and the version is the same with and without a search.
///
/// [`all`] has an example.
///
/// # Errors
/// Those of the retriever.
///
/// # Panics
/// If the retriever breaks the law.
pub async fn is_repeatable(retriever: &dyn Retriever, owner: &Owner) -> Result<()> {
    let lookup = Lookup::new("sencha tea");
    let first = retriever.find(owner, &lookup).await?;
    let second = retriever.find(owner, &lookup).await?;
    assert_eq!(first, second, "{} finds something else the second time", retriever.name());
    assert_eq!(
        first.version,
        retriever.version(owner).await?,
        "{} has another version without a search",
        retriever.name()
    );
    Ok(())
}

/// A passage that a filter allows is found even if others match better.
///
/// [`all`] has an example.
///
/// # Errors
/// Those of the retriever.
///
/// # Panics
/// If the retriever breaks the law.
pub async fn filters_apply_before_the_limit(retriever: &dyn Retriever, owner: &Owner) -> Result<()> {
    for number in 0..PASSAGES {
        let lookup =
            Lookup::new("the tea of number0").limit(1).filter(Filter::equals("number", number as u64));
        let found = retriever.find(owner, &lookup).await?;
        let numbers: Vec<_> =
            found.passages.iter().filter_map(|passage| passage.metadata.get("number")).collect();
        assert_eq!(
            numbers,
            [&serde_json::Value::from(number)],
            "{} applies filters after the limit, or not",
            retriever.name()
        );
    }
    let none =
        Lookup::new("tea").filter(Filter::equals("parity", "even")).filter(Filter::equals("parity", "odd"));
    let found = retriever.find(owner, &none).await?;
    assert!(found.passages.is_empty(), "{} finds what one of two filters forbids", retriever.name());
    Ok(())
}

/// Passages with the lowest allowed score are found, and none with a lower one.
///
/// [`all`] has an example.
///
/// # Errors
/// Those of the retriever.
///
/// # Panics
/// If the retriever breaks the law.
pub async fn lowest_scores_are_kept(retriever: &dyn Retriever, owner: &Owner) -> Result<()> {
    let lookup = Lookup::new("the keemun tea").limit(PASSAGES);
    let found = retriever.find(owner, &lookup).await?;
    for passage in &found.passages {
        let least = passage.score;
        let limited = retriever.find(owner, &lookup.clone().min_score(least)).await?;
        let expected: Vec<_> =
            found.passages.iter().filter(|passage| passage.score >= least).cloned().collect();
        assert_eq!(
            limited.passages,
            expected,
            "{} does not keep the scores from {least} on",
            retriever.name()
        );
    }
    Ok(())
}

/// The passages of another owner are not found, and an owner without passages has none.
///
/// [`all`] has an example.
///
/// # Errors
/// Those of the retriever.
///
/// # Panics
/// If the retriever breaks the law.
pub async fn owners_are_apart(retriever: &dyn Retriever, owner: &Owner, other: &Owner) -> Result<()> {
    let lookup = Lookup::new("the tea of other").limit(3 * PASSAGES);
    let found = retriever.find(owner, &lookup).await?;
    let is_own = texts(&found).iter().all(|text| !text.contains("of other"));
    assert!(is_own, "{} finds passages of another owner", retriever.name());
    let found = retriever.find(other, &lookup).await?;
    let is_own = texts(&found).iter().all(|text| text.contains("of other"));
    assert!(is_own && found.passages.len() == PASSAGES, "{} does not find all of an owner", retriever.name());
    let stranger: Owner = "law-stranger".parse()?;
    let found = retriever.find(&stranger, &lookup).await?;
    assert!(found.passages.is_empty(), "{} finds passages of an owner who has none", retriever.name());
    Ok(())
}

/// A text without words finds nothing, and is no error.
///
/// [`all`] has an example.
///
/// # Errors
/// Those of the retriever.
///
/// # Panics
/// If the retriever breaks the law.
pub async fn nothing_is_found_for_no_text(retriever: &dyn Retriever, owner: &Owner) -> Result<()> {
    for text in ["", " ", "\n\t"] {
        let found = retriever.find(owner, &Lookup::new(text)).await?;
        assert!(found.passages.is_empty(), "{} finds something for {text:?}", retriever.name());
        assert_eq!(found.version, retriever.version(owner).await?, "{} has no version", retriever.name());
    }
    Ok(())
}
