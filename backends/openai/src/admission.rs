//! What a server must be before it gets requests.

use std::sync::{Arc, OnceLock};

use alloquy_core::model_info::ModelInfo;
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_core::{Error, ErrorKind, Result};

use crate::description::RemoteDescription;
use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::fingerprint;
use crate::http::Http;
use crate::likeness::{self, Likeness};
use crate::probe::{ProbedSlots, probe};

/// What is required of each server of a decoder.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) dialect: Option<Dialect>,
    pub(crate) model: Option<String>,
    pub(crate) has_priority: bool,
    pub(crate) has_salts: bool,
    /// Whether requests are sent to slots, where a server has slots.
    pub(crate) pins_slots: bool,
    texts: Vec<(&'static str, Vec<TokenId>)>,
    /// After what the next tokens are compared; none for one server alone.
    prompts: Vec<Vec<TokenId>>,
    reference: OnceLock<Reference>,
}

/// A server that others are compared with.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) examined: Examined,
    /// The context that the decoder has reported.
    pub(crate) context_length: usize,
}

/// What was found out about a server.
#[derive(Clone, Debug)]
pub(crate) struct Examined {
    pub(crate) description: RemoteDescription,
    /// The slots to which requests are sent.
    pub(crate) slots: Option<ProbedSlots>,
    facts: Vec<(&'static str, u64)>,
    likeness: Option<Likeness>,
}

impl Admission {
    /// # Errors
    /// [`ErrorKind::Tokenize`].
    pub(crate) fn new(tokenizer: &dyn Tokenizer, info: &ModelInfo, is_single: bool) -> Result<Self> {
        let prompts = if is_single { Vec::new() } else { likeness::prompts(tokenizer, info)? };
        Ok(Self {
            dialect: None,
            model: None,
            has_priority: false,
            has_salts: false,
            pins_slots: true,
            texts: fingerprint::encoded(tokenizer)?,
            prompts,
            reference: OnceLock::new(),
        })
    }

    /// Asks a server what it is.
    ///
    /// # Errors
    /// A passing fault when it does not answer, and a lasting one when it is not what is required.
    pub(crate) async fn examine(&self, http: &Arc<Http>) -> Result<Examined, Fault> {
        let probed = probe(http, self.dialect, self.model.clone()).await.map_err(fault)?;
        check_features(probed.dialect, self.has_priority, self.has_salts)?;
        let check = fingerprint::compare(http, probed.dialect, &probed.model, self.texts.clone());
        let description = RemoteDescription {
            url: http.address().to_owned(),
            dialect: probed.dialect,
            tokenizer: check.await.map_err(fault)?,
            model: probed.model,
            context_length: probed.context_length,
            version: probed.version,
            slots: probed.slots.map(|slots| slots.count),
        };
        let slots = probed.slots.filter(|_| self.pins_slots);
        let likeness = likeness::ask(http, &description, &self.prompts).await?;
        Ok(Examined { description, slots, facts: probed.facts, likeness })
    }

    /// Sets the server that others are compared with.
    pub(crate) fn refer(&self, reference: Reference) {
        // The first one stays.
        let _ = self.reference.set(reference);
    }

    /// Examines a server that was away. It may have started again as another one.
    ///
    /// # Errors
    /// As [`Admission::examine`], and a lasting fault when it is not like the others.
    pub(crate) async fn readmit(&self, http: &Arc<Http>) -> Result<Examined, Fault> {
        match http.reach("/health").await {
            Err(fault) if !matches!(fault.error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported) => {
                return Err(fault);
            }
            // Some servers have no such path.
            _ => {}
        }
        let examined = self.examine(http).await?;
        if let Some(reference) = self.reference.get() {
            reference.examined.check_same(&examined)?;
            check_context(reference, &examined)?;
        }
        Ok(examined)
    }
}

impl Examined {
    /// Checks that another server has the same model.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] with the addresses of both.
    pub(crate) fn check_same(&self, other: &Self) -> Result<()> {
        let Some(difference) = self.difference(other) else { return Ok(()) };
        let message = format!(
            "{} and {} have different models: {difference}; give a decoder servers with the same model",
            self.description.url, other.description.url
        );
        Err(Error::new(ErrorKind::Model, message))
    }

    fn difference(&self, other: &Self) -> Option<String> {
        for (name, number) in &self.facts {
            let found = other.facts.iter().find(|(other, _)| other == name);
            if let Some((_, other)) = found.filter(|(_, other)| other != number) {
                return Some(format!("{name} is {number} and {other}"));
            }
        }
        self.likeness.as_ref()?.difference(other.likeness.as_ref()?)
    }
}

/// A server that comes later must not have less space than the decoder has said.
fn check_context(reference: &Reference, examined: &Examined) -> Result<()> {
    let promised = reference.context_length;
    let Some(context) = examined.description.context_length.filter(|context| *context < promised) else {
        return Ok(());
    };
    let message = format!(
        "{} has a context of {context} tokens and the decoder one of {promised}: start it with a longer one, or connect again",
        examined.description.url
    );
    Err(Error::new(ErrorKind::Model, message))
}

/// Checks that the server has what is set for it.
fn check_features(dialect: Dialect, has_priority: bool, has_salts: bool) -> Result<()> {
    let missing = if has_priority && !dialect.has_priorities() {
        "priorities"
    } else if has_salts && !dialect.has_salts() {
        "salts, so owners share its cache"
    } else {
        return Ok(());
    };
    let message =
        format!("a server of dialect {:?} has no {missing}: leave the setting out", dialect.as_str());
    Err(Error::new(ErrorKind::Unsupported, message))
}

/// Returns the fault of a check: a server that does not answer now may answer later.
fn fault(error: Error) -> Fault {
    if matches!(error.kind(), ErrorKind::Backend | ErrorKind::Busy) {
        Fault::passing(error)
    } else {
        Fault::lasting(error)
    }
}
