//! Ends thinking at its budget, and applies a grammar after thinking: with two requests, as no server does it exactly.
//!
//! The first request has no grammar if the prompt has begun thinking. It is left where thinking has to end: its connection is
//! closed, which frees the server. The tokens that end thinking are the reply's next ones. The second request continues after
//! them, and finds the whole of its prompt cached but for these few:
//!
//! ```text
//! first:   prompt                              → two and two a|re
//! second:  prompt two and two a ↵</think>↵↵    → {"sum": 4}        with the grammar
//! ```

use std::collections::VecDeque;

use alloquy_core::grammar::{Grammar, GrammarMatcher};
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result, SamplingOptions};
use alloquy_engine::decoder::{
    DecodeEnd, DecodeEvent, DecodeEventKind, DecodeRequest, Decoder, ExcludedTexts, GuidedDecoding,
    ThinkingCorrection, ThinkingRule, ThinkingScanner, ThinkingStage, TokenStream, encode_after_text,
};
use futures::{StreamExt, stream};

/// A decoder that continues replies.
pub(crate) trait Continuing: Decoder {
    /// Continues a prompt whose last `replied` tokens are of the reply already. An error in the request is the first item.
    fn request(&self, request: DecodeRequest, replied: usize) -> TokenStream;

    /// Checks that the server takes a grammar.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if its dialect cannot express it.
    fn check(&self, guided: &GuidedDecoding) -> Result<()>;
}

/// Returns the rule by which a request thinks, if the server alone would not keep it.
pub(crate) fn needed(guided: &GuidedDecoding) -> Option<ThinkingRule> {
    let rule = guided.thinking.as_ref()?;
    let is_needed = rule.budget.is_some() || rule.is_open && guided.grammar.is_some();
    is_needed.then(|| rule.clone())
}

/// Continues a prompt under a rule of thinking.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for a grammar that the server does not take, and with log-probabilities: those of the tokens that
/// end thinking are not known.
pub(crate) fn decode(
    decoder: Box<dyn Continuing>,
    request: DecodeRequest,
    rule: &ThinkingRule,
) -> Result<TokenStream> {
    let DecodeRequest { prompt, sampling, max_tokens, guided, excluded, .. } = request;
    if sampling.logprobs.is_some() && !decoder.ignored(&sampling).contains(&"logprobs") {
        let message = "the log-probabilities of the tokens that end thinking are not known: leave `logprobs` out, or the \
                       budget of thinking and the grammar after it";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    // The second request would be refused after all of the thinking.
    decoder.check(&guided)?;
    let watch = Watch::new(rule, guided.grammar.is_some());
    let grammar = guided.grammar.as_ref().map(|(grammar, matcher)| (grammar.clone(), matcher.fork()));
    let mut first = GuidedDecoding::default();
    if !watch.is_grammar_later {
        // Whether the server lets it think before the grammar is its own decision. If it does, the budget still counts.
        first.grammar = guided.grammar;
    }
    let asked = DecodeRequest::new(prompt.clone(), max_tokens);
    let asked = asked.sampling(sampling.clone()).excluding(excluded.clone()).guided(first);
    let events = decoder.request(asked, 0);
    let reply = Reply {
        decoder,
        prompt,
        sampling,
        limit: max_tokens,
        grammar,
        excluded,
        watch,
        events: Some(events),
        is_answer: false,
        said: Vec::new(),
        ready: VecDeque::new(),
    };
    Ok(stream::unfold(reply, |mut reply| async {
        let item = reply.next().await?;
        Some((item, reply))
    })
    .boxed())
}

/// Follows the thinking of a reply, token by token.
#[derive(Debug)]
struct Watch {
    scanner: ThinkingScanner,
    stage: ThinkingStage,
    has_grammar: bool,
    /// Whether the grammar begins after the thinking that the prompt has begun.
    is_grammar_later: bool,
}

/// Where the first request is left.
#[derive(Debug, PartialEq, Eq)]
struct Turn {
    /// Whether the last event is part of the reply.
    is_event_kept: bool,
    /// How many tokens the thinking has that is cut.
    cut: Option<usize>,
    /// The text that comes next.
    text: String,
}

impl Watch {
    fn new(rule: &ThinkingRule, has_grammar: bool) -> Self {
        Self {
            scanner: ThinkingScanner::new(rule),
            stage: ThinkingStage::first(rule),
            has_grammar,
            is_grammar_later: rule.is_open && has_grammar,
        }
    }

    /// Takes the bytes of a token.
    fn take(&mut self, said: &[u8]) -> Option<Turn> {
        match self.stage {
            ThinkingStage::Opening => self.stage = self.scanner.opens(said),
            ThinkingStage::Thinking => {
                if let Some(end) = self.scanner.push(said) {
                    self.stage = ThinkingStage::Answer;
                    return self.is_grammar_later.then(|| Turn::at_end(end.correction));
                }
            }
            ThinkingStage::Answer => {}
        }
        self.at_budget()
    }

    /// Returns the turn if no other token of thinking may come.
    fn at_budget(&self) -> Option<Turn> {
        let is_over = self.stage == ThinkingStage::Thinking && self.scanner.is_over_budget();
        is_over.then(|| self.cut(true))
    }

    /// Returns the turn if the reply must not end here: it still has to match its grammar.
    fn at_stop(&self) -> Option<Turn> {
        let is_within = self.stage == ThinkingStage::Thinking && self.has_grammar;
        is_within.then(|| self.cut(false))
    }

    fn cut(&self, is_event_kept: bool) -> Turn {
        Turn { is_event_kept, cut: Some(self.scanner.tokens()), text: self.scanner.ending() }
    }
}

impl Turn {
    /// Thinking has ended by itself.
    fn at_end(correction: ThinkingCorrection) -> Self {
        match correction {
            ThinkingCorrection::Append(text) => Self { is_event_kept: true, cut: None, text },
            ThinkingCorrection::Replace(text) => Self { is_event_kept: false, cut: None, text },
        }
    }
}

/// A reply of up to two requests.
struct Reply {
    decoder: Box<dyn Continuing>,
    prompt: Prompt,
    sampling: SamplingOptions,
    limit: usize,
    /// The grammar of the second request.
    grammar: Option<(Grammar, Box<dyn GrammarMatcher>)>,
    excluded: ExcludedTexts,
    watch: Watch,
    /// The events of the current request; `None` after the last one.
    events: Option<TokenStream>,
    /// Whether the current request is the second one.
    is_answer: bool,
    said: Vec<TokenId>,
    /// Events that come next.
    ready: VecDeque<DecodeEvent>,
}

impl Reply {
    async fn next(&mut self) -> Option<Result<DecodeEvent>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            let taken = match self.events.as_mut()?.next().await? {
                Ok(event) if self.is_answer => self.answer(event),
                Ok(event) => self.think(event),
                Err(error) => Err(error),
            };
            if let Err(error) = taken {
                self.events = None;
                return Some(Err(error));
            }
        }
    }

    /// Takes an event of the first request.
    fn think(&mut self, event: DecodeEvent) -> Result<()> {
        let turn = match event.kind {
            DecodeEventKind::Started { seed } => {
                self.sampling.seed = seed;
                None
            }
            DecodeEventKind::Prefilled(_) => self.watch.at_budget(),
            DecodeEventKind::Token { id, .. } => {
                let said = self.decoder.tokenizer().bytes(id).unwrap_or_default();
                let turn = self.watch.take(&said);
                if turn.as_ref().is_none_or(|turn| turn.is_event_kept) {
                    self.said.push(id);
                }
                turn
            }
            DecodeEventKind::Finished(DecodeEnd::StopToken(_)) => self.watch.at_stop(),
            _ => None,
        };
        let is_replaced = turn.as_ref().is_some_and(|turn| !turn.is_event_kept);
        if !is_replaced {
            self.ready.push_back(event);
        }
        // At the limit, the first request ends the reply.
        match turn {
            Some(turn) if self.said.len() < self.limit => self.turn(&turn),
            _ => Ok(()),
        }
    }

    /// Takes an event of the second request. The report of the prompt was that of the first one.
    fn answer(&mut self, event: DecodeEvent) -> Result<()> {
        let is_repeated = matches!(
            event.kind,
            DecodeEventKind::Started { .. } | DecodeEventKind::Prefilled(_) | DecodeEventKind::Cached(_)
        );
        if !is_repeated {
            self.ready.push_back(event);
        }
        Ok(())
    }

    /// Leaves the first request, adds the tokens that end thinking, and sends the second one.
    fn turn(&mut self, turn: &Turn) -> Result<()> {
        self.events = None;
        if let Some(tokens) = turn.cut {
            self.push(DecodeEventKind::ThinkingCut { tokens });
        }
        for id in encode_after_text(self.decoder.tokenizer(), &turn.text)? {
            if self.said.len() < self.limit {
                self.said.push(id);
                self.push(DecodeEventKind::Token { id, logprobs: None });
            }
        }
        if self.said.len() == self.limit {
            self.push(DecodeEventKind::Finished(DecodeEnd::MaxTokens));
            return Ok(());
        }
        let mut prompt = self.prompt.clone();
        prompt.units.extend(self.said.iter().copied().map(PromptUnit::Token));
        // An equal seed would repeat the draws of the thinking.
        let mut sampling = self.sampling.clone();
        sampling.seed = sampling.seed.map(|seed| seed.wrapping_add(1));
        let mut guided = GuidedDecoding::default();
        guided.grammar = self.grammar.take();
        let asked = DecodeRequest::new(prompt, self.limit - self.said.len());
        let asked = asked.sampling(sampling).excluding(self.excluded.clone()).guided(guided);
        self.events = Some(self.decoder.request(asked, self.said.len()));
        self.is_answer = true;
        Ok(())
    }

    fn push(&mut self, kind: DecodeEventKind) {
        self.ready.push_back(DecodeEvent::now(kind));
    }
}
