//! Conversations as documents: exported, and imported.

use alloquy_core::{ConversationManager as _, Result};
use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits, ReadArchive};
use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identity::{opened, shown};
use crate::app::App;
use crate::body::{JsonBody, PathOf, QueryOf};
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::media_policy::MediaPolicy;

/// The form of a document.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportParameters {
    /// `alloquy` (everything) unless it is given, `dataknobs`, `openai`, `chatml` or `markdown`.
    #[serde(default)]
    format: Option<String>,
}

/// A conversation as a document.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ExportObject {
    object: &'static str,
    /// The conversation.
    id: String,
    format: &'static str,
    /// The text of the document.
    document: String,
    /// What the format has no place for.
    omitted: Vec<String>,
}

/// A document with conversations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewImport {
    /// The text of the document.
    document: String,
    /// Its format; recognized by the text unless it is given.
    #[serde(default)]
    format: Option<String>,
}

/// What was imported. A conversation is imported whole or not at all, and never replaces one.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ImportObject {
    object: &'static str,
    imported: Vec<ImportedConversation>,
    /// Why others were not imported.
    refused: Vec<String>,
}

/// A conversation that was imported.
#[derive(Debug, JsonSchema, Serialize)]
struct ImportedConversation {
    id: String,
    nodes: usize,
    /// What is not as it was in the document.
    repaired: Vec<String>,
}

impl ImportedConversation {
    fn of(read: &ReadArchive) -> Self {
        Self {
            id: shown(&read.archive.record.id),
            nodes: read.archive.nodes.len(),
            repaired: read.repairs.iter().map(ToString::to_string).collect(),
        }
    }
}

/// How many conversations are stored at once.
const TOGETHER: usize = 200;

/// Reads the conversations of a document, in the format that the request names or in the one that the text has.
fn archives(new: &NewImport, media: &MediaPolicy) -> ApiResult<Vec<Result<ReadArchive>>> {
    let of_document = |error| ApiError::from(error).param("document");
    let format = match &new.format {
        Some(name) => format(name)?,
        None => ArchiveFormat::recognized(&new.document).map_err(of_document)?,
    };
    let read = archive::read_with(format, &new.document, &ArchiveLimits::default(), &media.rules());
    read.map_err(of_document)
}

fn format(name: &str) -> ApiResult<ArchiveFormat> {
    name.parse().map_err(|error| ApiError::from(error).param("format"))
}

pub(super) async fn export(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    QueryOf(parameters): QueryOf<ExportParameters>,
) -> ApiResult<Json<ExportObject>> {
    let format = format(parameters.format.as_deref().unwrap_or(ArchiveFormat::Alloquy.as_str()))?;
    let conversation = opened(&app, &caller, &id).await?;
    let whole = app.conversations(&caller).export(conversation.id()).await?;
    let write = move |_: &MediaPolicy| Ok(archive::write(format, &whole, &ArchiveLimits::default())?);
    let written = app.read_aside(write).await?;
    Ok(Json(ExportObject {
        object: "export",
        id: shown(conversation.id()),
        format: format.as_str(),
        document: written.text,
        omitted: written.omitted.iter().map(ToString::to_string).collect(),
    }))
}

pub(super) async fn import(
    State(app): State<App>,
    caller: Caller,
    JsonBody(new): JsonBody<NewImport>,
) -> ApiResult<Json<ImportObject>> {
    let mut refused = Vec::new();
    let mut read = Vec::new();
    // A long document would keep the thread from its other requests.
    for outcome in app.read_aside(move |media| archives(&new, media)).await? {
        match outcome {
            Ok(archive) => read.push(archive),
            Err(error) => refused.push(error.to_string()),
        }
    }
    let mut imported = Vec::new();
    for some in read.chunks(TOGETHER) {
        let archives = some.iter().map(|one| one.archive.clone()).collect();
        let outcomes = app.store().import_all(&caller.owner, archives).await;
        for (one, outcome) in some.iter().zip(outcomes) {
            match outcome {
                Ok(()) => imported.push(ImportedConversation::of(one)),
                Err(error) => refused.push(error.to_string()),
            }
        }
    }
    if imported.is_empty() && refused.is_empty() {
        return Err(ApiError::invalid("document", "document: there is no conversation in it"));
    }
    Ok(Json(ImportObject { object: "import", imported, refused }))
}
