//! Which sampling options have no effect on a server.

use alloquy_core::SamplingOptions;
use alloquy_core::sampling::PenaltyScope;

/// Options that the caller of a decoder applies itself, for every decoder.
const OF_THE_CALLER: [&str; 4] = ["max_tokens", "repetition_detection", "stop", "stop_tokens"];

/// Options that have their effect on every server.
const EVERYWHERE: [&str; 4] = ["temperature", "top_p", "presence_penalty", "frequency_penalty"];

/// What sampling options do on the servers of a dialect.
#[derive(Debug)]
pub(crate) struct Effects {
    /// The options that have their effect, besides those of [`EVERYWHERE`].
    pub(crate) further: &'static [&'static str],
    /// Whether the repetition penalty counts the prompt.
    pub(crate) repetition: Counted,
    /// Whether the presence and frequency penalties count the prompt.
    pub(crate) presence: Counted,
}

/// The options of OpenAI's API. Servers have others too, but nothing says which.
pub(crate) const OF_OPENAI: Effects = Effects {
    further: &["suppress", "logit_bias", "seed"],
    repetition: Counted::PromptAndReply,
    presence: Counted::Reply,
};

/// Which tokens count for a penalty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Reply,
    PromptAndReply,
    /// As the request says.
    Chosen,
}

/// Names the options of a request that have no effect.
pub(crate) fn ignored(sampling: &SamplingOptions, effects: &Effects) -> Vec<&'static str> {
    let mut options = effective(sampling);
    // The scope is judged by its own: it matters also where no request names it.
    options.penalty_scope = None;
    let mut names = options.names();
    names.retain(|name| {
        let mut honoured = OF_THE_CALLER.iter().chain(&EVERYWHERE).chain(effects.further);
        !honoured.any(|known| known == name)
    });
    if scope_differs(&effective(sampling), effects) {
        names.push("penalty_scope");
    }
    names
}

/// Returns the options without the values that change nothing, which need no effect.
fn effective(sampling: &SamplingOptions) -> SamplingOptions {
    let mut options = sampling.clone();
    options.top_k = options.top_k.filter(|top_k| *top_k > 0);
    options.top_p = options.top_p.filter(|top_p| *top_p < 1.0);
    options.min_p = options.min_p.filter(|min_p| *min_p > 0.0);
    options.typical_p = options.typical_p.filter(|typical_p| *typical_p < 1.0);
    options.repetition_penalty = options.repetition_penalty.filter(|penalty| is_not(*penalty, 1.0));
    options.presence_penalty = options.presence_penalty.filter(|penalty| is_not(*penalty, 0.0));
    options.frequency_penalty = options.frequency_penalty.filter(|penalty| is_not(*penalty, 0.0));
    options.penalty_window = options.penalty_window.filter(|window| *window > 0);
    options.no_repeat_ngram = options.no_repeat_ngram.filter(|size| *size > 0);
    options
}

#[allow(clippy::float_cmp)] // only exactly these values change nothing
fn is_not(value: f32, neutral: f32) -> bool {
    value != neutral
}

/// Returns whether a penalty counts other tokens than the request wants.
fn scope_differs(options: &SamplingOptions, effects: &Effects) -> bool {
    let is_repetition = options.repetition_penalty.is_some();
    let is_presence = options.presence_penalty.is_some() || options.frequency_penalty.is_some();
    // The original definitions: of these, only the repetition penalty counts the prompt.
    let repetition = options.penalty_scope.unwrap_or(PenaltyScope::PromptAndReply);
    let presence = options.penalty_scope.unwrap_or(PenaltyScope::Reply);
    is_repetition && differs(effects.repetition, repetition)
        || is_presence && differs(effects.presence, presence)
}

fn differs(counted: Counted, wanted: PenaltyScope) -> bool {
    match counted {
        Counted::Chosen => false,
        Counted::Reply => wanted != PenaltyScope::Reply,
        Counted::PromptAndReply => wanted != PenaltyScope::PromptAndReply,
    }
}
