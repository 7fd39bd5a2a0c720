//! A model whose calls are measured and limited, for what asks it without a conversation.

use std::sync::Arc;

use alloquy_core::chat_model::{ChatModel, Origin};
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::CacheReport;
use alloquy_core::{ReplyStream, Request, Result};
use async_trait::async_trait;

/// A model with middleware before it.
#[derive(Debug)]
pub(crate) struct LimitedModel {
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    /// Whose requests are counted.
    pub(crate) origin: Origin,
}

#[async_trait]
impl ChatModel for LimitedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn names(&self) -> Vec<&str> {
        self.model.names()
    }

    fn takes_beginnings(&self) -> bool {
        self.model.takes_beginnings()
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let request = request.origin(self.origin.clone());
        Next::new(&self.middleware, &*self.model).call(request).await
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        self.model.warm(request).await
    }
}
