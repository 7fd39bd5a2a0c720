//! Compares Alloquy with other runtimes, in one run, on models of one shape.
//!
//! Each is measured in turn, several times over, so that a machine that gets slower on the way is slow for all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::python::printed;
use super::{bandwidth, python};
use crate::{Error, Result, command, root};

/// The name of this benchmark.
pub(super) const NAME: &str = "peers";
/// How many tokens are generated after each prompt.
const GENERATED: &str = "48";
/// The end of the name of our default, with which the others are compared.
const SHIPPED: &str = "as shipped";
/// What can be measured, in this order: ours, and ONNX Runtime itself, whose threads wait in each of the ways, beside other runtimes.
const RUNTIMES: [&str; 9] =
    ["shipped", "genai", "spin", "sleep", "int8", "bare-brief", "bare-spin", "bare-sleep", "llama"];

/// Options of the benchmark `peers`.
#[derive(Debug, clap::Args)]
pub(super) struct Peers {
    /// Threads of each runtime.
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
    /// Lengths of prompts.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [128, 512, 1024])]
    prompts: Vec<usize>,
    /// Tokens that are cached before each prompt is timed, as in a later turn of a conversation.
    #[arg(long, value_name = "N", default_value_t = 0)]
    history: usize,
    /// How often each runtime is measured; the median counts.
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,
    /// How often each runtime is measured beside a busy program, after the shortest prompt.
    #[arg(long, value_name = "N", default_value_t = 5)]
    busy_rounds: usize,
    /// The runtimes to measure: ours as shipped, with other ways of waiting or with an int8 cache, and the peers.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = RUNTIMES, default_values_t = RUNTIMES.map(str::to_owned))]
    runtimes: Vec<String>,
    /// Leaves out llama.cpp, so that nothing of it is installed or built.
    #[arg(long)]
    without_llama: bool,
}

/// Tokens a second.
#[derive(Clone, Copy, Default)]
struct Rates {
    /// Of the prompt.
    prefill: f64,
    /// Of the reply, by its median step.
    decode: f64,
    /// Of the reply, by all of its steps, including those that waited for another program.
    reply: f64,
}

/// The Python of the peers, and a model in each format.
struct Models {
    python: PathBuf,
    library: String,
    onnx: PathBuf,
    gguf: Option<PathBuf>,
}

/// The measured rates of each runtime at each length, one for each repetition.
type Measured = BTreeMap<(String, usize), Vec<Rates>>;

impl Peers {
    pub(super) fn run(&self) -> Result {
        let folder = root().join("target/peers");
        let python = python::environment(
            &folder.join("venv"),
            &script(""),
            required(self.without_llama),
            "ALLOQUY_PEERS_PYTHON",
        )?;
        let onnx = made(&python, "onnx_model.py", folder.join("qwen3-0.6b-int4"))?;
        let gguf = if self.without_llama {
            None
        } else {
            Some(made(&python, "gguf_model.py", folder.join("qwen3-0.6b-q4_0-texts.gguf"))?)
        };
        command::run(&mut command::cargo(&["build", "--release", "--package", "alloquy-cli"]))?;
        let library = python::library(&python)?;
        let mut measured = Measured::new();
        let models = Models { python, library, onnx, gguf };
        for _ in 0..self.rounds {
            self.round(&models, &self.prompts, &mut measured)?;
        }
        println!("\nAlone on the machine:");
        print(&measured, &self.prompts);
        let mut beside = Measured::new();
        let first = self.prompts.get(..1).unwrap_or_default();
        for _ in 0..self.busy_rounds {
            beside_a_busy_program(|| self.round(&models, first, &mut beside))?;
        }
        if self.busy_rounds > 0 {
            println!("\nBeside one busy program:");
            print(&beside, first);
            print_losses(&measured, &beside);
        }
        let onnx = &models.onnx;
        let read = bandwidth::measured(self.threads);
        let weights = weights(onnx)?;
        println!(
            "memory is read at {:.1} GB/s; {:.0} MB of weights: at most {:.0} tokens/s",
            read / 1e9,
            weights / 1e6,
            read / weights
        );
        Ok(())
    }

    /// Measures every runtime once.
    fn round(&self, models: &Models, prompts: &[usize], measured: &mut Measured) -> Result {
        for runtime in &self.runtimes {
            match (runtime.as_str(), &models.gguf) {
                ("shipped", _) => self.ours(models, prompts, &[], SHIPPED, measured)?,
                ("int8", _) => self.ours(models, prompts, &["--kv-cache", "int8"], "int8 cache", measured)?,
                (waiting @ ("spin" | "sleep"), _) => {
                    self.ours(models, prompts, &["--waiting", waiting], "", measured)?;
                }
                ("llama", None) => {}
                ("llama", Some(gguf)) => self.peer(&models.python, runtime, gguf, prompts, measured)?,
                _ => self.peer(&models.python, runtime, &models.onnx, prompts, measured)?,
            }
        }
        Ok(())
    }

    /// Measures ours with some options, which `what` describes.
    fn ours(
        &self,
        models: &Models,
        prompts: &[usize],
        options: &[&str],
        what: &str,
        measured: &mut Measured,
    ) -> Result {
        let mut bench = Command::new(root().join("target/release/alloquy"));
        bench.args([
            "--json",
            "bench",
            "--together",
            "1",
            "--repeat",
            "1",
            "--generate",
            GENERATED,
            "--model",
        ]);
        bench.arg(&models.onnx);
        bench.args(["--threads", &self.threads.to_string(), "--prompt", &list(prompts, ",")]);
        bench.args(["--history", &self.history.to_string()]).args(options);
        bench.env("ORT_DYLIB_PATH", &models.library);
        let report: Value = parsed(&printed(&mut bench)?)?;
        let used = report.get("waiting").and_then(Value::as_str).unwrap_or_default();
        let mut name = format!("alloquy, threads {used}");
        if !what.is_empty() {
            name = format!("{name}, {what}");
        }
        let runs = report.get("runs").and_then(Value::as_array).cloned().unwrap_or_default();
        runs.iter().try_for_each(|run| note(run, &name, measured))
    }

    fn peer(
        &self,
        python: &Path,
        peer: &str,
        model: &Path,
        prompts: &[usize],
        measured: &mut Measured,
    ) -> Result {
        let mut measure = Command::new(python);
        measure.arg(script("measure.py")).arg(peer).arg(model);
        measure.args([&self.threads.to_string(), GENERATED, &self.history.to_string()]);
        measure.args(prompts.iter().map(usize::to_string));
        for line in printed(&mut measure)?.lines() {
            let run = parsed(line)?;
            let name = run.get("peer").and_then(Value::as_str).unwrap_or(peer).to_owned();
            note(&run, &name, measured)?;
        }
        Ok(())
    }
}

fn note(run: &Value, name: &str, measured: &mut Measured) -> Result {
    let prefill = number(run, "prefill_rate")?;
    let reply = number(run, "decode_rate")?;
    let rates = Rates { prefill, decode: 1.0 / number(run, "step_seconds")?, reply };
    measured.entry((name.to_owned(), number(run, "prompt")? as usize)).or_default().push(rates);
    Ok(())
}

fn number(run: &Value, field: &str) -> Result<f64> {
    run.get(field).and_then(Value::as_f64).ok_or_else(|| Error::new(format!("{run} has no {field:?}")))
}

fn print(measured: &Measured, prompts: &[usize]) {
    println!(
        "\n| runtime | prompt | prompt tokens/s | reply tokens/s | by all of its steps | ours / theirs, prompt | reply | all steps |\n\
         |---|---|---|---|---|---|---|---|"
    );
    for &prompt in prompts {
        let of_prompt: Vec<_> = measured.iter().filter(|((_, length), _)| *length == prompt).collect();
        let ours = of_prompt.iter().find(|((name, _), _)| name.ends_with(SHIPPED));
        let ours = ours.map(|(_, rates)| median(rates)).unwrap_or_default();
        for ((name, _), rates) in of_prompt {
            let Rates { prefill, decode, reply } = median(rates);
            println!(
                "| {name} | {prompt} | {prefill:.1} | {decode:.1} | {reply:.1} | {:.2} | {:.2} | {:.2} |",
                ours.prefill / prefill,
                ours.decode / decode,
                ours.reply / reply
            );
        }
    }
}

/// Prints how much of its speed each runtime loses beside a busy program.
fn print_losses(alone: &Measured, beside: &Measured) {
    for (key, rates) in alone {
        let Some(beside) = beside.get(key).map(|rates| median(rates).reply) else { continue };
        let loss = 100.0 * (1.0 - beside / median(rates).reply);
        println!("{} loses {loss:.0} % of its reply tokens/s after {} tokens", key.0, key.1);
    }
}

/// Keeps one core busy while something is measured.
fn beside_a_busy_program<T>(work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                std::hint::black_box(&over);
            }
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    })
}

fn median(rates: &[Rates]) -> Rates {
    Rates {
        prefill: middle(rates.iter().map(|rates| rates.prefill)),
        decode: middle(rates.iter().map(|rates| rates.decode)),
        reply: middle(rates.iter().map(|rates| rates.reply)),
    }
}

/// Returns the median of some values, or 0 of none.
fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Returns the bytes of a model's weights, all of which each token reads.
fn weights(model: &Path) -> Result<f64> {
    let sizes = std::fs::read_dir(model)?.map(|entry| {
        let entry = entry?;
        let is_weights = entry.file_name().to_string_lossy().starts_with("model.onnx");
        Ok(if is_weights { entry.metadata()?.len() } else { 0 })
    });
    Ok(sizes.sum::<Result<u64>>()? as f64)
}

/// Returns the model that a script makes; runs the script if the model does not exist.
fn made(python: &Path, maker: &str, model: PathBuf) -> Result<PathBuf> {
    if !model.exists() {
        command::run(Command::new(python).arg(script(maker)).arg(&model))?;
    }
    Ok(model)
}

/// The packages for all peers, and for llama.cpp alone.
const REQUIREMENTS: [&str; 2] = ["requirements.txt", "requirements-llama.txt"];

fn required(without_llama: bool) -> &'static [&'static str] {
    if without_llama { &["requirements.txt"] } else { &REQUIREMENTS }
}

fn script(name: &str) -> PathBuf {
    root().join("xtask/peers").join(name)
}

fn parsed(text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Error::new(format!("{text:?} is not what was to be measured: {error}")))
}

fn list(numbers: &[usize], between: &str) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_llama_nothing_of_it_is_installed() {
        let lines = |names: &[&str]| -> String {
            names.iter().map(|name| std::fs::read_to_string(script(name)).unwrap()).collect()
        };
        let without = lines(required(true));
        let with = lines(required(false));
        assert!(!["llama", "gguf"].iter().any(|name| without.contains(name)), "{without}");
        assert!(with.starts_with(&without) && with.contains("xllamacpp") && with.contains("gguf"), "{with}");
        // What is compiled where it is installed is not measured, nor waited for.
        assert!(!with.contains("llama-cpp-python"));
    }
}
