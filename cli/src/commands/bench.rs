//! `alloquy bench`: how fast a model is on this machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy::ModelBuilder;
use alloquy::core::{Error, ErrorKind, Result};
use alloquy::engine::{Engine, LoadPhase, LoadTiming};
use alloquy::inference::{
    Benchmark, BenchmarkReport, BenchmarkRun, DraftBenchmark, DraftModel, DraftRun, GeneratorOptions,
};
use alloquy::onnx::GraphCacheStatus;
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::ModelArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::limits::count;
use crate::notes::Notes;
use crate::open;
use crate::progress::Progress;

const EXAMPLES: &str = "\
Examples:
  alloquy bench --model ~/models/qwen3-0.6b
  alloquy bench --prompt 128 --prompt 2048 --together 1 --together 8
  alloquy bench --history 2000 --prompt 64
  alloquy bench --model ~/models/qwen3-4b --draft ~/models/qwen3-0.6b
  alloquy bench --json | jq '.runs[] | {prompt, together, decode_rate}'

Prompts and replies are arbitrary tokens: speed does not depend on what they say. A prompt's time is the time to the \
first token. Replies that are generated together share each reading of the weights. The overhead is the part of a \
reply's time that is not the runtime's. Loading is reported phase by phase; a chat loads the template and the processor \
as well as the engine. With --draft, replies on three kinds of text are measured with and without drafts, in turns. The way in which threads wait is the actual one: with an ONNX Runtime before 1.26 they sleep \
where --waiting brief was requested.";

/// A part of loading and how long it took.
type Phase = (LoadPhase, Duration);

/// Measure how fast a model computes prompts and replies
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Bench {
    /// Tokens of the prompt; may be repeated
    #[arg(long, value_name = "N", env = "ALLOQUY_PROMPT", value_parser = count::<usize>("prompt"), value_delimiter = ',', default_values_t = [128, 512])]
    prompt: Vec<usize>,

    /// Tokens that are cached before each prompt is timed, as in a later turn of a conversation
    #[arg(long, value_name = "N", env = "ALLOQUY_HISTORY", value_parser = count::<usize>("history"), default_value_t = 0)]
    history: usize,

    /// Tokens of each reply
    #[arg(long, value_name = "N", env = "ALLOQUY_GENERATE", value_parser = count::<usize>("generate"), default_value_t = 64)]
    generate: usize,

    /// How many replies are generated together; may be repeated
    #[arg(long, value_name = "N", env = "ALLOQUY_TOGETHER", value_parser = count::<usize>("together"), value_delimiter = ',', default_values_t = [1, 4])]
    together: Vec<usize>,

    /// How often each is measured; the median is printed
    #[arg(long, value_name = "N", env = "ALLOQUY_REPEAT", value_parser = count::<usize>("repeat"), default_value_t = 3)]
    repeat: usize,

    #[command(flatten)]
    model: ModelArguments,
}

impl Bench {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let arguments = context.settings.settle(&self.model)?;
        let start = Instant::now();
        if arguments.remote.is_set() {
            let message = "`alloquy bench` measures what this machine computes, and --remote names a server: leave it out (--remote \
                           none, if a variable or the configuration file sets it)";
            return Err(Error::new(ErrorKind::Unsupported, message).into());
        }
        let builder = open::builder(&of_model(&arguments), context.notes)?;
        let engine = builder.load_engine()?;
        match engine.graph_cache() {
            GraphCacheStatus::Off | GraphCacheStatus::Read => {}
            other => context.notes.say(other),
        }
        if let Some(quality) = engine.quantization_quality() {
            context.notes.say(quality);
        }
        let waiting = engine.waiting().to_string();
        let engine: Arc<dyn Engine> = Arc::new(engine);
        let load = start.elapsed().as_secs_f64();
        let loading = loading(builder, &engine, context.notes);
        let progress = Progress::new(context.notes);
        let benchmark = Benchmark {
            prompts: self.prompt,
            history: self.history,
            generated: self.generate,
            together: self.together,
            repeats: self.repeat,
        };
        let report = benchmark.run(&*engine, &mut |step| progress.step(step))?;
        let drafted = DraftBenchmark { generated: self.generate, repeats: self.repeat };
        let drafts = drafts(&arguments, &engine, drafted, context.notes, &progress)?;
        drop(progress);
        let name = &engine.model().name;
        let warm_up = report.warm_up.as_secs_f64();
        let session = report.session.as_secs_f64();
        let head = format!(
            "{name}: loaded in {load:.2} s, warm after {warm_up:.3} s, a session in {session:.3} s; threads wait as in --waiting \
             {waiting}"
        );
        context.print(
            &format!("{head}\n\n{}\n{}{}", phases(&loading), table(&report), drafts_table(&drafts)),
            &json!({
                "model": name,
                "load_seconds": load,
                "load_phases": loading.phases().iter().map(phase_value).collect::<Vec<_>>(),
                "warm_up_seconds": warm_up,
                "session_seconds": session,
                "waiting": waiting,
                "runs": report.runs.iter().map(value).collect::<Vec<_>>(),
                "drafts": drafts.iter().map(drafts_value).collect::<Vec<_>>(),
            }),
        )
    }
}

/// Measures how long everything took that a conversation needs. A missing template or processor is noted.
fn loading(builder: ModelBuilder, engine: &Arc<dyn Engine>, notes: Notes) -> LoadTiming {
    match builder.loaded(Arc::clone(engine)).build() {
        Ok(model) => model.load_timing().clone(),
        Err(error) => {
            notes.say(format_args!("template and processor are not measured: {error}"));
            engine.load_timing().cloned().unwrap_or_default()
        }
    }
}

/// Returns the arguments of the model alone, without those of a draft model.
fn of_model(arguments: &ModelArguments) -> ModelArguments {
    ModelArguments { draft: None, ..arguments.clone() }
}

/// Measures what the draft model saves, if one is named.
fn drafts(
    arguments: &ModelArguments,
    engine: &Arc<dyn Engine>,
    benchmark: DraftBenchmark,
    notes: Notes,
    progress: &Progress,
) -> Result<Vec<DraftRun>> {
    let Some(name) = &arguments.draft else { return Ok(Vec::new()) };
    let named = ModelArguments { model: Some(name.clone()), adapter: None, ..of_model(arguments) };
    let draft: Arc<dyn Engine> = Arc::new(open::builder(&named, notes)?.load_engine()?);
    let draft = Some(DraftModel::new(draft));
    let options = GeneratorOptions::default();
    pollster::block_on(benchmark.run(engine, draft, options, &mut |step| progress.step(step)))
}

fn drafts_table(runs: &[DraftRun]) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let mut table = "\n  TEXT     TOKENS  WITHOUT DRAFTS  WITH DRAFTS  SPEED-UP  ACCEPTED\n".to_owned();
    for run in runs {
        let accepted = format!("{} of {}", run.speculation.kept, run.speculation.guessed);
        table += &format!(
            "  {:7}  {:>6}  {:>11.1} ms  {:>8.1} ms  {:>7.2}×  {accepted}",
            run.text,
            run.tokens,
            milliseconds(run.plain),
            milliseconds(run.drafted),
            run.ratio(),
        );
        if run.stopped > 0 {
            table += &format!(", switched off {} times", run.stopped);
        }
        if !run.is_equal {
            table += ", other tokens than without drafts";
        }
        table.push('\n');
    }
    table
}

fn drafts_value(run: &DraftRun) -> Value {
    json!({
        "text": run.text,
        "tokens": run.tokens,
        "seconds_without": run.plain.as_secs_f64(),
        "seconds_with": run.drafted.as_secs_f64(),
        "ratio": run.ratio(),
        "guessed": run.speculation.guessed,
        "kept": run.speculation.kept,
        "stopped": run.stopped,
        "reason": run.reason.as_ref().map(|(source, reason)| json!({ "source": source, "reason": reason })),
        "same_tokens": run.is_equal,
    })
}

fn phases(loading: &LoadTiming) -> String {
    let mut table = "  LOADING            TIME\n".to_owned();
    for (phase, took) in loading.phases() {
        table += &format!("  {:10} {:>8.1} ms\n", phase.to_string(), milliseconds(*took));
    }
    table
}

fn phase_value((phase, took): &Phase) -> Value {
    json!({ "phase": phase, "seconds": took.as_secs_f64() })
}

fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}

fn table(report: &BenchmarkReport) -> String {
    let mut table = "  PROMPT  TOGETHER  FIRST TOKEN  PROMPT TOKENS/S  REPLY TOKENS/S  OVERHEAD\n".to_owned();
    for run in &report.runs {
        table += &line(run);
    }
    table
}

fn line(run: &BenchmarkRun) -> String {
    let first = milliseconds(run.prefill);
    let overhead = run.overhead().map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0));
    format!(
        "{:>8}  {:>8}  {first:>8.1} ms  {:>15.1}  {:>14.1}  {overhead:>8}\n",
        run.prompt,
        run.together,
        run.prefill_rate(),
        run.decode_rate()
    )
}

fn value(run: &BenchmarkRun) -> Value {
    json!({
        "prompt": run.prompt,
        "history": run.history,
        "together": run.together,
        "generated": run.generated,
        "first_token_seconds": run.first_token().as_secs_f64(),
        "prefill_tokens": run.prompt,
        "prefill_seconds": run.prefill.as_secs_f64(),
        "prefill_rate": run.prefill_rate(),
        "fork_seconds": run.fork.as_secs_f64(),
        "decode_tokens": run.decode_tokens(),
        "decode_seconds": run.decode.as_secs_f64(),
        "decode_rate": run.decode_rate(),
        "step_seconds": run.step.as_secs_f64(),
        "overhead": run.overhead(),
    })
}
