//! A round that is watched: what it is asked, what was held of that, and what it reports.

use std::sync::{Arc, Mutex};

use alloquy_core::report::CacheReport;
use alloquy_core::stream::EventStream;
use alloquy_core::{ChatModel, Reply, ReplyStream, Request, Result};
use alloquy_inference::LanguageModel;
use async_trait::async_trait;
use futures::StreamExt;

use crate::draws::Draws;
use crate::engine::Replay;
use crate::figures::{Figures, Seen};
use crate::setting::Setting;
use crate::spelling::Spelling;
use crate::writer::{Plan, Writer};

#[derive(Debug)]
pub(crate) struct Watched {
    round: LanguageModel,
    engine: Replay,
    setting: Setting,
    writer: Writer,
    spelling: Spelling,
    draws: Mutex<Draws>,
    /// How the next replies are made; text where nothing is said.
    plans: Mutex<Vec<Plan>>,
    pub(crate) figures: Arc<Mutex<Figures>>,
}

impl Watched {
    pub(crate) fn new(
        round: LanguageModel,
        engine: Replay,
        setting: Setting,
        writer: Writer,
        draws: Draws,
    ) -> Self {
        let spelling = Spelling::new(&setting.tokenizer);
        let figures = Arc::new(Mutex::new(Figures::of(&setting)));
        Self {
            round,
            engine,
            setting,
            writer,
            spelling,
            draws: draws.into(),
            plans: Mutex::default(),
            figures,
        }
    }

    /// Sets how the next replies are made.
    pub(crate) fn plan(&self, mut plans: Vec<Plan>) {
        plans.reverse();
        *self.plans.lock().unwrap() = plans;
    }

    pub(crate) fn calls(&self) -> bool {
        self.writer.calls
    }
}

#[async_trait]
impl ChatModel for Watched {
    fn name(&self) -> &str {
        self.round.name()
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let prepared = self.round.prepare(&request)?;
        let prompt: Vec<_> = prepared.prompt.tokens().map(Option::unwrap).collect();
        let plan = self.plans.lock().unwrap().pop().unwrap_or(Plan::Text);
        let tokens = {
            let draws = &mut *self.draws.lock().unwrap();
            let text = self.writer.reply(&self.setting, plan, &prepared.rendered, draws);
            self.spelling.spelled(&text, &self.setting.tokenizer, draws)
        };
        // What is computed of a reply that was cancelled may still be on its way; it is there before this is answered.
        self.round.cache_statistics().await?;
        let held = self.engine.held(&prompt);
        let respelled = self.engine.respelled(&prompt, held);
        self.engine.will_say(prompt.len(), tokens);
        let mut stream = self.round.reply(request).await?;
        let figures = Arc::clone(&self.figures);
        Ok(EventStream::new(move |mut emit| async move {
            while let Some(delta) = stream.next().await {
                emit.send(delta).await;
            }
            let reply: Reply = stream.finish().await?;
            figures.lock().unwrap().count(Seen { held, respelled, reply: &reply });
            Ok(reply)
        }))
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        self.round.warm(request).await
    }
}
