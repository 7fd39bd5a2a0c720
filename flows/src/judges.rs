//! Decides whether conditions hold. What a model and the host say is asked here.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::grammar::Grammar;
use alloquy_core::output::OutputConstraints;
use alloquy_core::{
    ChatModel, Conversation, Error, ErrorKind, Message, Preface, Request, Result, TurnRequest,
};
use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::condition::{Condition, ModelQuestion, Observation, Verdict, compiled, sentiment};
use crate::schema;

/// A condition of the host.
///
/// ```
/// use alloquy_core::Result;
/// use alloquy_flows::{HostCondition, Observation};
///
/// /// Holds for texts of more than 100 characters.
/// #[derive(Debug)]
/// struct IsLong;
///
/// #[async_trait::async_trait]
/// impl HostCondition for IsLong {
///     async fn holds(&self, seen: &Observation) -> Result<bool> {
///         Ok(seen.text.chars().count() > 100)
///     }
/// }
/// ```
#[async_trait]
pub trait HostCondition: Send + Sync + Debug {
    /// Decides whether the condition holds. It may be asked again if a program ends before the next step is stored.
    ///
    /// # Errors
    /// What the caller of the flow should see. The flow stays where it is.
    async fn holds(&self, seen: &Observation) -> Result<bool>;
}

/// A question, its options, and whether they are scored.
type Question = (String, Vec<String>, bool);

/// Those who are asked about conditions. Each question is put to the model once.
#[derive(Debug, Default)]
pub(crate) struct Judges<'a> {
    pub(crate) model: Option<&'a dyn ChatModel>,
    pub(crate) conversation: Option<&'a Conversation>,
    pub(crate) hosts: Option<&'a BTreeMap<String, Arc<dyn HostCondition>>>,
    answers: Mutex<HashMap<Question, String>>,
}

impl<'a> Judges<'a> {
    pub(crate) fn new(
        model: Option<&'a dyn ChatModel>,
        conversation: &'a Conversation,
        hosts: &'a BTreeMap<String, Arc<dyn HostCondition>>,
    ) -> Self {
        Self { model, conversation: Some(conversation), hosts: Some(hosts), answers: Mutex::default() }
    }

    async fn answer(&self, question: &ModelQuestion, seen: &Observation) -> Result<String> {
        let key = (question.question.clone(), question.options.clone(), question.score);
        let known = self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let answer = if question.score {
            self.scored(question, seen).await?
        } else {
            self.written(question, seen).await?
        };
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).insert(key, answer.clone());
        Ok(answer)
    }

    /// Lets the model write one of the options.
    async fn written(&self, question: &ModelQuestion, seen: &Observation) -> Result<String> {
        let Some(model) = self.model else {
            let message = format!("no model is set that could answer {:?}", question.question);
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let asked = format!("{}\n\n{}", seen.text, question.question);
        let request = Request::new(Preface::default(), vec![Message::user(asked)]);
        let choice = OutputConstraints::default().grammar(Grammar::choice(question.options.clone()));
        let reply = match model.reply(request.clone().output(choice)).await {
            Ok(stream) => stream.finish().await?,
            // Without a grammar the model may write anything, which then is none of the options.
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                model.reply(request).await?.finish().await?
            }
            Err(error) => return Err(error),
        };
        Ok(reply.text().trim().to_owned())
    }

    /// Takes the option that is the likeliest continuation.
    async fn scored(&self, question: &ModelQuestion, seen: &Observation) -> Result<String> {
        let Some(conversation) = self.conversation else {
            let message = format!("there is no conversation that could score {:?}", question.question);
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let asked = format!("{}\n\n{}", seen.text, question.question);
        let scores = conversation.score(TurnRequest::from(asked), &question.options).await?;
        let mut best: Option<(f64, &String)> = None;
        for (score, option) in scores.iter().zip(&question.options) {
            let score = score.mean().unwrap_or(f64::NEG_INFINITY);
            if best.is_none_or(|(highest, _)| score > highest) {
                best = Some((score, option));
            }
        }
        Ok(best.map(|(_, option)| option.clone()).unwrap_or_default())
    }
}

impl Condition {
    /// Returns whether it holds, for a condition that needs neither a model nor the host.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a condition that needs a model or the host, [`ErrorKind::Invalid`] for a pattern or a schema
    /// that is wrong.
    pub fn holds(&self, seen: &Observation) -> Result<bool> {
        let judges = Judges::default();
        match decide(self, seen, &judges).now_or_never() {
            Some(verdict) => Ok(verdict?.holds),
            None => Err(Error::new(ErrorKind::Unsupported, "the condition waits for something outside")),
        }
    }
}

/// Decides whether a condition holds.
pub(crate) fn decide<'a>(
    condition: &'a Condition,
    seen: &'a Observation,
    judges: &'a Judges<'_>,
) -> BoxFuture<'a, Result<Verdict>> {
    async move {
        match condition {
            Condition::All(parts) => several(parts, seen, judges, false).await,
            Condition::Any(parts) => several(parts, seen, judges, true).await,
            Condition::Not(part) => {
                let verdict = decide(part, seen, judges).await?;
                Ok(Verdict { holds: !verdict.holds, why: format!("not: {}", verdict.why) })
            }
            Condition::Model(question) => {
                let answer = judges.answer(question, seen).await?;
                let holds = answer.to_lowercase() == question.is.to_lowercase();
                Ok(Verdict { holds, why: format!("the model answered {answer:?}") })
            }
            Condition::Host(name) => {
                let known = judges.hosts.and_then(|hosts| hosts.get(name));
                let Some(known) = known else {
                    let message = format!("the host has no condition {name:?}; add it with FlowRunner::host");
                    return Err(Error::new(ErrorKind::Unsupported, message));
                };
                let holds = known.holds(seen).await?;
                Ok(Verdict { holds, why: format!("the host said {holds}") })
            }
            other => plain(other, seen),
        }
    }
    .boxed()
}

/// Decides about several conditions, up to the first one that decides the whole.
async fn several(
    parts: &[Condition],
    seen: &Observation,
    judges: &Judges<'_>,
    wanted: bool,
) -> Result<Verdict> {
    let mut why = Vec::new();
    for part in parts {
        let verdict = decide(part, seen, judges).await?;
        if verdict.holds == wanted {
            return Ok(Verdict { holds: wanted, why: verdict.why });
        }
        why.push(verdict.why);
    }
    let why = if why.is_empty() { "there are no conditions".to_owned() } else { why.join("; ") };
    Ok(Verdict { holds: !wanted, why })
}

/// Decides about a condition that sees everything it needs.
fn plain(condition: &Condition, seen: &Observation) -> Result<Verdict> {
    Ok(match condition {
        Condition::Keyword(keyword) => match keyword.found(&seen.text)? {
            Some(word) => Verdict { holds: true, why: format!("the text has {word:?}") },
            None => Verdict { holds: false, why: format!("the text has none of {:?}", keyword.any) },
        },
        Condition::Matches(pattern) => {
            let holds = compiled(pattern)?.is_match(&seen.text);
            let verb = if holds { "matches" } else { "does not match" };
            Verdict { holds, why: format!("the text {verb} {pattern:?}") }
        }
        Condition::Equals { variable, value } => {
            let (name, found) = match variable {
                Some(name) => (name.as_str(), seen.variables.get(name).cloned().unwrap_or_default()),
                None => ("the answer", seen.last()),
            };
            Verdict { holds: found == *value, why: format!("{name} is {found}") }
        }
        Condition::AtLeast { variable, value } => {
            let found = seen.variables.get(variable).cloned().unwrap_or_default();
            let holds = found.as_f64().is_some_and(|number| number >= *value);
            Verdict { holds, why: format!("{variable} is {found}") }
        }
        Condition::Schema(expected) => match schema::check(&seen.last(), expected) {
            Ok(()) => Verdict { holds: true, why: "the answer fits the schema".to_owned() },
            Err(error) => Verdict { holds: false, why: error.to_string() },
        },
        Condition::Sentiment { is, threshold } => {
            let (found, share) = sentiment(&seen.text);
            let why = format!("{share:.2} of the counted words are {found:?}").to_lowercase();
            Verdict { holds: found == *is && share >= *threshold, why }
        }
        _ => Verdict { holds: true, why: "always".to_owned() },
    })
}
