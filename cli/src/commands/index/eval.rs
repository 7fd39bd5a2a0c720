//! `alloquy index eval`: measures what an index finds.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::retrieval::{Evaluation, JudgedQuestion, Retriever, evaluate};
use clap::Args;
use serde_json::json;

use super::opened::{Opened, WhichIndex};
use crate::context::Context;
use crate::failure::Failure;
use crate::screen;
use crate::table::{Table, with_tabs};

const EXAMPLES: &str = "\
Examples:
  alloquy index eval questions.jsonl
  alloquy index eval questions.jsonl --json | jq '.retrievers[] | [.name, .ndcg]'

A line of the file is a question with the places of its answers, as a person judged; heading and phrase may be left out:
  {\"question\": \"Where is tea grown?\", \"answers\": [{\"source\": \"docs/tea.md\", \"heading\": \"Origin\", \"phrase\": \"in Assam\"}]}
Figures are from 0 to 1, and 1 is best: nDCG@10 counts early answers more, recall@20 is the share of answers among the first 20 \
passages, MRR is the mean of 1 / the rank of the first answer. In a pipe each kind of search is a line with tabs between.";

/// Measure how well the index answers questions
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Eval {
    /// The file of questions, one a line as JSON
    #[arg(value_name = "QUESTIONS")]
    questions: PathBuf,
    #[command(flatten)]
    which: WhichIndex,
}

impl Eval {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let questions = self.questions()?;
        let Opened { index, owner, .. } = self.which.open(context)?;
        let mut retrievers: Vec<(&str, Arc<dyn Retriever>)> = vec![("words", index.words())];
        if let Ok(vectors) = index.vectors() {
            retrievers.push(("vectors", vectors));
            retrievers.push(("hybrid", index.hybrid()));
        }
        let mut rows = Vec::new();
        for (name, retriever) in retrievers {
            rows.push((name, evaluate(&retriever, &owner, &questions).await?));
        }
        let known = index.documents(&owner)?.into_iter().map(|document| document.source).collect();
        let missing = missing(&questions, &known);
        if !missing.is_empty() {
            context.notes.say(format_args!(
                "the index lacks documents that have answers: {}",
                missing.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
            ));
        }
        let text = if screen::is_out_a_terminal() { table(&rows) } else { lines(&rows) };
        let retrievers: Vec<_> = rows.iter().map(|(name, found)| value(name, found)).collect();
        let value = json!({"questions": questions.len(), "retrievers": retrievers, "missing": missing});
        context.print(&text, &value)
    }

    fn questions(&self) -> Result<Vec<JudgedQuestion>> {
        let path = &self.questions;
        let text = crate::file::any_text(path).map_err(|source| {
            Error::new(ErrorKind::Invalid, format!("questions {path:?} cannot be read")).with_source(source)
        })?;
        let questions =
            JudgedQuestion::read(&text).map_err(|error| error.context(format_args!("questions {path:?}")))?;
        if questions.is_empty() {
            let message = format!("questions {path:?} has no question: write one a line, as --help shows");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(questions)
    }
}

/// Returns the documents with answers that the index does not have.
fn missing(questions: &[JudgedQuestion], known: &BTreeSet<String>) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    for answer in questions.iter().flat_map(|question| &question.answers) {
        if !known.contains(&answer.source) {
            missing.insert(answer.source.clone());
        }
    }
    missing
}

fn figures(found: &Evaluation) -> [String; 3] {
    [found.ndcg, found.recall, found.mrr].map(|figure| format!("{figure:.3}"))
}

fn table(rows: &[(&str, Evaluation)]) -> String {
    let mut table = Table::new(["SEARCH", "nDCG@10", "RECALL@20", "MRR"]);
    for (name, found) in rows {
        let [ndcg, recall, mrr] = figures(found);
        table.push([(*name).to_owned(), ndcg, recall, mrr]);
    }
    table.aligned(screen::width())
}

fn lines(rows: &[(&str, Evaluation)]) -> String {
    let mut text = String::new();
    for (name, found) in rows {
        let [ndcg, recall, mrr] = figures(found);
        text += &with_tabs([name, &ndcg, &recall, &mrr]);
    }
    text
}

fn value(name: &str, found: &Evaluation) -> serde_json::Value {
    json!({"name": name, "ndcg": found.ndcg, "recall": found.recall, "mrr": found.mrr})
}
