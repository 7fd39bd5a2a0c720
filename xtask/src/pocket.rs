//! Makes the pocket model: trains, exports and measures it, by running the scripts in `xtask/pocket`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, Result, command, root};

/// Trains, exports and measures the pocket model (xtask/pocket).
///
/// Training needs Python 3.10 or newer; the packages of xtask/pocket/requirements.txt are installed into
/// target/pocket/venv when that folder is not there yet. `ALLOQUY_POCKET_PYTHON` names another Python that has them.
#[derive(Debug, clap::Args)]
pub struct Pocket {
    #[command(subcommand)]
    step: Step,
    /// The folder of the run: checkpoints, log, tokenizer.
    #[arg(long, global = true, value_name = "DIR", default_value = "target/pocket/run")]
    folder: PathBuf,
    /// The folder of the exports; `int8` in it is what is measured and embedded.
    #[arg(long, global = true, value_name = "DIR", default_value = "target/pocket/export")]
    out: PathBuf,
}

/// A step on the way to the model.
#[derive(Debug, clap::Subcommand)]
enum Step {
    Train(Train),
    Export(Export),
    /// Puts the exported model into the crate that embeds it, and a sample of the held-out dialogues into its fixtures.
    Embed,
    Eval(Eval),
    /// Asks what newcomers ask first, and counts right answers, refusals and those that a person must judge.
    Questions(Questions),
}

/// Trains on generated chats; may be stopped at any time, and saves every few minutes.
#[derive(Debug, clap::Args)]
struct Train {
    /// Continues the run in the folder.
    #[arg(long)]
    resume: bool,
    /// Stops after so many minutes.
    #[arg(long)]
    minutes: Option<f64>,
    /// Stops after so many steps in all.
    #[arg(long)]
    steps: Option<u64>,
    /// Lowers the learning rate to zero over this many steps, then stops: the last step before an export.
    #[arg(long, value_name = "STEPS")]
    decay: Option<u64>,
    /// Trains with this part of the full learning rate, for a model that is already trained.
    #[arg(long, value_name = "PART")]
    rate: Option<f64>,
    /// Begins with the weights and the tokenizer of an export, such as `pocket/model`. Optimizers begin with an empty state.
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    from: Option<PathBuf>,
    /// The first portion of the corpus of a new run, so that a run that begins with an export gets new chats.
    #[arg(long, value_name = "NUMBER", requires = "from")]
    portion: Option<u64>,
}

/// Writes the model as ONNX, and the held-out dialogues beside it; compares it with the trained weights.
#[derive(Debug, clap::Args)]
struct Export {
    /// Another checkpoint, of an earlier end of the run, whose weights are averaged with the last ones; may be repeated.
    #[arg(long, value_name = "FILE")]
    mean: Vec<PathBuf>,
}

/// Prints how many held-out dialogues a model gets right, through this workspace's own stack.
#[derive(Debug, clap::Args)]
struct Eval {
    /// The folder of an exported model with its dialogues; the embedded one unless given, whose dialogues are made first.
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
}

/// Asks the questions of xtask/pocket/questions.
#[derive(Debug, clap::Args)]
struct Questions {
    /// The folder of an exported model; the embedded one unless given.
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// What people judged: JSON lines with `id`, `answer` and `verdict`.
    #[arg(long, value_name = "FILE", default_value = "xtask/pocket/questions/answers.jsonl")]
    verdicts: PathBuf,
}

impl Pocket {
    /// Runs the step.
    ///
    /// # Errors
    /// When a program is missing or fails, or when a run exists and `--resume` is not set.
    pub fn run(&self) -> Result {
        let folder = root().join(&self.folder);
        let out = root().join(&self.out);
        match &self.step {
            Step::Train(train) => train.run(&folder),
            Step::Export(export) => export.run(&folder, &out),
            Step::Embed => embed(&out),
            Step::Eval(eval) => eval.run(&out),
            Step::Questions(questions) => questions.run(&folder),
        }
    }
}

impl Train {
    fn run(&self, folder: &Path) -> Result {
        let begun = folder.join("checkpoint.pt").exists();
        if begun != self.resume {
            let (is, flag) = if begun { ("a", "say --resume") } else { ("no", "leave --resume out") };
            return Err(Error::new(format!("there is {is} run in {}: {flag}", folder.display())));
        }
        std::fs::create_dir_all(folder)?;
        let mut train = script("train.py")?;
        train.arg("--folder").arg(folder);
        let flags = [
            ("--minutes", self.minutes.map(|minutes| minutes.to_string())),
            ("--steps", self.steps.map(|steps| steps.to_string())),
            ("--decay", self.decay.map(|steps| steps.to_string())),
            ("--rate", self.rate.map(|part| part.to_string())),
            ("--portion", self.portion.map(|number| number.to_string())),
            ("--from", self.from.as_ref().map(|folder| root().join(folder).display().to_string())),
        ];
        for (flag, value) in flags {
            if let Some(value) = value {
                train.args([flag, &value]);
            }
        }
        command::run(train.envs(MEMORY_KEPT))
    }
}

/// Makes glibc keep the memory of large tensors from step to step. Returning it to the system and requesting it again would take a
/// quarter of the time. Other C libraries ignore these variables.
const MEMORY_KEPT: [(&str, &str); 3] =
    [("MALLOC_MMAP_MAX_", "0"), ("MALLOC_TRIM_THRESHOLD_", "17179869184"), ("MALLOC_TOP_PAD_", "268435456")];

impl Export {
    fn run(&self, folder: &Path, out: &Path) -> Result {
        command::run(&mut self.script("export.py", folder, out)?)?;
        command::run(script("evaluation.py")?.arg(out.join("int8").join(DIALOGUES)))?;
        command::run(&mut self.script("agree.py", folder, out)?)
    }

    /// Returns the command of a script that reads the trained model.
    fn script(&self, name: &str, folder: &Path, out: &Path) -> Result<Command> {
        let mut script = script(name)?;
        script.arg("--folder").arg(folder).arg("--out").arg(out);
        for file in &self.mean {
            script.arg("--mean").arg(root().join(file));
        }
        Ok(script)
    }
}

/// The held-out dialogues of an export.
const DIALOGUES: &str = "evaluation.jsonl";
/// What the trained model replies to some of them.
const GOLDENS: &str = "goldens.jsonl";
/// The repository keeps one dialogue of this many, for the tests. `cargo xtask pocket eval` makes all of them.
/// A multiple of `COMPARED` in `evaluation.py`, so that each has a prompt and a reply of the trained model.
const SAMPLE: usize = 20;

fn embed(out: &Path) -> Result {
    let model = root().join("pocket/model");
    let fixtures = root().join("pocket/fixtures");
    std::fs::create_dir_all(&model)?;
    std::fs::create_dir_all(&fixtures)?;
    for entry in std::fs::read_dir(out.join("int8"))? {
        let entry = entry?;
        if entry.file_name() != DIALOGUES && entry.file_name() != GOLDENS {
            std::fs::copy(entry.path(), model.join(entry.file_name()))?;
        }
    }
    let dialogues = std::fs::read_to_string(out.join("int8").join(DIALOGUES))?;
    let goldens = std::fs::read_to_string(out.join("int8").join(GOLDENS))?;
    let (dialogues, goldens) = sample(&dialogues, &goldens)?;
    std::fs::write(fixtures.join(DIALOGUES), dialogues)?;
    std::fs::write(fixtures.join(GOLDENS), goldens)?;
    Ok(())
}

/// Returns every twentieth dialogue and the trained model's replies to these.
fn sample(dialogues: &str, goldens: &str) -> Result<(String, String)> {
    let mut kept_dialogues = String::new();
    let mut kept_ids = HashSet::new();
    for line in dialogues.lines().step_by(SAMPLE) {
        kept_ids.insert(id_of(line)?);
        kept_dialogues.push_str(line);
        kept_dialogues.push('\n');
    }
    let mut kept_goldens = String::new();
    for line in goldens.lines() {
        if kept_ids.contains(&id_of(line)?) {
            kept_goldens.push_str(line);
            kept_goldens.push('\n');
        }
    }
    Ok((kept_dialogues, kept_goldens))
}

/// The id of a line of JSON.
fn id_of(line: &str) -> Result<String> {
    let value: serde_json::Value = serde_json::from_str(line)?;
    match value.get("id").and_then(serde_json::Value::as_str) {
        Some(id) => Ok(id.to_owned()),
        None => Err(Error::new(format!("a line without `id`: {line}"))),
    }
}

impl Eval {
    fn run(&self, out: &Path) -> Result {
        let arguments = [
            "test",
            "--release",
            "--package",
            "alloquy-tests",
            "--test",
            "pocket_evaluation",
            "--",
            "--nocapture",
            "--ignored",
            "--test-threads",
            "1",
        ];
        let mut test = command::cargo(&arguments);
        let Some(model) = &self.model else {
            return command::run(test.env("ALLOQUY_DIALOGUES", all_dialogues(out)?));
        };
        let model = root().join(model);
        if !model.join(DIALOGUES).exists() {
            let message = "is no exported model with its dialogues: run `cargo xtask pocket export`";
            return Err(Error::new(format!("{} {message}", model.display())));
        }
        command::run(test.env("ALLOQUY_POCKET", model))
    }
}

/// Makes all held-out dialogues, of which the repository keeps a sample, and returns their folder.
fn all_dialogues(out: &Path) -> Result<PathBuf> {
    let folder = out.join("dialogues");
    command::run(script("evaluation.py")?.arg(folder.join(DIALOGUES)))?;
    Ok(folder)
}

impl Questions {
    fn run(&self, folder: &Path) -> Result {
        std::fs::create_dir_all(folder)?;
        let answers = folder.join("first-answers.jsonl");
        let arguments = [
            "test",
            "--release",
            "--package",
            "alloquy",
            "--test",
            "first_questions",
            "--",
            "--ignored",
            "all_questions",
        ];
        let mut test = command::cargo(&arguments);
        if let Some(model) = &self.model {
            test.env("ALLOQUY_POCKET", root().join(model));
        }
        command::run(test.env("ALLOQUY_ANSWERS", &answers))?;
        // The judge needs no package, so any Python will do.
        let mut judge = Command::new("python3");
        judge.arg(root().join("xtask/pocket/questions/judge.py")).arg(&answers);
        judge.arg("--open").arg(folder.join("first-open.jsonl"));
        judge.arg("--verdicts").arg(root().join(&self.verdicts));
        command::run(&mut judge)
    }
}

/// A call of one of the scripts.
fn script(name: &str) -> Result<Command> {
    let mut command = Command::new(python()?);
    command.arg(root().join("xtask/pocket").join(name)).current_dir(root());
    Ok(command)
}

/// The Python that has the packages; makes it on first use.
fn python() -> Result<PathBuf> {
    if let Some(python) = std::env::var_os("ALLOQUY_POCKET_PYTHON") {
        return Ok(python.into());
    }
    let environment = root().join("target/pocket/venv");
    let python =
        if cfg!(windows) { environment.join("Scripts/python.exe") } else { environment.join("bin/python") };
    if !python.exists() {
        install(&environment, &python)?;
    }
    Ok(python)
}

/// Makes the environment, or nothing: a half-made one would be taken for whole.
fn install(environment: &Path, python: &Path) -> Result {
    let made = install_into(environment, python);
    if made.is_err() && environment.exists() {
        std::fs::remove_dir_all(environment)?;
    }
    made
}

fn install_into(environment: &Path, python: &Path) -> Result {
    command::run(Command::new("python3").args(["-m", "venv"]).arg(environment))?;
    let requirements = root().join("xtask/pocket/requirements.txt");
    command::run(Command::new(python).args(["-m", "pip", "install", "--requirement"]).arg(requirements))
}
