//! A model with guards around it, for questions that belong to no turn: those of a flow's conditions.

use std::sync::Arc;

use alloquy::core::middleware::{Middleware, Next};
use alloquy::core::report::CacheReport;
use alloquy::core::{ChatModel, ReplyStream, Request, Result};
use async_trait::async_trait;

use crate::guards::Guards;
use crate::open_model::OpenModel;

/// A model with guards around it.
#[derive(Debug)]
pub(crate) struct GuardedModel {
    model: OpenModel,
    guards: Vec<Arc<dyn Middleware>>,
}

impl GuardedModel {
    pub(crate) fn new(model: OpenModel, guards: &Guards) -> Self {
        Self { guards: guards.stack(&model, Vec::new()), model }
    }
}

#[async_trait]
impl ChatModel for GuardedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn takes_beginnings(&self) -> bool {
        self.model.takes_beginnings()
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        Next::new(&self.guards, &self.model).call(request).await
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}
