//! Compiles grammars for a vocabulary. The tree of the vocabulary's bytes is built once and shared by all grammars.

use std::fmt;
use std::sync::Arc;

use alloquy_core::grammar::{Grammar, GrammarCompiler, GrammarMatcher};
use alloquy_core::tokenizer::{Vocabulary, VocabularyToken};
use alloquy_core::{Error, ErrorKind, Result};
use llguidance::toktrie::{ApproximateTokEnv, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie};
use llguidance::{Matcher, ParserFactory};

use crate::failure::{self, Stage};
use crate::json_form::JsonForm;
use crate::limits::GrammarLimits;
use crate::reply::ReplyConstraint;
use crate::source;

/// Patterns of tokens whose masks are computed once: words, which are most of a vocabulary. Most patterns of text allow all
/// of them where they allow a letter. `llguidance` itself has such patterns for the tokens of JSON strings.
const WORDS: [&str; 4] = ["[a-z]+", " [a-z]+", "[A-Za-z]+", " [A-Za-z]+"];

/// Compiles grammars for one vocabulary.
pub(crate) struct Compiler {
    factory: ParserFactory,
    json: JsonForm,
}

impl Compiler {
    pub(crate) fn new(vocabulary: &Vocabulary, limits: GrammarLimits, json: JsonForm) -> Result<Self> {
        let environment: TokEnv = Arc::new(ApproximateTokEnv::new(tree(vocabulary)?));
        let mut slices = llguidance::earley::SlicedBiasComputer::general_slices();
        slices.extend(WORDS.map(str::to_owned));
        let factory = ParserFactory::new(&environment, InferenceCapabilities::default(), &slices);
        let mut factory = factory.map_err(|error| failure::of(Stage::Vocabulary, &error))?;
        factory.quiet();
        *factory.limits_mut() = limits.into();
        Ok(Self { factory, json })
    }
}

impl GrammarCompiler for Compiler {
    fn compile(&self, grammar: &Grammar) -> Result<Box<dyn GrammarMatcher>> {
        let source = source::of(grammar, self.json)?;
        let parser = self.factory.create_parser(source);
        let parser = parser.map_err(|error| failure::of(Stage::Grammar, &error))?;
        Ok(Box::new(ReplyConstraint::new(Matcher::new(Ok(parser)))))
    }
}

impl fmt::Debug for Compiler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = self.factory.tok_env().tok_trie().vocab_size();
        formatter.debug_struct("Compiler").field("tokens", &tokens).field("json", &self.json).finish()
    }
}

/// Builds the tree of a vocabulary's bytes, in which `llguidance` looks tokens up.
fn tree(vocabulary: &Vocabulary) -> Result<TokTrie> {
    let &[first, ..] = vocabulary.stop_tokens() else {
        let message = "no token of the vocabulary ends a reply, so no grammar could ever be complete";
        return Err(Error::new(ErrorKind::Unsupported, message));
    };
    let words: Vec<Vec<u8>> = vocabulary.tokens().iter().map(word).collect();
    let info = TokRxInfo::new(words.len() as u32, first);
    Ok(TokTrie::from(&info, &words).with_eos_tokens(vocabulary.stop_tokens()))
}

/// Returns the bytes of a token. A control token begins with a byte that no text has.
fn word(token: &VocabularyToken) -> Vec<u8> {
    match token {
        VocabularyToken::Text(bytes) => bytes.clone(),
        VocabularyToken::Control(text) => [&[TokTrie::SPECIAL_TOKEN_MARKER], text.as_bytes()].concat(),
        VocabularyToken::Unused => Vec::new(),
    }
}
