//! The model of a manager that only reads and changes stored conversations.

use alloquy_core::report::CacheReport;
use alloquy_core::{ChatModel, Error, ErrorKind, ReplyStream, Request, Result};
use async_trait::async_trait;

/// Answers nothing. Requests that only read conversations load no model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoModel;

#[async_trait]
impl ChatModel for NoModel {
    fn name(&self) -> &'static str {
        "none"
    }

    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        Err(unsupported())
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Err(unsupported())
    }
}

fn unsupported() -> Error {
    Error::new(ErrorKind::Unsupported, "this request names no model: name one of those of GET /v1/models")
}
