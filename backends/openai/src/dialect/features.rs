//! What servers of a dialect can do, as their requests show it.

use alloquy_core::SamplingOptions;
use alloquy_core::grammar::Grammar;
use serde_json::json;

use super::Dialect;
use crate::wire::Ask;

impl Dialect {
    /// Returns the names of the sampling options that have no effect. A reply to a request that sets one has a warning.
    ///
    /// ```
    /// use alloquy_openai::Dialect;
    ///
    /// assert!(Dialect::LlamaCpp.ignored_options().contains(&"no_repeat_ngram"));
    /// assert!(!Dialect::LlamaCpp.ignored_options().contains(&"top_k"));
    /// ```
    #[must_use]
    pub fn ignored_options(self) -> Vec<&'static str> {
        self.ignored(&every_option())
    }

    /// Returns the kinds of grammars that can be sent. Others are refused.
    ///
    /// ```
    /// use alloquy_openai::Dialect;
    ///
    /// assert_eq!(Dialect::LlamaCpp.grammars(), ["JSON Schema", "choice"]);
    /// ```
    #[must_use]
    pub fn grammars(self) -> Vec<&'static str> {
        let kinds = [
            ("JSON Schema", Grammar::JsonSchema(json!({"type": "object"}))),
            ("regular expression", Grammar::Regex("a+".to_owned())),
            ("choice", Grammar::choice(["yes", "no"])),
            ("Lark", Grammar::Lark("start: \"a\"".to_owned())),
        ];
        let mut names = Vec::new();
        for (name, grammar) in &kinds {
            if self.takes(grammar) {
                names.push(*name);
            }
        }
        names
    }

    /// Returns whether the log-probabilities of texts can be requested.
    #[must_use]
    pub fn has_scores(self) -> bool {
        self.score_body("", &[0], None).is_some()
    }

    /// Returns whether a request with this grammar can be written.
    fn takes(self, grammar: &Grammar) -> bool {
        let sampling = SamplingOptions::default();
        let ask = Ask { grammar: Some(grammar), ..Ask::next_token("", &[0], &sampling) };
        self.body(&ask).is_ok()
    }
}

/// Returns options that all differ from those that change nothing.
fn every_option() -> SamplingOptions {
    SamplingOptions {
        temperature: Some(0.7),
        top_k: Some(20),
        top_p: Some(0.9),
        min_p: Some(0.1),
        typical_p: Some(0.9),
        repetition_penalty: Some(1.1),
        presence_penalty: Some(0.1),
        frequency_penalty: Some(0.1),
        penalty_window: Some(64),
        penalty_scope: None,
        no_repeat_ngram: Some(3),
        repetition_detection: Some(64),
        suppress: vec![0],
        logit_bias: [(0, 1.0)].into(),
        seed: Some(1),
        max_tokens: Some(1),
        stop: vec!["a".to_owned()],
        stop_tokens: vec![vec![0]],
        logprobs: Some(1),
    }
}
