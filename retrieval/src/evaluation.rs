//! How well a retriever finds what people judged to be the answers.

use alloquy_core::{Error, ErrorKind, Owner, Result};
use serde::{Deserialize, Serialize};

use crate::{Lookup, Passage, Retriever};

/// How many passages are read for `recall`.
const DEPTH: usize = 20;
/// How many passages are read for `ndcg`.
const FIRST: usize = 10;

/// A question, and where its answers are, as a person judged.
///
/// A file of questions has one on each line, as JSON: [`JudgedQuestion::read`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedQuestion {
    /// The question.
    pub question: String,
    /// The places of its answers; each counts the same.
    pub answers: Vec<JudgedAnswer>,
}

/// A place of a document that answers a question.
///
/// [`JudgedQuestion::read`] has an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedAnswer {
    /// The name of the document.
    pub source: String,
    /// The heading directly above it, if the document has headings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// Some words that only this place has. Without them, each passage below the heading is an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phrase: Option<String>,
}

impl JudgedQuestion {
    /// Reads questions from lines of JSON. Empty lines are skipped.
    ///
    /// ```
    /// use alloquy_retrieval::JudgedQuestion;
    ///
    /// let lines = r#"{"question": "Where is tea grown?", "answers": [{"source": "tea.md", "phrase": "grown in Assam"}]}"#;
    /// let questions = JudgedQuestion::read(lines)?;
    /// assert_eq!(questions[0].answers[0].source, "tea.md");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a line that is no question with at least one answer.
    pub fn read(lines: &str) -> Result<Vec<Self>> {
        let mut questions = Vec::new();
        for (number, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let form = r#"{"question": "…", "answers": [{"source": "…", "heading": "…", "phrase": "…"}]}"#;
            let place = number + 1;
            let question: Self = serde_json::from_str(line).map_err(|error| {
                let message = format!("line {place} is no judged question: write {form}");
                Error::new(ErrorKind::Invalid, message).with_source(error)
            })?;
            if question.answers.is_empty() {
                let message =
                    format!("line {place}, {:?}, has no answer: name at least one place", question.question);
                return Err(Error::new(ErrorKind::Invalid, message));
            }
            questions.push(question);
        }
        Ok(questions)
    }
}

impl JudgedAnswer {
    /// Returns whether a passage has this answer. White space does not matter.
    pub fn is_in(&self, passage: &Passage) -> bool {
        let heading = passage.heading().unwrap_or_default();
        let last = heading.rsplit(" > ").next().unwrap_or_default();
        passage.source.as_deref() == Some(self.source.as_str())
            && self.heading.as_deref().is_none_or(|wanted| wanted == last || wanted == heading)
            && self.phrase.as_deref().is_none_or(|phrase| spaced(&passage.text).contains(&spaced(phrase)))
    }
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How well a retriever finds the answers of questions: each is 1 if all answers are found first, and 0 if none is found.
///
/// [`evaluate`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Evaluation {
    /// How many questions there are.
    pub questions: usize,
    /// The mean of the normalized discounted cumulative gain of the first 10 passages: the earlier an answer, the more it counts.
    pub ndcg: f64,
    /// The mean of how many of the answers are among the first 20 passages.
    pub recall: f64,
    /// The mean of 1 / the rank of the first answer among the first 20 passages.
    pub mrr: f64,
}

/// Measures how well a retriever finds the answers of questions.
///
/// An answer that several passages have, such as two that overlap, counts where it is found first.
///
/// ```
/// use alloquy_core::Owner;
/// use alloquy_retrieval::{JudgedQuestion, MemoryRetriever, Passage, evaluate};
///
/// # pollster::block_on(async {
/// let owner = Owner::local();
/// let passages = MemoryRetriever::default();
/// passages.add(&owner, [Passage::new("1", "Tea is grown in Assam.").source("tea.md")]);
/// let questions = JudgedQuestion::read(r#"{"question": "Where is tea grown?", "answers": [{"source": "tea.md"}]}"#)?;
/// let evaluation = evaluate(&passages, &owner, &questions).await?;
/// assert_eq!((evaluation.ndcg, evaluation.recall, evaluation.mrr), (1.0, 1.0, 1.0));
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// Those of the retriever.
pub async fn evaluate(
    retriever: &dyn Retriever,
    owner: &Owner,
    questions: &[JudgedQuestion],
) -> Result<Evaluation> {
    let mut sums = Evaluation { questions: questions.len(), ..Evaluation::default() };
    for question in questions {
        let found = retriever.find(owner, &Lookup::new(&question.question).limit(DEPTH)).await?;
        let ranks = ranks(&question.answers, &found.passages);
        let first = ranks.iter().filter(|&&rank| rank <= FIRST);
        let best: f64 = (1..=question.answers.len().min(FIRST)).map(gain).sum();
        sums.ndcg += first.map(|&rank| gain(rank)).sum::<f64>() / best.max(f64::MIN_POSITIVE);
        sums.recall += as_f64(ranks.len()) / as_f64(question.answers.len().max(1));
        sums.mrr += ranks.iter().min().map_or(0.0, |&rank| 1.0 / as_f64(rank));
    }
    let number = as_f64(questions.len().max(1));
    sums.ndcg /= number;
    sums.recall /= number;
    sums.mrr /= number;
    Ok(sums)
}

/// Returns the ranks of the answers that were found, from 1 on. Two answers that one passage has share its rank.
fn ranks(answers: &[JudgedAnswer], passages: &[Passage]) -> Vec<usize> {
    let mut ranks = Vec::new();
    for answer in answers {
        let place = passages.iter().position(|passage| answer.is_in(passage));
        ranks.extend(place.map(|place| place + 1));
    }
    ranks
}

/// Returns what an answer at a rank is worth.
fn gain(rank: usize) -> f64 {
    1.0 / as_f64(rank + 1).log2()
}

/// Numbers of questions and ranks are small.
#[allow(clippy::cast_precision_loss)]
fn as_f64(number: usize) -> f64 {
    number as f64
}
