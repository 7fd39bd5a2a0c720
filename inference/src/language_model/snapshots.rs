//! Snapshots of what is computed of conversations.

use alloquy_core::{Error, ErrorKind, Owner, Request, Result};
use alloquy_engine::decoder::{
    HeldPrompt, Snapshot, SnapshotError, SnapshotIdentity, SnapshotModel, SnapshotSource,
};
use async_trait::async_trait;

use super::{LanguageModel, cache_owner};

impl LanguageModel {
    /// Saves what is computed of a conversation, so that another process can continue from it.
    ///
    /// The snapshot has the longest prefix of the request's prompt that a session holds, and nothing of other conversations.
    ///
    /// # Errors
    /// Those of [`LanguageModel::prepare`]; [`ErrorKind::NotFound`] when no session holds anything of it, and
    /// [`ErrorKind::Unsupported`] when the engine's sessions cannot be saved.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
    /// use alloquy_core::{ChatModel, Message, Preface, Request};
    /// use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
    ///
    /// # pollster::block_on(async {
    /// let engine = Arc::new(ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello!")]));
    /// let model = || {
    ///     let generator = Generator::new(engine.clone(), GeneratorOptions::default())?;
    ///     LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build()
    /// };
    /// let request = Request::new(Preface::default(), vec![Message::user("Hi")]);
    /// let before = model()?;
    /// before.reply(request.clone()).await?.finish().await?;
    /// let bytes = before.snapshot(&request).await?.bytes().to_vec();
    ///
    /// let after = model()?;
    /// let restored = after.restore(bytes).await?;
    /// let reply = after.reply(request).await?.finish().await?;
    /// assert_eq!(reply.cache.unwrap().cached, restored - 1, "the last unit says what comes next");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn snapshot(&self, request: &Request) -> Result<Snapshot> {
        let origin = self.origin_of(request)?;
        self.decoder.snapshot(self.prepare(request)?.prompt, origin).await
    }

    /// Returns the prompt of a request, and how much of it sessions hold. Nothing is computed.
    ///
    /// # Errors
    /// Those of [`LanguageModel::prepare`], and [`ErrorKind::Unsupported`] when the decoder does not know, or has no snapshots.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
    /// use alloquy_core::{ChatModel, Message, Preface, Request};
    /// use alloquy_inference::{Generator, LanguageModel};
    ///
    /// # pollster::block_on(async {
    /// let engine = ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello!")]);
    /// let generator = Generator::new(Arc::new(engine), 1)?;
    /// let model = LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build()?;
    /// let request = Request::new(Preface::default(), vec![Message::user("Hi")]);
    /// assert_eq!(model.held(&request).await?.held, 0);
    /// model.reply(request.clone()).await?.finish().await?;
    /// let prompt = model.held(&request).await?;
    /// assert_eq!(prompt.held, prompt.units.len());
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub async fn held(&self, request: &Request) -> Result<HeldPrompt> {
        let origin = self.origin_of(request)?;
        let prepared = self.prepare(request)?;
        let units = prepared.prompt.units.clone();
        let Some(held) = self.decoder.held(prepared.prompt, origin).await? else {
            let message = format!("model {:?} does not say what it has computed", self.model().name);
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let mut prompt = HeldPrompt::new(units, held);
        prompt.last_reply = prepared.replies.last().map(|reply| reply.units.clone());
        Ok(prompt)
    }

    /// Returns what a snapshot for a request is of.
    fn origin_of(&self, request: &Request) -> Result<SnapshotIdentity> {
        let Some(origin) = self.snapshot_origin() else {
            let message = format!("model {:?} has no identity that a snapshot could name", self.model().name);
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let owner = cache_owner::of_request(request, self.shares_cache);
        Ok(owner.map_or(origin, |owner| origin.of_owner(owner)))
    }

    /// Restores what [`LanguageModel::snapshot`] saved, and returns how many units that are. A prompt that begins with them
    /// continues from there, which its [`CacheReport`](alloquy_core::report::CacheReport) shows.
    ///
    /// # Errors
    /// Why it was refused. Then nothing has changed, and prompts are computed.
    pub async fn restore(&self, from: impl Into<SnapshotSource>) -> Result<usize, SnapshotError> {
        self.restore_for(&Owner::local(), from).await
    }

    /// Restores what [`LanguageModel::snapshot`] saved for the prompts of one owner, as [`LanguageModel::restore`] does for requests
    /// without an owner.
    ///
    /// # Errors
    /// As [`LanguageModel::restore`].
    pub async fn restore_for(
        &self,
        owner: &Owner,
        from: impl Into<SnapshotSource>,
    ) -> Result<usize, SnapshotError> {
        let origin = self.snapshot_origin().ok_or(SnapshotError::Unsupported)?;
        let origin =
            cache_owner::of_owner(owner, self.shares_cache).map_or(origin, |owner| origin.of_owner(owner));
        self.decoder.restore(from.into(), origin).await
    }

    fn snapshot_origin(&self) -> Option<SnapshotIdentity> {
        Some(SnapshotIdentity::new(self.decoder.identity()?, self.template.digest()))
    }
}

#[async_trait]
impl SnapshotModel for LanguageModel {
    fn origin(&self) -> Option<SnapshotIdentity> {
        self.snapshot_origin()
    }

    async fn held(&self, request: &Request) -> Result<HeldPrompt> {
        Self::held(self, request).await
    }

    async fn snapshot(&self, request: &Request) -> Result<Snapshot> {
        Self::snapshot(self, request).await
    }

    async fn restore_for(&self, owner: &Owner, from: SnapshotSource) -> Result<usize, SnapshotError> {
        Self::restore_for(self, owner, from).await
    }
}
