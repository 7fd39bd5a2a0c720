//! Stems of words, with the feature `stems`.

use alloquy_core::Result;
#[cfg(not(feature = "stems"))]
use alloquy_core::{Error, ErrorKind};
#[cfg(feature = "stems")]
use snowball_stemmers_rs::{Algorithm, Stemmer};

use serde::{Deserialize, Serialize};

/// A language whose words have known stems.
///
/// [`WordOptions`](crate::WordOptions) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs)] // languages
pub enum StemLanguage {
    Arabic,
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Greek,
    Hindi,
    Hungarian,
    Indonesian,
    Italian,
    Norwegian,
    Polish,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
    Ukrainian,
}

/// Checks that stems of a language are available.
#[cfg(feature = "stems")]
pub(crate) fn check(_language: StemLanguage) -> Result<()> {
    Ok(())
}

/// Checks that stems of a language are available.
#[cfg(not(feature = "stems"))]
pub(crate) fn check(language: StemLanguage) -> Result<()> {
    let message = format!(
        "stems of {language:?} are unavailable: build alloquy-retrieval with its feature `stems`, or set no stems"
    );
    Err(Error::new(ErrorKind::Unsupported, message))
}

/// Replaces words by their stems.
#[cfg(feature = "stems")]
pub(crate) fn replace(language: StemLanguage, words: &mut [String]) {
    let stemmer = Stemmer::create(algorithm(language));
    for word in words {
        let stem = stemmer.stem(word).into_owned();
        *word = stem;
    }
}

/// Leaves the words as they are: no index has stems without the feature.
#[cfg(not(feature = "stems"))]
pub(crate) fn replace(_language: StemLanguage, _words: &mut [String]) {}

#[cfg(feature = "stems")]
fn algorithm(language: StemLanguage) -> Algorithm {
    match language {
        StemLanguage::Arabic => Algorithm::Arabic,
        StemLanguage::Danish => Algorithm::Danish,
        StemLanguage::Dutch => Algorithm::Dutch,
        StemLanguage::English => Algorithm::English,
        StemLanguage::Finnish => Algorithm::Finnish,
        StemLanguage::French => Algorithm::French,
        StemLanguage::German => Algorithm::German,
        StemLanguage::Greek => Algorithm::Greek,
        StemLanguage::Hindi => Algorithm::Hindi,
        StemLanguage::Hungarian => Algorithm::Hungarian,
        StemLanguage::Indonesian => Algorithm::Indonesian,
        StemLanguage::Italian => Algorithm::Italian,
        StemLanguage::Norwegian => Algorithm::Norwegian,
        StemLanguage::Polish => Algorithm::Polish,
        StemLanguage::Portuguese => Algorithm::Portuguese,
        StemLanguage::Romanian => Algorithm::Romanian,
        StemLanguage::Russian => Algorithm::Russian,
        StemLanguage::Spanish => Algorithm::Spanish,
        StemLanguage::Swedish => Algorithm::Swedish,
        StemLanguage::Tamil => Algorithm::Tamil,
        StemLanguage::Turkish => Algorithm::Turkish,
        StemLanguage::Ukrainian => Algorithm::Ukrainian,
    }
}
