//! What a recall was asked and answered, and what its failures mean.

use alloquy_core::report::Warning;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_retrieval::OnFailure;

use crate::note::StoredNote;
use crate::recall::{FailedRecall, Recall, RecallRequest};

/// What a recall found, and what failed that the caller allows to fail.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) notes: Vec<StoredNote>,
    pub(crate) of: usize,
    pub(crate) warnings: Vec<Warning>,
}

/// Recalls notes.
pub(crate) async fn recalled(
    recall: &dyn Recall,
    request: RecallRequest<'_>,
    on_failure: OnFailure,
) -> Result<Asked> {
    let mut asked = Asked::default();
    match recall.recall(request).await {
        Ok(recalled) => {
            for FailedRecall { name, reason } in recalled.failed {
                if on_failure == OnFailure::Fail {
                    let message = format!("recall {name:?} failed: {reason}");
                    return Err(Error::new(ErrorKind::Backend, message));
                }
                asked.warnings.push(Warning::MemoryUnavailable { from: name, reason });
            }
            asked.notes = recalled.notes;
            asked.of = recalled.of;
        }
        Err(error) if on_failure == OnFailure::Without => {
            let from = recall.name().to_owned();
            asked.warnings.push(Warning::MemoryUnavailable { from, reason: error.to_string() });
        }
        Err(error) => return Err(error),
    }
    Ok(asked)
}
