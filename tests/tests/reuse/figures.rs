//! What is counted of a chat, and the table of all of them.

use std::collections::BTreeMap;
use std::fmt;

use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::{Error, Reply};

use crate::engine::Respelled;
use crate::setting::Setting;

/// Of a thousand tokens that need not be computed again, so many must not be.
const TARGET: f64 = 999.0;

/// A reply with what had been held of its prompt before.
pub(crate) struct Seen<'a> {
    /// How many leading tokens of its prompt.
    pub(crate) held: usize,
    pub(crate) respelled: Respelled,
    pub(crate) reply: &'a Reply,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    slug: String,
    family: String,
    vocabulary: &'static str,
    replies: usize,
    calls: usize,
    thoughts: usize,
    prompt: usize,
    /// Tokens that had been held, but for the last of a prompt, which gives the logits.
    unchanged: usize,
    cached: usize,
    /// Tokens whose text had been said in others, by the cause.
    respelled: BTreeMap<&'static str, usize>,
    /// Replies and tokens, by the reason that is reported.
    missed: BTreeMap<&'static str, (usize, usize)>,
    pub(crate) dropped: usize,
    refused: BTreeMap<String, usize>,
}

const SILENT: &str = "silent";

impl Figures {
    pub(crate) fn of(setting: &Setting) -> Self {
        let family = setting.processor.name().to_owned();
        Self { slug: setting.slug.clone(), family, vocabulary: setting.vocabulary, ..Self::default() }
    }

    pub(crate) fn refused(&mut self, error: &Error) {
        *self.refused.entry(format!("{error:#}")).or_default() += 1;
    }

    pub(crate) fn count(&mut self, Seen { held, respelled, reply }: Seen<'_>) {
        let Some(cache) = reply.cache else { return };
        self.replies += 1;
        self.calls += reply.message.tool_calls().count();
        self.thoughts += usize::from(reply.message.thinking().is_some());
        self.prompt += cache.prompt;
        let reusable = held.min(cache.prompt - 1);
        self.unchanged += reusable;
        self.cached += cache.cached.min(reusable);
        assert!(cache.cached <= reusable, "{cache:?} of {held}: more is reused than was ever held");
        if respelled.tokens > 0 {
            *self.respelled.entry(cause(&respelled, &cache)).or_default() += respelled.tokens;
        }
        if cache.cached < reusable {
            let (replies, tokens) = self.missed.entry(reason(&cache)).or_default();
            *replies += 1;
            *tokens += reusable - cache.cached;
        }
        if std::env::var_os("ALLOQUY_REUSE_TEMPLATE").is_some() {
            println!("held {held} {cache:?}");
            if let Respelled { tokens: 1.., before, after, .. } = &respelled {
                println!("before: {before}\nnow:    {after}");
            }
        }
    }

    fn add(&mut self, other: &Self) {
        self.replies += other.replies;
        self.calls += other.calls;
        self.thoughts += other.thoughts;
        self.prompt += other.prompt;
        self.unchanged += other.unchanged;
        self.cached += other.cached;
        for (cause, tokens) in &other.respelled {
            *self.respelled.entry(cause).or_default() += tokens;
        }
        self.dropped += other.dropped;
        for (reason, (replies, tokens)) in &other.missed {
            let sum = self.missed.entry(reason).or_default();
            *sum = (sum.0 + replies, sum.1 + tokens);
        }
    }

    fn share(&self) -> f64 {
        self.cached as f64 * 1000.0 / self.unchanged.max(1) as f64
    }

    fn is_silent(&self) -> bool {
        self.missed.contains_key(SILENT) || self.respelled.contains_key(SILENT)
    }

    fn has_passed(&self) -> bool {
        self.share() >= TARGET && !self.is_silent() && self.replies > 0
    }
}

/// Why words that were said before are in other tokens.
fn cause(respelled: &Respelled, report: &CacheReport) -> &'static str {
    match reason(report) {
        "rewritten" if respelled.as_text => "control token as text",
        named => named,
    }
}

fn reason(report: &CacheReport) -> &'static str {
    match report.miss {
        Some(MissReason::Evicted) => "not held",
        Some(MissReason::Changed) => "differs",
        Some(MissReason::Rewritten) => "rewritten",
        Some(MissReason::Retokenized) => "respelled",
        Some(MissReason::NotRewindable) => "rewound",
        Some(_) => "other",
        None => SILENT,
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missed = |(reason, (replies, tokens)): (&&str, &(usize, usize))| {
            format!("{reason}: {tokens} in {replies}")
        };
        let missed: Vec<_> = self.missed.iter().map(missed).collect();
        let respelled: Vec<_> =
            self.respelled.iter().map(|(cause, tokens)| format!("{cause}: {tokens}")).collect();
        write!(
            formatter,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.2} % | {} | {} |",
            self.slug,
            self.family,
            self.vocabulary,
            self.replies,
            self.calls,
            self.thoughts,
            self.prompt,
            self.unchanged,
            self.cached,
            self.share() / 10.0,
            listed(&missed),
            listed(&respelled),
        )
    }
}

fn listed(entries: &[String]) -> String {
    if entries.is_empty() { "–".to_owned() } else { entries.join(", ") }
}

#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Figures>);

impl Table {
    pub(crate) fn push(&mut self, figures: Figures) {
        for (error, times) in &figures.refused {
            eprintln!("{}: refused {times} times: {error}", figures.slug);
        }
        eprintln!("{figures}");
        self.0.push(figures);
    }

    /// How many templates hold the target, and how many do not.
    pub(crate) fn verdict(&self) -> (usize, usize) {
        let passed = self.0.iter().filter(|figures| figures.has_passed()).count();
        (passed, self.0.len() - passed)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut total = Figures { slug: "**all**".to_owned(), ..Figures::default() };
        writeln!(
            formatter,
            "| template | family | vocabulary | replies | calls | thinking | prompt tokens | held before | reused | share \
             | not reused | same text |"
        )?;
        writeln!(formatter, "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---|---|")?;
        for figures in &self.0 {
            writeln!(formatter, "{figures}")?;
            total.add(figures);
        }
        write!(formatter, "{total}")
    }
}
