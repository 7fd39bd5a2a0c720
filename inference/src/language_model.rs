//! One model call: template, processor, prompt, session, parser. The only place that knows their order.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use alloquy_core::arguments::{ProcessorArguments, ThinkingSwitch};
use alloquy_core::grammar::Constraints;
use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::{DataProcessor, PromptPart, PromptSource};
use alloquy_core::prompt::{PreparedPrompt, Prompt, PromptLength};
use alloquy_core::report::{CacheReport, Degradation, FinishReason, Score};
use alloquy_core::stream::Run;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ChatModel, Error, ErrorKind, ReplyStream, Request, Result, SamplingOptions};
use alloquy_engine::decoder::{
    CacheStatistics, DecodeEventKind, DecodeRequest, Decoder, Snapshot, SnapshotOrigin, SnapshotRefusal,
    SnapshotSource,
};
use async_trait::async_trait;
use futures::StreamExt;

use crate::role_markers::RoleMarkers;
use crate::splice::{KnownReplies, splice};
use crate::stop::{StopStrings, StopTokens};

mod constraining;
mod guiding;
mod marks;
mod media;
mod reading;
mod verifying;

use constraining::{Form, Prepared};
use marks::Marks;
use media::Outlines;
use reading::{Reading, ThinkingTokens, ended, read};
use verifying::Verifier;

/// The [`ChatModel`] of a [`Decoder`]: with its template and its processor. Clones share the decoder.
///
/// ```
/// use std::sync::Arc;
/// use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
/// use alloquy_core::{ChatModel, Message, Preface, Request};
/// use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
///
/// # pollster::block_on(async {
/// let engine = ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello!")]);
/// let generator = Generator::new(Arc::new(engine), GeneratorOptions::default())?;
/// let model = LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build()?;
/// let reply = model.reply(Request::new(Preface::default(), vec![Message::user("Hi")])).await?.finish().await?;
/// assert_eq!(reply.message.text(), "Hello!");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LanguageModel {
    decoder: Arc<dyn Decoder>,
    template: Arc<dyn PromptTemplate>,
    processor: Arc<dyn DataProcessor>,
    grammars: Option<Arc<Prepared>>,
    outlines: Arc<Outlines>,
    markers: Arc<OnceLock<RoleMarkers>>,
}

/// What a [`LanguageModel`] is made of; template and processor are required.
#[derive(Debug)]
#[must_use]
pub struct LanguageModelBuilder {
    decoder: Arc<dyn Decoder>,
    template: Option<Arc<dyn PromptTemplate>>,
    processor: Option<Arc<dyn DataProcessor>>,
    grammars: Option<Box<dyn Constraints>>,
}

impl LanguageModelBuilder {
    /// Sets the chat template.
    pub fn template(mut self, template: impl PromptTemplate + 'static) -> Self {
        self.template = Some(Arc::new(template));
        self
    }

    /// Sets the processor.
    pub fn processor(mut self, processor: impl DataProcessor + 'static) -> Self {
        self.processor = Some(Arc::new(processor));
        self
    }

    /// Builds the language model.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the template or the processor is missing.
    pub fn build(self) -> Result<LanguageModel> {
        let missing = |what: &str| Error::new(ErrorKind::Invalid, format!("a language model needs a {what}"));
        let template = self.template.ok_or_else(|| missing("template"))?;
        let processor = self.processor.ok_or_else(|| missing("processor"))?;
        Ok(LanguageModel {
            decoder: self.decoder,
            template,
            processor,
            grammars: self.grammars.map(|grammars| Arc::new(Prepared::new(grammars))),
            outlines: Arc::default(),
            markers: Arc::default(),
        })
    }
}

impl LanguageModel {
    /// Starts building a language model over a decoder: a [`Generator`](crate::Generator) over an engine, or any other.
    pub fn builder(decoder: impl Decoder + 'static) -> LanguageModelBuilder {
        LanguageModelBuilder { decoder: Arc::new(decoder), template: None, processor: None, grammars: None }
    }

    /// Returns what the model says of itself.
    pub fn model(&self) -> &ModelInfo {
        self.decoder.model()
    }

    /// Returns how replies are sampled and what ends them, where a request does not say otherwise: as the model's authors
    /// recommend. The stops of the model's family and of the template, and those of a request, add up.
    pub fn sampling(&self) -> SamplingOptions {
        let stop = self.processor.stop_strings();
        let family = SamplingOptions { stop, ..SamplingOptions::default() };
        let mut format = SamplingOptions { stop: self.template.stop_strings(), ..SamplingOptions::default() };
        for token in self.template.stop_tokens() {
            format.stop_tokens.push(vec![token]);
        }
        self.model().sampling.clone().or(&family).or(&format)
    }

    /// Returns what the decoder keeps for prompts to come, and what became of those so far.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] when what computes has ended, [`ErrorKind::Unsupported`] where the decoder does not know.
    pub async fn cache_statistics(&self) -> Result<CacheStatistics> {
        let unknown = || {
            let message = format!("what model {:?} keeps of prompts is not known here", self.model().name);
            Error::new(ErrorKind::Unsupported, message)
        };
        self.decoder.cache_statistics().await?.ok_or_else(unknown)
    }

    /// Returns the processor.
    pub fn processor(&self) -> &dyn DataProcessor {
        &*self.processor
    }

    /// What tells its prompts' lengths from those of other rounds.
    fn counting_identity(&self) -> Digest {
        let ModelInfo { name, context_length, vocabulary, .. } = self.model();
        let (template, processor) = (self.template.digest(), self.processor.name());
        Digest::of(format!("{name:?} {context_length} {vocabulary} {template} {processor:?}").as_bytes())
    }

    /// Makes the prompt of a request without running the model.
    ///
    /// # Errors
    /// Those of the template, the processor, the tokenizer and the engine's media processor;
    /// [`ErrorKind::Unsupported`] for media that the model does not take.
    pub fn prepare(&self, request: &Request) -> Result<PreparedPrompt> {
        self.prepared(request).map(|(prepared, _)| prepared)
    }

    /// Makes the prompt of a request, with what is known of the earlier replies in it.
    fn prepared(&self, request: &Request) -> Result<(PreparedPrompt, KnownReplies)> {
        let arguments = request.joined_arguments();
        let source = source(request, &arguments);
        media::check(&*self.decoder, source)?;
        let input = self.processor.template_input(source)?;
        let rendered = self.template.render(&input)?;
        let decoder = &*self.decoder;
        let mut degradations = self.degradations(&input, &rendered, source);
        let parts = self.processor.prompt_parts(&rendered, source)?;
        let parts = self.outlines.expand(decoder, parts, &mut degradations)?;
        let mut prompt = self.outlines.lower(decoder, &parts)?;
        let known = Self::spliced(&mut prompt, request, decoder)?;
        let media = self.outlines.placed(decoder, &prompt)?;
        let (template, context) = (self.template.digest(), self.model().context_length);
        let mut prepared = PreparedPrompt::new(rendered, parts, prompt, template, context);
        prepared.media = media;
        prepared.template_name = self.template.name_for(&input).map(str::to_owned);
        prepared.degradations = degradations;
        Ok((prepared, known))
    }

    /// Puts the ids that replies were sampled as into their places: those of the path, or those that are given besides.
    fn spliced(prompt: &mut Prompt, request: &Request, decoder: &dyn Decoder) -> Result<KnownReplies> {
        let (tokenizer, lost) = (decoder.tokenizer(), request.path.has_lost());
        if request.replies.is_empty() {
            return splice(prompt, request.path.sampled(), lost, tokenizer);
        }
        splice(prompt, request.replies.iter().map(Vec::as_slice), lost, tokenizer)
    }

    /// Writes down what is computed of a conversation, so that another process can go on from it.
    ///
    /// It has the longest beginning of the request's prompt that a session holds, and nothing of other conversations.
    ///
    /// # Errors
    /// Those of [`LanguageModel::prepare`]; [`ErrorKind::NotFound`] when no session holds anything of it, and
    /// [`ErrorKind::Unsupported`] when the engine's sessions cannot be written down.
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
    /// assert_eq!(reply.cache.unwrap().reused, restored - 1, "the last unit says what comes next");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn snapshot(&self, request: &Request) -> Result<Snapshot> {
        let unknown = || {
            let message = format!("model {:?} does not say what tells it from others", self.model().name);
            Error::new(ErrorKind::Unsupported, message)
        };
        let origin = self.snapshot_origin().ok_or_else(unknown)?;
        self.decoder.snapshot(self.prepare(request)?.prompt, origin).await
    }

    /// Takes back what [`LanguageModel::snapshot`] wrote down, and returns how many units are held now that were not computed
    /// here. A prompt that begins with them goes on from there, which its [`CacheReport`] shows.
    ///
    /// # Errors
    /// Why it was refused; nothing has changed then, and prompts are computed.
    pub async fn restore(&self, from: impl Into<SnapshotSource>) -> Result<usize, SnapshotRefusal> {
        let origin = self.snapshot_origin().ok_or(SnapshotRefusal::Unsupported)?;
        self.decoder.restore(from.into(), origin).await
    }

    fn snapshot_origin(&self) -> Option<SnapshotOrigin> {
        Some(SnapshotOrigin::new(self.decoder.identity()?, self.template.digest()))
    }

    fn degradations(
        &self,
        input: &TemplateInput,
        rendered: &str,
        source: PromptSource<'_>,
    ) -> Vec<Degradation> {
        // A processor that has switched thinking in its own way left no variable for the template.
        let mut given =
            ThinkingSwitch::VARIABLES.iter().filter(|name| input.extra.contains_key(**name)).peekable();
        let switched = source.arguments.thinking.is_some() && given.peek().is_some();
        let ignored = switched && !given.any(|name| self.template.reads(input, name));
        let ignored = ignored.then_some(Degradation::ThinkingSwitchIgnored);
        let of_template = self.template.degradations(input);
        let of_processor = self.processor.degradations(rendered, source);
        let of_model = self.model().degradations.iter().cloned();
        let markers = self.markers.get_or_init(|| RoleMarkers::of(&self.template, self.model()));
        let forged = markers.found_in(input);
        of_model.chain(ignored).chain(of_template).chain(of_processor).chain(forged).collect()
    }

    /// How the reply is sampled: as the request asks, else by default.
    fn options(&self, request: &Request) -> SamplingOptions {
        request.sampling.clone().or(&self.sampling())
    }

    /// The tokens of a text that stands behind a prompt.
    fn target(&self, prepared: &PreparedPrompt, text: &str) -> Result<Vec<TokenId>> {
        // Lowered anew: the prompt has earlier replies as they were sampled, which may take more tokens or fewer.
        let before = self.outlines.lower(&*self.decoder, &prepared.parts)?.units.len();
        let mut parts = prepared.parts.clone();
        parts.push(PromptPart::Literal(text.to_owned()));
        let whole = self.outlines.lower(&*self.decoder, &parts)?;
        Ok(whole.tokens().skip(before).flatten().collect())
    }

    /// How many tokens the reply may have.
    fn limit(&self, prompt: &PreparedPrompt, asked: Option<usize>) -> Result<Limit> {
        let (context, length) = (prompt.context, prompt.positions());
        let room = context.saturating_sub(length);
        if room == 0 {
            let message = format!(
                "the prompt has {length} tokens and the model's context {context}: no room for a reply"
            );
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        Ok(match asked {
            Some(asked) if asked <= room => {
                Limit { tokens: asked, reached: FinishReason::Length, capped: None }
            }
            asked => Limit {
                tokens: room,
                reached: FinishReason::ContextFull,
                capped: asked.map(|asked| Degradation::MaxTokensCapped { asked, room }),
            },
        })
    }
}

#[async_trait]
impl ChatModel for LanguageModel {
    fn name(&self) -> &str {
        &self.model().name
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let asked = Instant::now();
        let options = self.options(&request);
        let (mut prepared, known) = self.prepared(&request)?;
        let limit = self.limit(&prepared, options.max_tokens)?;
        options.validate()?;
        let guided = self.guided(&request, &mut prepared)?;
        let ignored = self.decoder.ignored(&options).into_iter();
        prepared
            .degradations
            .extend(ignored.map(|name| Degradation::OptionIgnored { name: name.to_owned() }));
        let reading = Reading {
            asked,
            marks: Marks::default(),
            detokenizer: self.detokenizer(&prepared.prompt, request.ending, &guided)?,
            form: if guided.grammar.is_some() { Form::Open } else { Form::Free },
            verifier: Verifier::of(&guided, &self.decoder),
            stop_tokens: StopTokens::new(options.stop_tokens.clone()),
            stops: StopStrings::new(options.stop.clone()),
            parser: self
                .processor
                .reply_parser(&prepared.rendered, source(&request, &request.joined_arguments())),
            context: prepared.context,
            media: prepared.media,
            known,
            sampled: 0,
            tokens: Vec::new(),
            ends: Vec::new(),
            length: 0,
            logprobs: Vec::new(),
            thinking: ThinkingTokens::default(),
            cache: None,
            speculation: None,
            finish: None,
            stop_string: None,
            error: None,
            seed: None,
            reached: limit.reached,
            template: prepared.template,
            degradations: limit.capped.into_iter().chain(prepared.degradations).collect(),
        };
        let asked = DecodeRequest::new(prepared.prompt, limit.tokens).sampling(options).guided(guided);
        let tokens = self.decoder.decode(asked);
        Ok(Run::new(|emit| read(reading, tokens, request.stop, emit)))
    }

    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        self.prepare(request).map(Some)
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        let (PreparedPrompt { prompt, .. }, known) = self.prepared(&request)?;
        if prompt.units.is_empty() {
            return Ok(None);
        }
        let mut events = self.decoder.decode(DecodeRequest::new(prompt, 0));
        while let Some(event) = events.next().await {
            if let DecodeEventKind::Prefilled(report) = event?.kind {
                return Ok(Some(known.explain(report)));
            }
        }
        Err(ended())
    }

    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<Score>> {
        let prepared = self.prepare(&request)?;
        let tokens =
            targets.iter().map(|target| self.target(&prepared, target)).collect::<Result<Vec<_>>>()?;
        let logprobs = self.decoder.score(prepared.prompt, tokens).await?;
        let score = |(text, tokens): (&String, _)| Score::new(text, tokens);
        Ok(targets.iter().zip(logprobs).map(score).collect())
    }
}

impl PromptLength for LanguageModel {
    fn units(&self, request: &Request) -> Result<usize> {
        Ok(self.prepare(request)?.positions())
    }

    fn identity(&self) -> Option<Digest> {
        Some(self.counting_identity())
    }
}

fn source<'a>(request: &'a Request, arguments: &'a ProcessorArguments) -> PromptSource<'a> {
    PromptSource { preface: &request.preface, path: &request.path, ending: request.ending, arguments }
}

#[derive(Clone, Debug)]
struct Limit {
    tokens: usize,
    /// What it means when that many were sampled.
    reached: FinishReason,
    capped: Option<Degradation>,
}
