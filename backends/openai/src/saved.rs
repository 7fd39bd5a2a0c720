//! Saved slots of a llama.cpp server, as snapshots: the server keeps the state, and a snapshot names its file.

use std::io::Read;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::decoder::snapshot::{Beginning, Reading};
use alloquy_engine::decoder::{Snapshot, SnapshotError, SnapshotIdentity, SnapshotSource};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::http::Http;
use crate::slots::{Lease, SlotQueue, Wish};
use crate::wire::size;

/// How many bytes the description of a saved slot may have.
const DESCRIPTION: u64 = 1 << 16;

/// Saves and restores slots.
#[derive(Debug)]
pub(crate) struct SlotSaver {
    pub(crate) http: Arc<Http>,
    pub(crate) slots: Arc<SlotQueue>,
    pub(crate) model: String,
}

impl SlotSaver {
    /// Saves the slot that holds the longest prefix of `ids`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when no slot holds any of it. [`ErrorKind::Unsupported`] when the server has no folder for slots.
    pub(crate) async fn save(&self, ids: &[TokenId], origin: SnapshotIdentity) -> Result<Snapshot> {
        let Some((slot, _)) = self.slots.longest(ids) else { return Err(self.nothing()) };
        let lease = self.lease(Wish::Only(slot)).await?;
        // Another request may have had the slot meanwhile.
        let (shared, was_longer) = self.slots.shared_with(slot, ids);
        let held = ids.get(..shared).unwrap_or_default();
        if held.is_empty() {
            return Err(self.nothing());
        }
        let file = file_name(&origin, held);
        let answer = self.act(slot, "save", &file).await.map_err(saving)?;
        let saved = answer.get("n_saved").and_then(size).unwrap_or_default();
        if saved < shared {
            // The server has restarted, or another program has used the slot.
            lease.end(Vec::new());
            return Err(self.nothing());
        }
        if answer.get("n_written").and_then(size) == Some(0) {
            let message = format!(
                "the server at {} could not write {file:?}: check its folder and the disk",
                self.http.address()
            );
            return Err(Error::new(ErrorKind::Backend, message));
        }
        let description = json!({"server": self.http.address(), "file": file, "model": self.model});
        let units = held.iter().copied().map(PromptUnit::Token).collect();
        let beginning = Beginning { units, was_longer };
        Ok(Snapshot::of_state(origin, beginning, description.to_string().as_bytes()))
    }

    /// Restores a saved slot into the one whose content is worth least, and returns what it holds.
    ///
    /// # Errors
    /// Why it was refused. Then at most one slot is empty that held something.
    pub(crate) async fn restore(
        &self,
        from: SnapshotSource,
        origin: SnapshotIdentity,
    ) -> Result<Beginning, SnapshotError> {
        let mut reading = Reading::of(from)?;
        let mut description = Vec::new();
        let read = reading.by_ref().take(DESCRIPTION).read_to_end(&mut description);
        read.map_err(|error| SnapshotError::Unreadable { message: error.to_string() })?;
        let beginning = reading.beginning().clone();
        let is_of_this_origin = reading.check(&origin);
        reading.finish()?;
        let description = serde_json::from_slice(&description).unwrap_or(Value::Null);
        if let Some(server) = text(&description, "server").filter(|server| *server != self.http.address()) {
            return Err(SnapshotError::OtherServer { server: server.to_owned() });
        }
        is_of_this_origin?;
        let ids = ids(&beginning.units)?;
        // The name is computed, so that a forged snapshot cannot name another file of the server.
        let file = file_name(&origin, &ids);
        if text(&description, "file") != Some(&file) {
            return Err(SnapshotError::Damaged);
        }
        self.load(ids, file).await?;
        Ok(beginning)
    }

    async fn load(&self, ids: Vec<TokenId>, file: String) -> Result<(), SnapshotError> {
        let lease = self.lease(Wish::reply(None, &ids, 1)).await?;
        match self.act(lease.slot(), "restore", &file).await {
            Ok(answer) if answer.get("n_restored").and_then(size).is_some_and(|count| count >= ids.len()) => {
                lease.end(ids);
                Ok(())
            }
            Ok(_) => {
                lease.end(Vec::new());
                Err(SnapshotError::Gone { file })
            }
            Err(error) => {
                // The server empties a slot before it reads the file.
                lease.end(Vec::new());
                Err(refusal(error, file))
            }
        }
    }

    async fn lease(&self, wish: Wish) -> Result<Lease> {
        let first = self.http.timeouts.first;
        timeout(first, self.slots.take(wish)).await.map_err(|_| {
            let message =
                format!("no slot of {} was free within {first:?}: try again later", self.http.address());
            Error::new(ErrorKind::Busy, message)
        })
    }

    /// Saves or restores a slot. It may be tried again, since a second time has the same effect.
    async fn act(&self, slot: usize, action: &str, file: &str) -> Result<Value> {
        let path = format!("/slots/{slot}?action={action}");
        let body = json!({"filename": file});
        let mut attempt = 1;
        loop {
            match self.http.post_within(self.http.timeouts.first, &path, &body).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => self.http.retries.pause(fault, attempt).await?,
            }
            attempt += 1;
        }
    }

    fn nothing(&self) -> Error {
        let message = format!("no slot of {} holds anything of this conversation", self.http.address());
        Error::new(ErrorKind::NotFound, message)
    }
}

/// Returns the error of a server without slots that can be saved.
pub(crate) fn unsupported(model: &ModelInfo) -> Error {
    let message = format!(
        "the decoder of model {:?} does not save what its server has computed: only one with a single server of llama.cpp that was \
         started with --slot-save-path does, without an adapter and without `slots_by_server`",
        model.name
    );
    Error::new(ErrorKind::Unsupported, message)
}

/// Returns units as the ids of tokens.
///
/// # Errors
/// [`SnapshotError::Damaged`] for media, which no slot of this client holds.
pub(crate) fn ids(units: &[PromptUnit]) -> Result<Vec<TokenId>, SnapshotError> {
    let mut ids = Vec::with_capacity(units.len());
    for unit in units {
        let PromptUnit::Token(id) = unit else { return Err(SnapshotError::Damaged) };
        ids.push(*id);
    }
    Ok(ids)
}

/// Returns the name of a file: a digest, because the server reads and writes it in its folder.
fn file_name(origin: &SnapshotIdentity, ids: &[TokenId]) -> String {
    let mut bytes = [*origin.model.as_bytes(), *origin.template.as_bytes()].concat();
    for id in ids {
        bytes.extend_from_slice(&id.to_le_bytes());
    }
    format!("alloquy-{}.slot", Digest::of(&bytes))
}

/// Returns the error of a server that does not save a slot.
fn saving(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Unsupported | ErrorKind::NotFound => {
            let message = "the server saves no slots: start it with --slot-save-path FOLDER, and with a model without media";
            Error::new(ErrorKind::Unsupported, message).with_source(error)
        }
        _ => error,
    }
}

/// Returns why a server does not restore a file.
fn refusal(error: Error, file: String) -> SnapshotError {
    match error.kind() {
        ErrorKind::Unsupported | ErrorKind::NotFound => SnapshotError::Unsupported,
        // It says so of a file that it does not have, and of one with more tokens than a slot takes.
        ErrorKind::Invalid => SnapshotError::Gone { file },
        _ => SnapshotError::from(error),
    }
}

fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field).and_then(Value::as_str)
}
