//! How fast a model computes here: prompts, tokens, and several replies at once. Knows no text and no template.

use std::time::{Duration, Instant};

use alloquy_core::prompt::Unit;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result, SamplingOptions};
use alloquy_engine::{Cancel, Engine, Session, Step};

use crate::sampler::Sampler;

/// What is measured.
///
/// ```
/// use alloquy_inference::Benchmark;
/// use alloquy_testing::ScriptedEngine;
///
/// let benchmark = Benchmark { prompts: vec![100], generated: 8, together: vec![1, 4], repeats: 1 };
/// let report = benchmark.run(&ScriptedEngine::new([]), &mut |_| {})?;
/// assert_eq!(report.runs.len(), 2);
/// assert!(report.runs[1].decode_rate() > 0.0);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Benchmark {
    /// How long the prompts are, in tokens.
    pub prompts: Vec<usize>,
    /// How many tokens are written behind each.
    pub generated: usize,
    /// How many replies to one prompt are written together.
    pub together: Vec<usize>,
    /// How often each is measured; the median counts.
    pub repeats: usize,
}

impl Default for Benchmark {
    /// Prompts of 128 and 512 tokens, 64 tokens behind them, alone and four together, three times.
    fn default() -> Self {
        Self { prompts: vec![128, 512], generated: 64, together: vec![1, 4], repeats: 3 }
    }
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BenchmarkReport {
    /// How long the first token of all took, in a session of its own: what a backend does once is in it, and in none of the
    /// runs.
    pub warm_up: Duration,
    /// How long opening a session took, the median of as many times as each run was measured.
    pub session: Duration,
    /// One for each length of a prompt and each number of replies, in that order.
    pub runs: Vec<BenchmarkRun>,
}

/// Replies to one prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BenchmarkRun {
    /// Tokens of the prompt.
    pub prompt: usize,
    /// How many replies were written together.
    pub together: usize,
    /// Tokens of each reply.
    pub generated: usize,
    /// How long the prompt took: the time to the first token, but for drawing it.
    pub prefill: Duration,
    /// How long the forks took that the other replies go on in; what is copied later, when they write, counts there.
    pub fork: Duration,
    /// How long the tokens of all replies took, drawing them included.
    pub decode: Duration,
    /// How long one step took, a token of each reply: the median, which a disturbed machine moves less than the sum.
    pub step: Duration,
    /// How much of `decode` the runtime computed; `None` where the engine does not tell.
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
    /// Measures an engine, after a short run that is not counted; `progress` is told what comes next.
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
        let opened = (0..self.repeats).map(|_| {
            let (took, session) = timed(|| engine.open());
            session.map(|_| took)
        });
        let mut opened: Vec<_> = opened.collect::<Result<_>>()?;
        opened.sort_unstable();
        Ok(opened.get(opened.len() / 2).copied().unwrap_or_default())
    }

    fn check(&self, engine: &dyn Engine) -> Result<()> {
        let numbers = self.prompts.iter().chain(&self.together).chain([&self.generated, &self.repeats]);
        if numbers.copied().min() == Some(0) {
            let message = "a benchmark of 0 tokens, replies or repeats measures nothing, at least 1";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let (context, longest) = (engine.model().context_length, self.prompts.iter().max().unwrap_or(&0));
        match longest + self.generated <= context {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::ContextOverflow,
                format!("a prompt of {longest} and {} more do not fit into {context}", self.generated),
            )),
        }
    }

    fn measure(&self, engine: &dyn Engine, prompt: usize, together: usize) -> Result<BenchmarkRun> {
        let units = babble(engine, prompt + self.generated);
        let (prompt_units, tokens) = units.split_at(prompt);
        let mut trunk = engine.open()?;
        trunk.reserve(units.len());
        let (prefill, first) = timed(|| trunk.forward(prompt_units, &Cancel::default()).map(drop));
        first?;
        let (fork, copies) = timed(|| (1..together).map(|_| trunk.fork()).collect::<Result<Vec<_>>>());
        let mut sessions = copies?;
        sessions.push(trunk);
        let mut greedy =
            Sampler::new(&SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() })?;
        let before = engine.computing();
        let steps = tokens.iter().map(|unit| {
            let (took, stepped) = timed(|| step(engine, &mut sessions, unit, &mut greedy));
            stepped.map(|()| took)
        });
        let mut steps = steps.collect::<Result<Vec<_>>>()?;
        let computing = engine.computing().zip(before).map(|(after, before)| after.saturating_sub(before));
        let (decode, generated) = (steps.iter().sum(), self.generated);
        steps.sort_unstable();
        let step = steps.get(steps.len() / 2).copied().unwrap_or_default();
        Ok(BenchmarkRun { prompt, together, generated, prefill, fork, decode, step, computing })
    }
}

fn warm_up(engine: &dyn Engine) -> Result<Duration> {
    let (units, mut session) = (babble(engine, 1), engine.open()?);
    let (took, computed) = timed(|| session.forward(&units, &Cancel::default()).map(drop));
    computed.map(|()| took)
}

/// One token of each reply: computed, and the next one drawn as a reply would draw it, although another one follows.
fn step(
    engine: &dyn Engine,
    sessions: &mut [Box<dyn Session>],
    unit: &Unit,
    greedy: &mut Sampler,
) -> Result<()> {
    if let [alone] = sessions {
        alone.forward(std::slice::from_ref(unit), &Cancel::default())?;
    } else {
        let steps = sessions.iter_mut().map(|session| Step { session: &mut **session, unit });
        engine.forward_many(&mut steps.collect::<Vec<_>>())?;
    }
    sessions.iter_mut().try_for_each(|session| greedy.sample(session.logits()).map(drop))
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed(), done)
}

/// Ordinary tokens without a pattern: a linear congruential sequence (Park and Miller's multiplier).
fn babble(engine: &dyn Engine, count: usize) -> Vec<Unit> {
    let vocabulary = engine.model().vocabulary.max(1) as u64;
    let next = |seed: &u64| Some(seed * 48_271 % 2_147_483_647);
    let numbers =
        std::iter::successors(Some(20_211_u64), next).map(|number| (number % vocabulary) as TokenId);
    let is_special = |token: &TokenId| engine.model().specials.iter().any(|special| special.id == *token);
    numbers.filter(|token| !is_special(token)).take(count).map(Unit::Token).collect()
}

/// The run whose reply took the median time, with the medians of the rest.
fn median(mut runs: Vec<BenchmarkRun>) -> Result<BenchmarkRun> {
    let middle = runs.len() / 2;
    let mut of = |field: fn(&BenchmarkRun) -> Duration| {
        runs.sort_by_key(field);
        runs.get(middle).copied()
    };
    let (prefill, fork, decode) = (of(|run| run.prefill), of(|run| run.fork), of(|run| run.decode));
    let nothing = || Error::new(ErrorKind::Invalid, "nothing was measured");
    let (Some(prefill), Some(fork), Some(run)) = (prefill, fork, decode) else { return Err(nothing()) };
    Ok(BenchmarkRun { prefill: prefill.prefill, fork: fork.fork, ..run })
}
