//! Every folder with an export and the tokens of its reference: the same tokens, however a session came to them.
//!
//! The folders lie anywhere below the one that `ALLOQUY_CASES` names, or below `models` of the one that `ALLOQUY_SHARED` names. An
//! export's golden is a file `golden*.json` inside of its folder, or `golden-NAME.json` beside it. Prints `N passed, M failed`.
//!
//! If `ALLOQUY_RESULTS` names a file, a line of JSON is appended to it for each export: `equal`, `refused` by the engine when it is loaded, or
//! `wrong`. Then an export that is refused is not a failure.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr, clippy::print_stdout)] // a test may panic, and prints

mod common;

use std::any::Any;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use alloquy_core::tokenizer::TokenId;
use alloquy_engine::decoder::StateReader;
use alloquy_engine::{BatchStep, Engine, Session};
use alloquy_onnx::{CacheMemory, OnnxEngine};
use serde_json::Value;

use common::{agrees, builder, continued, feed, greedy, likeliest, models, units};

/// A prompt and what the reference says to it.
struct Case {
    prompt: Vec<TokenId>,
    reply: Vec<TokenId>,
    /// What it says if the prompt is fed one by one, where that is known.
    one_by_one: Option<Vec<TokenId>>,
    /// How much less likely a token may be where the reply differs first.
    margin: f32,
    /// As `margin`, where the reference was fed in the same way.
    exact_margin: f32,
}

/// How much logits of weights in 4 bits may differ by rounding, which depends on the processor.
const ROUNDED: f32 = 0.1;

/// As `ROUNDED`, as a share of the logits' standard deviation, where the reference computed the same tokens together.
const SAME_WAY: f32 = 0.01;

/// A way to come to the end of the prompt: feeds it, and returns the reply.
type Way = fn(&OnnxEngine, &Case) -> alloquy_core::Result<Vec<TokenId>>;

const WAYS: [(&str, Way); 10] = [
    ("whole", whole),
    ("one by one", one_by_one),
    ("in sevens", in_sevens),
    ("truncated and fed again", truncated),
    ("forked", forked),
    ("the trunk of a fork", trunk_of_a_fork),
    ("in a batch", in_a_batch),
    ("restored from a snapshot", restored),
    ("the second turn", second_turn),
    ("the first turn again, after a second", first_turn_again),
];

#[test]
fn every_export_says_what_its_reference_says() {
    let results = std::env::var_os("ALLOQUY_RESULTS").map(PathBuf::from);
    compare(CacheMemory::Auto, results.as_deref());
}

#[test]
fn every_export_says_the_same_with_caches_that_the_provider_allocates() {
    compare(CacheMemory::Provider, None);
}

fn compare(memory: CacheMemory, results: Option<&Path>) {
    let Some(folder) = folder() else { return };
    let mut passed = 0;
    let mut refused = 0;
    let mut failures = Vec::new();
    for (export, golden) in exports(&folder) {
        let name = export.strip_prefix(&folder).unwrap_or(&export).display().to_string();
        let cases = cases(&export, &golden);
        let engine = match (builder(&export).cache_memory(memory).load(), results) {
            (Ok(engine), _) => engine,
            (Err(error), Some(file)) => {
                refused += 1;
                append(file, &name, "refused", &format!("{error:#}"));
                continue;
            }
            (Err(error), None) => {
                failures.push(format!("{name}: {error:#}"));
                continue;
            }
        };
        let mut differences = Vec::new();
        for (way, run) in WAYS {
            match differing(&engine, &cases, (way, run)) {
                None => passed += 1,
                Some(difference) => differences.push(format!("{way}: {difference}")),
            }
        }
        if let Some(file) = results {
            let outcome = if differences.is_empty() { "equal" } else { "wrong" };
            append(file, &name, outcome, &differences.join("; "));
        }
        failures.extend(differences.iter().map(|difference| format!("{name}, {difference}")));
        eprintln!("{name}: {} cases of {}", cases.len(), golden.display());
    }
    for failure in &failures {
        println!("{failure}");
    }
    println!("{passed} passed, {} failed", failures.len());
    assert!(failures.is_empty(), "{} failed", failures.len());
    assert!(passed + refused > 0, "{folder:?} has no export with a golden");
}

/// Appends what became of an export to the file of results.
fn append(file: &Path, export: &str, outcome: &str, detail: &str) {
    let line = serde_json::json!({"export": export, "outcome": outcome, "detail": detail});
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    writeln!(file, "{line}").unwrap();
}

/// Says which case came out otherwise, if one did.
fn differing(engine: &OnnxEngine, cases: &[Case], (way, run): (&str, Way)) -> Option<String> {
    for (index, case) in cases.iter().enumerate() {
        // A panic of one way must not keep the other ways, and the other exports, from being compared.
        let compared = std::panic::catch_unwind(AssertUnwindSafe(|| compared(engine, case, way, run)));
        let difference = compared.unwrap_or_else(|panic| Err(message(panic.as_ref())));
        if let Err(difference) = difference {
            return Some(format!("case {index}: {difference}"));
        }
    }
    None
}

fn compared(engine: &OnnxEngine, case: &Case, way: &str, run: Way) -> Result<(), String> {
    let (expected, margin) = match (way, &case.one_by_one) {
        ("one by one", Some(expected)) => (expected, case.exact_margin),
        ("whole", Some(_)) => (&case.reply, case.exact_margin),
        _ => (&case.reply, case.margin),
    };
    match run(engine, case) {
        Ok(reply) => agrees(engine, &case.prompt, (&reply, expected), margin),
        Err(error) => Err(format!("{error:#}")),
    }
}

fn message(panic: &dyn Any) -> String {
    match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (None, Some(text)) => (*text).to_owned(),
        (None, None) => "a panic without a message".to_owned(),
    }
}

/// The folder in which exports are looked for.
fn folder() -> Option<PathBuf> {
    match std::env::var_os("ALLOQUY_CASES") {
        Some(folder) => Some(PathBuf::from(folder)),
        None => models(),
    }
}

/// Every folder with a graph of a decoder for which there is a golden, sorted, with the golden.
fn exports(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
        let is_export =
            files.iter().any(|file| file.extension().is_some_and(|extension| extension == "onnx"));
        if is_export && let Some(golden) = golden_inside(&files).or_else(|| golden_beside(&folder)) {
            found.push((folder, golden));
        }
    }
    found.sort();
    found
}

fn golden_inside(files: &[PathBuf]) -> Option<PathBuf> {
    let mut goldens = files.iter().filter(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("golden") && name.ends_with(".json")
    });
    goldens.next().cloned()
}

/// `golden-NAME.json` beside the folder `EXPORTER-NAME`, `EXPORTER-NAME-fp32` or `EXPORTER-NAME-fp32-windowed`: exports of the same weights.
/// Rounded weights say something else.
fn golden_beside(folder: &Path) -> Option<PathBuf> {
    let name = folder.file_name()?.to_str()?;
    let (_, rest) = name.split_once('-')?;
    let rest = rest.strip_suffix("-windowed").unwrap_or(rest);
    let rest = rest.strip_suffix("-fp32").unwrap_or(rest);
    let golden = folder.with_file_name(format!("golden-{rest}.json"));
    golden.is_file().then_some(golden)
}

/// Reads a golden: `cases` with `prompt_ids` and `greedy_ids`, or one case as `ids` and `out`. `out_int4_ort` is what ONNX Runtime itself
/// makes of weights in 4 bits, `margin` is how near two tokens of this export may be to a tie, and `out_one_by_one` what it says if the prompt is
/// fed one by one. Products in 8 bits round by what is computed together, so for these the margin is wide, and two ways are compared exactly.
fn cases(export: &Path, golden: &Path) -> Vec<Case> {
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(golden).unwrap()).unwrap();
    let ids = |value: &Value| -> Vec<TokenId> { serde_json::from_value(value.clone()).unwrap() };
    if let Some(cases) = golden.get("cases") {
        let cases = cases.as_array().unwrap().iter();
        return cases
            .map(|case| Case {
                prompt: ids(&case["prompt_ids"]),
                reply: ids(&case["greedy_ids"]),
                one_by_one: None,
                margin: 0.0,
                exact_margin: 0.0,
            })
            .collect();
    }
    let mut reply = &golden["out"];
    let mut margin = golden["margin"].as_f64().unwrap_or_default() as f32;
    let name = export.file_name().unwrap_or_default().to_string_lossy();
    if name.contains("int4")
        && let Some(rounded) = golden.get("out_int4_ort")
    {
        reply = rounded;
        margin = ROUNDED;
    }
    let spread = golden["spread"].as_f64().unwrap_or_default() as f32;
    vec![Case {
        prompt: ids(&golden["ids"]),
        reply: ids(reply),
        one_by_one: golden.get("out_one_by_one").map(ids),
        margin,
        exact_margin: margin.min(SAME_WAY * spread),
    }]
}

impl Case {
    fn count(&self) -> usize {
        self.reply.len()
    }

    /// The prompt in two parts, the first one possibly empty.
    fn halves(&self) -> (&[TokenId], &[TokenId]) {
        self.prompt.split_at(self.prompt.len() / 2)
    }
}

fn whole(engine: &OnnxEngine, case: &Case) -> alloquy_core::Result<Vec<TokenId>> {
    Ok(greedy(engine, &case.prompt, case.prompt.len(), case.count()))
}

fn one_by_one(engine: &OnnxEngine, case: &Case) -> alloquy_core::Result<Vec<TokenId>> {
    Ok(greedy(engine, &case.prompt, 1, case.count()))
}

fn in_sevens(engine: &OnnxEngine, case: &Case) -> alloquy_core::Result<Vec<TokenId>> {
    Ok(greedy(engine, &case.prompt, 7, case.count()))
}

/// Goes back from the middle of a reply, to the half of the prompt or to wherever the session can, and feeds what is missing.
fn truncated(engine: &OnnxEngine, case: &Case) -> alloquy_core::Result<Vec<TokenId>> {
    let mut session = engine.open()?;
    let (first, rest) = case.halves();
    if !first.is_empty() {
        feed(session.as_mut(), first, 128);
        session.mark();
    }
    let logits = feed(session.as_mut(), rest, 128);
    continued(session.as_mut(), logits, case.count().div_ceil(2));
    let kept = session.truncate(first.len())?;
    rest_of_prompt(session.as_mut(), case, kept)
}

fn forked(engine: &OnnxEngine, case: &Case) -> alloquy_core::Result<Vec<TokenId>> {
    let mut trunk = engine.open()?;
    let (first, rest) = case.halves();
    if !first.is_empty() {
        feed(trunk.as_mut(), first, 7);
    }
    let mut fork = trunk.fork()?;
    feed(trunk.as_mut(), &case.reply, 7);
    let logits = feed(fork.as_mut(), rest, 128);
    Ok(continued(fork.as_mut(), logits, case.count()))
}

fn trunk_of_a_fork(engine: &OnnxEngine, case: &Case) -> alloquy_core::Result<Vec<TokenId>> {
    let mut trunk = engine.open()?;
    let (first, rest) = case.halves();
    if !first.is_empty() {
        feed(trunk.as_mut(), first, 7);
    }
    let mut fork = trunk.fork()?;
    feed(fork.as_mut(), &case.reply, 7);
    drop(fork);
    let logits = feed(trunk.as_mut(), rest, 128);
    Ok(continued(trunk.as_mut(), logits, case.count()))
}

/// Replies in three sessions that step together, at different lengths.
fn in_a_batch(engine: &OnnxEngine, case: &Case) -> alloquy_core::Result<Vec<TokenId>> {
    let mut session = engine.open()?;
    let logits = feed(session.as_mut(), &case.prompt, 128);
    let mut others = [engine.open()?, engine.open()?];
    for (other, length) in others.iter_mut().zip([1, 11]) {
        feed(other.as_mut(), &case.reply.repeat(2)[..length], 128);
    }
    let mut reply = vec![likeliest(&logits)];
    while reply.len() < case.count() {
        let unit = &units(&reply[reply.len() - 1..])[0];
        let mut steps = vec![BatchStep { session: session.as_mut(), unit }];
        for other in &mut others {
            steps.push(BatchStep { session: other.as_mut(), unit });
        }
        engine.forward_many(&mut steps)?;
        reply.push(likeliest(session.logits()));
    }
    Ok(reply)
}

fn restored(engine: &OnnxEngine, case: &Case) -> alloquy_core::Result<Vec<TokenId>> {
    let mut session = engine.open()?;
    let (first, rest) = case.halves();
    if first.is_empty() {
        return whole(engine, case);
    }
    feed(session.as_mut(), first, 128);
    session.mark();
    feed(session.as_mut(), rest, 128);
    let mut state = Vec::new();
    session.snapshot(first.len(), &mut state)?;
    let mut restored = engine.open()?;
    restored.restore(&units(first), &mut StateReader::new(&mut state.as_slice()))?;
    let logits = feed(restored.as_mut(), rest, 128);
    Ok(continued(restored.as_mut(), logits, case.count()))
}

/// Asks a second time behind the first turn. There is no golden for that, so it is compared with a fresh session that is fed both turns.
fn second_turn(engine: &OnnxEngine, case: &Case) -> alloquy_core::Result<Vec<TokenId>> {
    let mut session = engine.open()?;
    let logits = feed(session.as_mut(), &case.prompt, 128);
    let reply = continued(session.as_mut(), logits, case.count());
    let mut turn = vec![reply[reply.len() - 1]];
    turn.extend_from_slice(&case.prompt);
    let logits = feed(session.as_mut(), &turn, 7);
    let second = continued(session.as_mut(), logits, case.count());
    let both = [&case.prompt[..], &reply[..reply.len() - 1], &turn].concat();
    let fresh = greedy(engine, &both, both.len(), case.count());
    if agrees(engine, &both, (&second, &fresh), case.margin).is_err() {
        return Ok(second);
    }
    Ok(reply)
}

/// Goes back behind a second turn to the end of the first prompt, and asks again.
fn first_turn_again(engine: &OnnxEngine, case: &Case) -> alloquy_core::Result<Vec<TokenId>> {
    let mut session = engine.open()?;
    let (last, prompt) = case.prompt.split_last().unwrap();
    if !prompt.is_empty() {
        feed(session.as_mut(), prompt, 128);
        session.mark();
    }
    let logits = feed(session.as_mut(), &[*last], 1);
    continued(session.as_mut(), logits, case.count());
    session.mark();
    feed(session.as_mut(), &case.prompt, 128);
    let kept = session.truncate(prompt.len())?;
    rest_of_prompt(session.as_mut(), case, kept)
}

/// Feeds what a session lacks of the prompt, and continues it.
fn rest_of_prompt(session: &mut dyn Session, case: &Case, kept: usize) -> alloquy_core::Result<Vec<TokenId>> {
    let logits = feed(session, &case.prompt[kept..], 128);
    Ok(continued(session, logits, case.count()))
}
