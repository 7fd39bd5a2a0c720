//! Measures how fast an engine computes prompts, tokens, and several replies at once.

use std::time::{Duration, Instant};

use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result, SamplingOptions};
use alloquy_engine::{BatchStep, CancelToken, Engine, Session};

use crate::sampler::Sampler;

/// Measures an engine: for each length of a prompt and each number of concurrent replies, the times of prefill and decode.
///
/// ```
/// use alloquy_inference::Benchmark;
/// use alloquy_testing::ScriptedEngine;
///
/// let benchmark = Benchmark { prompts: vec![100], history: 50, generated: 8, together: vec![1, 4], repeats: 1 };
/// let report = benchmark.run(&ScriptedEngine::new([]), &mut |_| {})?;
/// assert_eq!(report.runs.len(), 2);
/// assert!(report.runs[1].decode_rate() > 0.0);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Benchmark {
    /// The lengths of the prompts, in tokens.
    pub prompts: Vec<usize>,
    /// How many tokens are cached before a prompt is timed, as in a later turn of a conversation.
    pub history: usize,
    /// How many tokens are generated after each.
    pub generated: usize,
    /// How many replies to one prompt are generated concurrently.
    pub together: Vec<usize>,
    /// How often each combination is measured. The median counts.
    pub repeats: usize,
}

impl Default for Benchmark {
    /// Prompts of 128 and 512 tokens without a history, replies of 64 tokens, one reply and four at a time, measured three times.
    fn default() -> Self {
        Self { prompts: vec![128, 512], history: 0, generated: 64, together: vec![1, 4], repeats: 3 }
    }
}

/// The results of a [`Benchmark`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BenchmarkReport {
    /// The time of the very first token, in a session of its own. It includes the work that a backend does once, which is not
    /// part of the runs.
    pub warm_up: Duration,
    /// The median time to open a session, measured as often as each run.
    pub session: Duration,
    /// One for each length of a prompt and each number of replies, in that order.
    pub runs: Vec<BenchmarkRun>,
}

/// One or more concurrent replies to one prompt.
///
/// [`Benchmark`] has an example.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BenchmarkRun {
    /// Tokens of the prompt.
    pub prompt: usize,
    /// How many tokens were cached before the prompt.
    pub history: usize,
    /// How many replies were generated concurrently.
    pub together: usize,
    /// Tokens of each reply.
    pub generated: usize,
    /// How long the prompt took: the time to the first token, without drawing it.
    pub prefill: Duration,
    /// How long the forks took for the other replies. What a fork copies later, when it is written to, counts in `decode`.
    pub fork: Duration,
    /// How long the tokens of all replies took, drawing them included.
    pub decode: Duration,
    /// How long one step took, a token of each reply: the median, which a disturbed machine moves less than the sum.
    pub step: Duration,
    /// How much of `decode` the runtime computed; `None` where the engine does not report it.
    pub computing: Option<Duration>,
}

impl BenchmarkRun {
    /// Returns tokens of the prompt a second.
    pub fn prefill_rate(&self) -> f64 {
        self.prompt as f64 / self.prefill.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Returns the share of `decode` that the runtime did not compute: feeding it, reading its logits, drawing.
    pub fn overhead(&self) -> Option<f64> {
        let share = self.computing?.as_secs_f64() / self.decode.as_secs_f64().max(f64::MIN_POSITIVE);
        Some((1.0 - share).max(0.0))
    }

    /// Returns how long the first token took; drawing it is not counted.
    pub fn first_token(&self) -> Duration {
        self.prefill
    }

    /// Returns how many tokens all replies have together.
    pub fn decode_tokens(&self) -> usize {
        self.generated * self.together
    }

    /// Returns tokens of all replies a second.
    pub fn decode_rate(&self) -> f64 {
        self.decode_tokens() as f64 / self.decode.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl Benchmark {
    /// Measures an engine, after a short run that is not counted. `progress` receives what is measured next.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a zero, [`ErrorKind::ContextOverflow`] for a prompt that leaves no room for its reply, and
    /// those of the engine.
    pub fn run(&self, engine: &dyn Engine, progress: &mut dyn FnMut(String)) -> Result<BenchmarkReport> {
        self.check(engine)?;
        progress("first token".to_owned());
        let warm_up = warm_up(engine)?;
        let mut runs = Vec::new();
        for &prompt in &self.prompts {
            for &together in &self.together {
                progress(format!("prompt of {prompt} tokens, {together} together"));
                let measured = (0..self.repeats).map(|_| self.measure(engine, prompt, together));
                runs.push(median(measured.collect::<Result<_>>()?)?);
            }
        }
        Ok(BenchmarkReport { warm_up, session: self.session(engine)?, runs })
    }

    fn session(&self, engine: &dyn Engine) -> Result<Duration> {
        let mut opened = Vec::with_capacity(self.repeats);
        for _ in 0..self.repeats {
            let (took, session) = timed(|| engine.open());
            session?;
            opened.push(took);
        }
        opened.sort_unstable();
        Ok(opened.get(opened.len() / 2).copied().unwrap_or_default())
    }

    fn check(&self, engine: &dyn Engine) -> Result<()> {
        let numbers = self.prompts.iter().chain(&self.together).chain([&self.generated, &self.repeats]);
        if numbers.copied().min() == Some(0) {
            let message = "a benchmark of 0 tokens, replies or repeats measures nothing, at least 1";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let context = engine.model().context_length;
        let longest = self.prompts.iter().max().unwrap_or(&0);
        if self.history.saturating_add(*longest).saturating_add(self.generated) > context {
            let before = match self.history {
                0 => String::new(),
                history => format!(" after a history of {history}"),
            };
            let message = format!(
                "a prompt of {longest} and a reply of {}{before} do not fit into the context of {context}",
                self.generated
            );
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        Ok(())
    }

    fn measure(&self, engine: &dyn Engine, prompt: usize, together: usize) -> Result<BenchmarkRun> {
        let units = babble(engine, self.history + prompt + self.generated);
        let (history, units_after) = units.split_at(self.history);
        let (prompt_units, tokens) = units_after.split_at(prompt);
        let mut trunk = engine.open()?;
        trunk.reserve(units.len());
        if !history.is_empty() {
            trunk.forward(history, &CancelToken::default())?;
        }
        let (prefill, first) = timed(|| trunk.forward(prompt_units, &CancelToken::default()).map(drop));
        first?;
        let (fork, copies) = timed(|| (1..together).map(|_| trunk.fork()).collect::<Result<Vec<_>>>());
        let mut sessions = copies?;
        sessions.push(trunk);
        let mut greedy =
            Sampler::new(&SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() })?;
        let before = engine.computing();
        let mut steps = Vec::with_capacity(tokens.len());
        for unit in tokens {
            let (took, stepped) = timed(|| step(engine, &mut sessions, unit, &mut greedy));
            stepped?;
            steps.push(took);
        }
        let computing = engine.computing().zip(before).map(|(after, before)| after.saturating_sub(before));
        let history = self.history;
        let generated = self.generated;
        let decode = steps.iter().sum();
        steps.sort_unstable();
        let step = steps.get(steps.len() / 2).copied().unwrap_or_default();
        Ok(BenchmarkRun { prompt, history, together, generated, prefill, fork, decode, step, computing })
    }
}

fn warm_up(engine: &dyn Engine) -> Result<Duration> {
    let units = babble(engine, 1);
    let mut session = engine.open()?;
    let (took, computed) = timed(|| session.forward(&units, &CancelToken::default()).map(drop));
    computed?;
    Ok(took)
}

/// Computes a token of each reply, and draws the next one as a reply would. The drawn token is not used: every run computes the
/// same tokens.
fn step(
    engine: &dyn Engine,
    sessions: &mut [Box<dyn Session>],
    unit: &PromptUnit,
    greedy: &mut Sampler,
) -> Result<()> {
    if let [alone] = sessions {
        alone.forward(std::slice::from_ref(unit), &CancelToken::default())?;
    } else {
        let steps = sessions.iter_mut().map(|session| BatchStep { session: &mut **session, unit });
        engine.forward_many(&mut steps.collect::<Vec<_>>())?;
    }
    for session in sessions {
        greedy.sample(session.logits())?;
    }
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed(), done)
}

/// Ordinary tokens without a pattern: a linear congruential sequence (Park and Miller's multiplier).
fn babble(engine: &dyn Engine, count: usize) -> Vec<PromptUnit> {
    let vocabulary = engine.model().vocabulary.max(1) as u64;
    let mut units = Vec::with_capacity(count);
    let mut number = 20_211_u64;
    while units.len() < count {
        let token = (number % vocabulary) as TokenId;
        if !engine.model().specials.iter().any(|special| special.id == token) {
            units.push(PromptUnit::Token(token));
        }
        number = number * 48_271 % 2_147_483_647;
    }
    units
}

/// Returns the run with the median decode time, with the medians of the other times.
fn median(mut runs: Vec<BenchmarkRun>) -> Result<BenchmarkRun> {
    let middle = runs.len() / 2;
    runs.sort_by_key(|run| run.prefill);
    let prefill = runs.get(middle).map(|run| run.prefill);
    runs.sort_by_key(|run| run.fork);
    let fork = runs.get(middle).map(|run| run.fork);
    runs.sort_by_key(|run| run.decode);
    let (Some(prefill), Some(fork), Some(run)) = (prefill, fork, runs.get(middle)) else {
        return Err(Error::new(ErrorKind::Invalid, "nothing was measured"));
    };
    Ok(BenchmarkRun { prefill, fork, ..*run })
}
