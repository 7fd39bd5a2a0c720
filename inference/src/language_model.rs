//! One model call: template, processor, prompt, decoder, parser. The only place that knows their order.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use alloquy_core::arguments::{ProcessorArguments, ThinkingSwitch};
use alloquy_core::grammar::GrammarEngine;
use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::{DataProcessor, ProcessorInput, PromptPart};
use alloquy_core::prompt::{PlacedReply, PreparedPrompt, Prompt, PromptCounter};
use alloquy_core::report::{CacheReport, FinishReason, TextScore, Warning};
use alloquy_core::stream::EventStream;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_core::{ChatModel, Error, ErrorKind, ReplyStream, Request, Result, SamplingOptions};
use alloquy_engine::decoder::{CacheStatistics, DecodeEventKind, DecodeRequest, Decoder, ExcludedTexts};
use async_trait::async_trait;
use futures::StreamExt;

use crate::repetition::RepetitionDetector;
use crate::role_markers::RoleMarkers;
use crate::splice::{KnownReplies, splice};
use crate::stop::{StopStrings, StopTokens};

mod beginning;
mod cache_owner;
mod calls;
mod constraining;
mod guiding;
mod marks;
mod media;
mod media_kinds;
mod reading;
mod snapshots;
mod unwanted_calls;
mod verifying;

use constraining::{Form, Prepared};
use marks::Marks;
use media::Outlines;
use reading::{Reading, ThinkingTokens, ended, read};
use unwanted_calls::UnwantedCalls;
use verifying::Verifier;

/// The [`ChatModel`] of a [`Decoder`], with the template and the processor of its model. Clones share the decoder.
///
/// Replies end at the stop strings and stop tokens of the model, of its template and of the request. Warnings about a prompt,
/// such as a thinking switch that the template ignores, are in [`PreparedPrompt::warnings`] and in the reply.
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
    shares_cache: bool,
    outlines: Arc<Outlines>,
    markers: Arc<OnceLock<RoleMarkers>>,
    /// What only calls have, found when the first reply must not call.
    call_texts: Arc<OnceLock<ExcludedTexts>>,
}

/// What a [`LanguageModel`] is made of; template and processor are required.
#[derive(Debug)]
#[must_use]
pub struct LanguageModelBuilder {
    decoder: Arc<dyn Decoder>,
    template: Option<Arc<dyn PromptTemplate>>,
    processor: Option<Arc<dyn DataProcessor>>,
    grammars: Option<Box<dyn GrammarEngine>>,
    shares_cache: bool,
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

    /// Sets whether owners share cached prompts. By default they do not: how much of a prompt is cached, and how long it takes, say
    /// whether another owner has sent its beginning. Sharing saves the computation of a system prompt that all owners have.
    ///
    /// Requests of [`Owner::local`](alloquy_core::Owner::local) and those without an [`Origin`](alloquy_core::chat_model::Origin) share among themselves.
    pub fn share_cache(mut self, shared: bool) -> Self {
        self.shares_cache = shared;
        self
    }

    /// Builds the language model.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the template or the processor is missing.
    pub fn build(self) -> Result<LanguageModel> {
        let Some(template) = self.template else {
            return Err(Error::new(ErrorKind::Invalid, "a language model needs a template"));
        };
        let Some(processor) = self.processor else {
            return Err(Error::new(ErrorKind::Invalid, "a language model needs a processor"));
        };
        Ok(LanguageModel {
            decoder: self.decoder,
            template,
            processor,
            grammars: self.grammars.map(|grammars| Arc::new(Prepared::new(grammars))),
            shares_cache: self.shares_cache,
            outlines: Arc::default(),
            markers: Arc::default(),
            call_texts: Arc::default(),
        })
    }
}

impl LanguageModel {
    /// Starts building a language model over a decoder: a [`Generator`](crate::Generator) over an engine, or any other.
    pub fn builder(decoder: impl Decoder + 'static) -> LanguageModelBuilder {
        LanguageModelBuilder {
            decoder: Arc::new(decoder),
            template: None,
            processor: None,
            grammars: None,
            shares_cache: false,
        }
    }

    /// Returns the description of the model.
    pub fn model(&self) -> &ModelInfo {
        self.decoder.model()
    }

    /// Returns the sampling options for what a request leaves open, as the model's authors recommend. The stop strings and stop
    /// tokens of the model's family, of the template and of a request add up.
    pub fn sampling(&self) -> SamplingOptions {
        let stop = self.processor.stop_strings();
        let family = SamplingOptions { stop, ..SamplingOptions::default() };
        let mut format = SamplingOptions { stop: self.template.stop_strings(), ..SamplingOptions::default() };
        for token in self.template.stop_tokens() {
            format.stop_tokens.push(vec![token]);
        }
        self.model().sampling.clone().or(&family).or(&format)
    }

    /// Returns what the decoder keeps for later prompts, and how much of the prompts so far was reused.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] when the decoder has ended, [`ErrorKind::Unsupported`] where it reports no statistics.
    pub async fn cache_statistics(&self) -> Result<CacheStatistics> {
        let Some(statistics) = self.decoder.cache_statistics().await? else {
            let message = format!("model {:?} reports no cache statistics", self.model().name);
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        Ok(statistics)
    }

    /// Returns the processor.
    pub fn processor(&self) -> &dyn DataProcessor {
        &*self.processor
    }

    /// Returns the tokenizer, which has the texts of tokens, such as those of [`Reply::logprobs`](alloquy_core::Reply::logprobs).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use alloquy_inference::{Generator, LanguageModel};
    /// use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
    ///
    /// let generator = Generator::new(Arc::new(ScriptedEngine::new([])), 1)?;
    /// let model = LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build()?;
    /// assert_eq!(model.tokenizer().bytes(72), Some(b"H".to_vec()));
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn tokenizer(&self) -> &dyn Tokenizer {
        self.decoder.tokenizer()
    }

    /// Identifies the counts of positions: models with the same identity count a prompt alike.
    fn counting_identity(&self) -> Digest {
        let ModelInfo { name, context_length, vocabulary, .. } = self.model();
        let template = self.template.digest();
        let processor = self.processor.name();
        Digest::of(format!("{name:?} {context_length} {vocabulary} {template} {processor:?}").as_bytes())
    }

    /// Makes the prompt of a request without running the model.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use alloquy_core::{Message, Preface, Request};
    /// use alloquy_inference::{Generator, LanguageModel};
    /// use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
    ///
    /// let generator = Generator::new(Arc::new(ScriptedEngine::new([])), 1)?;
    /// let model = LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build()?;
    /// let prompt = model.prepare(&Request::new(Preface::default(), vec![Message::user("Hi")]))?;
    /// assert_eq!(prompt.rendered, "<user>Hi<end><assistant>");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the template, the processor, the tokenizer and the engine's media processor;
    /// [`ErrorKind::Unsupported`] for media that the model does not take.
    pub fn prepare(&self, request: &Request) -> Result<PreparedPrompt> {
        self.prepared(request).map(|made| made.prompt)
    }

    /// Makes the prompt of a request, with what is known of the earlier replies in it.
    fn prepared(&self, request: &Request) -> Result<Made> {
        let arguments = request.joined_arguments();
        let source = source(request, &arguments);
        media::check(&*self.decoder, source)?;
        let input = self.processor.template_input(source)?;
        let rendered = self.template.render(&input)?;
        let decoder = &*self.decoder;
        let mut warnings = self.warnings(&input, &rendered, source);
        let parts = self.processor.prompt_parts(&rendered, source)?;
        let parts = self.outlines.expand(decoder, parts, &mut warnings)?;
        let mut prompt = self.outlines.lower(decoder, &parts)?;
        let (known, replies) = Self::spliced(&mut prompt, request, decoder)?;
        let media = self.outlines.placed(decoder, &prompt)?;
        let template = self.template.digest();
        let context = self.model().context_length;
        let mut prepared = PreparedPrompt::new(rendered, parts, prompt, template, context);
        prepared.media = media;
        prepared.replies = replies;
        prepared.template_name = self.template.name_for(&input).map(str::to_owned);
        prepared.warnings = warnings;
        let begun = self.begin(request, &mut prepared)?;
        Ok(Made { prompt: prepared, known, begun })
    }

    /// Puts the sampled ids of earlier replies into the prompt: those that the request lists, else those of the path.
    fn spliced(
        prompt: &mut Prompt,
        request: &Request,
        decoder: &dyn Decoder,
    ) -> Result<(KnownReplies, Vec<PlacedReply>)> {
        let tokenizer = decoder.tokenizer();
        let lost = request.path.has_lost();
        if request.replies.is_empty() {
            return splice(prompt, request.path.sampled(), lost, tokenizer);
        }
        splice(prompt, request.replies.iter().map(Vec::as_slice), lost, tokenizer)
    }

    fn warnings(&self, input: &TemplateInput, rendered: &str, source: ProcessorInput<'_>) -> Vec<Warning> {
        let mut warnings = self.model().warnings.clone();
        // A processor that has switched thinking in its own way left no variable for the template.
        let variables = ThinkingSwitch::VARIABLES.iter().filter(|name| input.extra.contains_key(**name));
        let variables: Vec<_> = variables.collect();
        let is_switched = source.arguments.thinking.is_some() && !variables.is_empty();
        if is_switched && !variables.iter().any(|name| self.template.reads(input, name)) {
            warnings.push(Warning::ThinkingSwitchIgnored);
        }
        warnings.extend(self.template.warnings(input));
        warnings.extend(self.processor.warnings(rendered, source));
        let markers = self.markers.get_or_init(|| RoleMarkers::of(&self.template, self.model()));
        warnings.extend(markers.found_in(input));
        warnings
    }

    /// Returns how the reply is sampled: as the request says, else by default.
    fn options(&self, request: &Request) -> SamplingOptions {
        request.sampling.clone().or(&self.sampling())
    }

    /// Returns the tokens of a text that follows a prompt.
    fn target(&self, prepared: &PreparedPrompt, text: &str) -> Result<Vec<TokenId>> {
        // The prompt is encoded again: it has earlier replies as they were sampled, which may be more tokens or fewer.
        let before = self.outlines.lower(&*self.decoder, &prepared.parts)?.units.len();
        let mut parts = prepared.parts.clone();
        parts.push(PromptPart::Literal(text.to_owned()));
        let whole = self.outlines.lower(&*self.decoder, &parts)?;
        Ok(whole.tokens().skip(before).flatten().collect())
    }

    /// Returns how many tokens the reply may have.
    fn limit(&self, prompt: &PreparedPrompt, asked: Option<usize>) -> Result<Limit> {
        let context = prompt.context;
        let length = prompt.positions();
        let room = context.saturating_sub(length);
        if room == 0 {
            let message = format!(
                "the prompt has {length} tokens and the model's context {context}: no room for a reply"
            );
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        if let Some(asked) = asked
            && asked <= room
        {
            return Ok(Limit { tokens: asked, reached: FinishReason::Length, capped: None });
        }
        let capped = asked.map(|asked| Warning::MaxTokensCapped { asked, room });
        Ok(Limit { tokens: room, reached: FinishReason::ContextFull, capped })
    }
}

#[async_trait]
impl ChatModel for LanguageModel {
    fn name(&self) -> &str {
        &self.model().name
    }

    fn takes_beginnings(&self) -> bool {
        true
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let asked = Instant::now();
        let mut options = self.options(&request);
        let Made { prompt: mut prepared, known, begun } = self.prepared(&request)?;
        let limit = self.limit(&prepared, options.max_tokens)?;
        options.validate()?;
        // The decoder does not see it: loops are found here, for every decoder.
        let repetition = options.repetition_detection.take().unwrap_or(RepetitionDetector::DEFAULT_TIMES);
        let guided = self.guided(&request, &mut prepared)?;
        let excluded = self.excluded(&request);
        let arguments = request.joined_arguments();
        let preface = Self::callable(&request);
        let readable = ProcessorInput { preface: &preface, ..source(&request, &arguments) };
        for name in self.decoder.ignored(&options) {
            prepared.warnings.push(Warning::OptionIgnored { name: name.to_owned() });
        }
        let mut reading = Reading {
            asked,
            marks: Marks::default(),
            detokenizer: self.detokenizer(&prepared.prompt, request.ending, &guided)?,
            form: if guided.grammar.is_some() { Form::Open } else { Form::Free },
            verifier: Verifier::of(&guided, &self.decoder),
            repetition: RepetitionDetector::new(repetition),
            unwanted: UnwantedCalls::of(&excluded, &guided, &*self.decoder),
            stop_tokens: StopTokens::new(options.stop_tokens.clone()),
            stops: StopStrings::new(options.stop.clone()),
            parser: self.processor.reply_parser(&prepared.rendered, readable),
            context: prepared.context,
            media: prepared.media,
            known,
            sampled: 0,
            begun: 0,
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
            warnings: limit.capped.into_iter().chain(prepared.warnings).collect(),
        };
        let owner = cache_owner::of_request(&request, self.shares_cache).map(str::to_owned);
        let asked = DecodeRequest::new(prepared.prompt, limit.tokens).sampling(options).guided(guided);
        let tokens = self.decoder.decode(asked.excluding(excluded).owner(owner));
        let first = reading.begin(begun)?;
        Ok(EventStream::new(|emit| read(reading, first, tokens, request.stop, emit)))
    }

    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        self.prepare(request).map(Some)
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        let Made { prompt: PreparedPrompt { prompt, .. }, known, .. } = self.prepared(&request)?;
        if prompt.units.is_empty() {
            return Ok(None);
        }
        let owner = cache_owner::of_request(&request, self.shares_cache).map(str::to_owned);
        let mut events = self.decoder.decode(DecodeRequest::new(prompt, 0).owner(owner));
        let mut warmed = None;
        while let Some(event) = events.next().await {
            match event?.kind {
                DecodeEventKind::Prefilled(report) | DecodeEventKind::Cached(report) => {
                    warmed = Some(known.explain(report));
                }
                DecodeEventKind::Finished(_) => return Ok(warmed),
                _ => {}
            }
        }
        Err(ended())
    }

    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<TextScore>> {
        let prepared = self.prepare(&request)?;
        let tokens =
            targets.iter().map(|target| self.target(&prepared, target)).collect::<Result<Vec<_>>>()?;
        let logprobs = self.decoder.score(prepared.prompt, tokens).await?;
        Ok(targets.iter().zip(logprobs).map(|(text, logprobs)| TextScore::new(text, logprobs)).collect())
    }
}

impl PromptCounter for LanguageModel {
    fn units(&self, request: &Request) -> Result<usize> {
        Ok(self.prepare(request)?.positions())
    }

    fn identity(&self) -> Option<Digest> {
        Some(self.counting_identity())
    }
}

fn source<'a>(request: &'a Request, arguments: &'a ProcessorArguments) -> ProcessorInput<'a> {
    ProcessorInput { preface: &request.preface, path: &request.path, ending: request.ending, arguments }
}

/// A prompt, and what only the reply to it needs.
struct Made {
    prompt: PreparedPrompt,
    known: KnownReplies,
    /// The ids at the end of the prompt that belong to the reply.
    begun: Vec<TokenId>,
}

#[derive(Clone, Debug)]
struct Limit {
    tokens: usize,
    /// The reason to end when that many were sampled.
    reached: FinishReason,
    capped: Option<Warning>,
}
