//! The model on dialogues that it has never seen, through the whole stack, and against the one that was trained.
//!
//! `cargo xtask pocket eval` runs all of it; the suite has a sample of the dialogues. `ALLOQUY_POCKET` names a folder with an
//! exported model, its `evaluation.jsonl` and its `goldens.jsonl`, to measure that instead of the embedded one.
//! `ALLOQUY_DIALOGUES` names a folder with another `evaluation.jsonl`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod dialogue;
mod score;
mod verdict;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ChatModel, Reply, Request, SamplingOptions};
use alloquy_engine::Engine;
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_onnx::OnnxEngine;
use alloquy_templates::JinjaTemplate;
use dialogue::{Dialogue, Golden, lines};
use pollster::block_on;
use score::Scores;
use verdict::well_formed;

/// Longer than any right reply, thoughts included.
const LIMIT: usize = 256;
/// The share of the sample that must be right: it is there to find a broken model, not a weak one.
const FLOOR: f64 = 85.0;

/// The share of greedy tokens that must be as trained.
const ALIKE: f64 = 99.0;

/// The model to measure, the folder of the dialogues, and the folder of what the trained model says to some.
struct Measured {
    round: LanguageModel,
    dialogues: PathBuf,
    goldens: PathBuf,
}

impl Measured {
    fn load() -> Self {
        let (builder, goldens) = match std::env::var_os("ALLOQUY_POCKET").map(PathBuf::from) {
            Some(folder) => (OnnxEngine::builder(&folder), folder),
            None => (OnnxEngine::of_files(alloquy_pocket::files()), fixtures()),
        };
        let dialogues = match std::env::var_os("ALLOQUY_DIALOGUES") {
            Some(folder) => folder.into(),
            None => goldens.clone(),
        };
        Self { round: round(builder.threads(1).load().unwrap()), dialogues, goldens }
    }

    fn dialogues(&self) -> Vec<Dialogue> {
        lines(&self.dialogues.join("evaluation.jsonl"))
    }

    fn goldens(&self) -> HashMap<String, Vec<TokenId>> {
        let goldens: Vec<Golden> = lines(&self.goldens.join("goldens.jsonl"));
        goldens.into_iter().map(|golden| (golden.id, golden.tokens)).collect()
    }

    /// What the model says, and how long it took.
    fn answer(&self, request: Request) -> (Reply, f64) {
        let short = SamplingOptions { max_tokens: Some(LIMIT), ..SamplingOptions::default() };
        let started = Instant::now();
        let reply = block_on(async {
            self.round.reply(request.sampling(short)).await.unwrap().finish().await.unwrap()
        });
        (reply, started.elapsed().as_secs_f64())
    }

    /// How far it says what the trained model said to the dialogues that lie beside the goldens.
    fn agreement(&self) -> Agreement {
        let goldens = self.goldens();
        let dialogues: Vec<Dialogue> = lines(&self.goldens.join("evaluation.jsonl"));
        let mut agreement = Agreement::default();
        for dialogue in &dialogues {
            let Some(golden) = goldens.get(&dialogue.id) else { continue };
            let reply = self.answer(dialogue.free_request()).0;
            let stop = self.round.model().stop_tokens.first().filter(|_| well_formed(&reply));
            let said: Vec<_> = reply.tokens.iter().chain(stop).collect();
            let same = golden.iter().zip(said).take_while(|(golden, said)| golden == said).count();
            agreement.add(same, golden);
        }
        agreement
    }

    /// How many replies are right when dialogues are asked in a way.
    fn scores<'a>(
        &self,
        dialogues: impl IntoIterator<Item = &'a Dialogue>,
        asked: impl Fn(&Dialogue) -> Request,
    ) -> Scores {
        let mut scores = Scores::default();
        for dialogue in dialogues {
            let (reply, seconds) = self.answer(asked(dialogue));
            scores.add(dialogue, &reply, seconds);
        }
        scores
    }
}

/// The tokens of the trained model, the ending one too, that come before another one goes its own way.
#[derive(Default)]
struct Agreement {
    same: usize,
    all: usize,
    whole: usize,
    dialogues: usize,
}

impl Agreement {
    fn add(&mut self, same: usize, golden: &[TokenId]) {
        (self.same, self.all) = (self.same + same, self.all + golden.len());
        self.whole += usize::from(same == golden.len());
        self.dialogues += 1;
    }

    fn share(&self) -> f64 {
        100.0 * self.same as f64 / self.all as f64
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { same, all, whole, dialogues } = self;
        let share = self.share();
        write!(
            out,
            "greedy tokens as trained: {same} of {all} ({share:.2} %), {whole} of {dialogues} dialogues whole"
        )
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../pocket/fixtures")
}

fn round(engine: OnnxEngine) -> LanguageModel {
    let template = JinjaTemplate::of(engine.model()).unwrap();
    let found = alloquy_processors::detect(engine.model());
    let named = alloquy_processors::named("qwen3", engine.model()).unwrap();
    assert_eq!(found.processor.name(), named.name(), "the model is served as another family");
    LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
        .template(template)
        .processor(found.processor)
        .grammars(LlguidanceEngine::default())
        .build()
        .unwrap()
}

#[test]
fn prompts_are_those_of_hugging_face() {
    let measured = Measured::load();
    let dialogues = measured.dialogues();
    let compared =
        dialogues.iter().filter_map(|dialogue| dialogue.prompt.as_ref().map(|prompt| (dialogue, prompt)));
    for (dialogue, prompt) in compared {
        assert_eq!(measured.round.prepare(&dialogue.request()).unwrap().rendered, *prompt, "{}", dialogue.id);
    }
}

#[test]
fn a_sample_of_the_dialogues() {
    let measured = Measured::load();
    let scores = measured.scores(&measured.dialogues(), Dialogue::request);
    assert!(scores.share() >= FLOOR, "{scores}");
}

#[test]
#[ignore = "minutes: cargo xtask pocket eval"]
fn dialogues_never_seen() {
    let measured = Measured::load();
    println!("{}", measured.scores(&measured.dialogues(), Dialogue::request));
}

#[test]
#[ignore = "minutes: cargo xtask pocket eval"]
fn calls_that_nothing_holds() {
    let measured = Measured::load();
    let dialogues = measured.dialogues();
    let with_tools = dialogues.iter().filter(|dialogue| dialogue.calls());
    println!(
        "Where nothing holds calls to the tools:\n\n{}",
        measured.scores(with_tools, Dialogue::free_request)
    );
}

#[test]
#[ignore = "minutes: cargo xtask pocket eval"]
fn agreement_with_the_trained_model() {
    println!("{}", Measured::load().agreement());
}

#[test]
fn a_sample_of_what_the_trained_model_says() {
    let agreement = Measured::load().agreement();
    assert!(agreement.dialogues > 0 && agreement.share() >= ALIKE, "{agreement}");
}
