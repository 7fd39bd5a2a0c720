//! Measures what drafts save on several kinds of text.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_core::processor::PromptPart;
use alloquy_core::prompt::Prompt;
use alloquy_core::report::{DraftSource, DraftStop, Speculation};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result, SamplingOptions};
use alloquy_engine::Engine;
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
use futures::StreamExt;

use crate::generator::{DraftModel, Generator, GeneratorOptions};

/// A text that a reply quotes, as a summary or an edit does.
const QUOTED: &str = "The harbour has three piers. The first pier is for fishing boats, the second pier is for the ferry, and the \
                      third pier is closed in winter. Ada keeps the light on the third pier.\n\nThe same text again:\n\nThe harbour \
                      has three piers. The first pier is for fishing boats,";

/// A text that a reply continues in its own words.
const PROSE: &str = "Once upon a time, there was a little girl who lived near the sea. One day she found a small boat on the sand. \
                     She wanted to";

/// The beginning of a program.
const CODE: &str = "def mean(values):\n    total = 0\n    for value in values:\n        total = total + value\n    return total / \
                    len(values)\n\n\ndef variance(values):\n    total = 0\n    for value in values:\n";

/// Measures replies with and without drafts, in turns, on text that quotes, prose and code.
///
/// ```
/// use std::sync::Arc;
/// use alloquy_engine::Engine;
/// use alloquy_inference::{DraftBenchmark, DraftModel, GeneratorOptions};
/// use alloquy_testing::NoiseEngine;
///
/// let engine: Arc<dyn Engine> = Arc::new(NoiseEngine::new([]));
/// let draft = DraftModel::new(Arc::clone(&engine));
/// let benchmark = DraftBenchmark { generated: 8, repeats: 1 };
/// let options = GeneratorOptions::default();
/// let runs = pollster::block_on(benchmark.run(&engine, Some(draft), options, &mut |_| {}))?;
/// assert_eq!(runs.len(), 3);
/// assert!(runs.iter().all(|run| run.is_equal && run.ratio() > 0.0));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DraftBenchmark {
    /// The most tokens of each reply.
    pub generated: usize,
    /// How often each text is continued. The medians count.
    pub repeats: usize,
}

/// What drafts saved on one kind of text.
///
/// [`DraftBenchmark`] has an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DraftRun {
    /// The kind of text: `quoting`, `prose` or `code`.
    pub text: &'static str,
    /// Tokens of the reply.
    pub tokens: usize,
    /// How long the reply took without drafts, its prompt included.
    pub plain: Duration,
    /// How long it took with drafts.
    pub drafted: Duration,
    /// How many tokens were guessed and accepted in all repeats.
    pub speculation: Speculation,
    /// In how many of the repeats drafts were switched off.
    pub stopped: usize,
    /// The first reason for that.
    pub reason: Option<(DraftSource, DraftStop)>,
    /// Whether every reply had the same tokens with drafts as without.
    pub is_equal: bool,
}

impl DraftRun {
    /// Returns how many times as fast the reply was with drafts.
    pub fn ratio(&self) -> f64 {
        self.plain.as_secs_f64() / self.drafted.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// A reply that was measured.
struct Measured {
    took: Duration,
    tokens: Vec<TokenId>,
    speculation: Speculation,
    stop: Option<(DraftSource, DraftStop)>,
}

impl DraftBenchmark {
    /// Measures an engine with the drafts of a model and of the options. `progress` receives what is measured next.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a zero, and the errors of [`Generator::with_draft`] and of the engines.
    pub async fn run(
        self,
        engine: &Arc<dyn Engine>,
        draft: Option<DraftModel>,
        options: GeneratorOptions,
        progress: &mut dyn FnMut(String),
    ) -> Result<Vec<DraftRun>> {
        if self.generated == 0 || self.repeats == 0 {
            let message = "a benchmark of 0 tokens or repeats measures nothing, at least 1";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let alone = GeneratorOptions { lookup: None, ..options };
        let plain = Generator::new(Arc::clone(engine), alone)?;
        let drafted = match draft {
            Some(draft) => Generator::with_draft(Arc::clone(engine), draft, options)?,
            None => Generator::new(Arc::clone(engine), options)?,
        };
        let mut runs = Vec::new();
        for (text, prompt) in [("quoting", QUOTED), ("prose", PROSE), ("code", CODE)] {
            progress(format!("{text}, with and without drafts"));
            runs.push(self.measure(text, prompt, [&plain, &drafted]).await?);
        }
        Ok(runs)
    }

    async fn measure(
        self,
        text: &'static str,
        prompt: &str,
        [plain, drafted]: [&Generator; 2],
    ) -> Result<DraftRun> {
        let mut times = (Vec::new(), Vec::new());
        let mut speculation = Speculation::default();
        let mut stopped = 0;
        let mut reason = None;
        let mut tokens = 0;
        let mut is_equal = true;
        for _ in 0..self.repeats {
            let without = self.reply(plain, prompt).await?;
            let with = self.reply(drafted, prompt).await?;
            times.0.push(without.took);
            times.1.push(with.took);
            speculation.guessed += with.speculation.guessed;
            speculation.kept += with.speculation.kept;
            stopped += usize::from(with.stop.is_some());
            reason = reason.or(with.stop);
            tokens = without.tokens.len();
            is_equal &= without.tokens == with.tokens;
        }
        let plain = median(times.0);
        let drafted = median(times.1);
        Ok(DraftRun { text, tokens, plain, drafted, speculation, stopped, reason, is_equal })
    }

    /// Generates a reply, the likeliest tokens.
    async fn reply(self, generator: &Generator, text: &str) -> Result<Measured> {
        let prompt = Prompt::lower(&[PromptPart::Text(text.into())], generator.tokenizer())?;
        let sampling = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
        let start = Instant::now();
        let mut events = generator.decode(DecodeRequest::new(prompt, self.generated).sampling(sampling));
        let speculation = Speculation::default();
        let mut measured = Measured { took: Duration::ZERO, tokens: Vec::new(), speculation, stop: None };
        while let Some(event) = events.next().await {
            match event?.kind {
                DecodeEventKind::Token { id, .. } => measured.tokens.push(id),
                DecodeEventKind::Speculated(step) => {
                    measured.speculation.guessed += step.guessed;
                    measured.speculation.kept += step.kept;
                }
                DecodeEventKind::DraftsStopped { source, reason } => {
                    measured.stop.get_or_insert((source, reason));
                }
                _ => {}
            }
        }
        measured.took = start.elapsed();
        Ok(measured)
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
