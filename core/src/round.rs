//! One model call: template, processor, prompt, session, parser. The only place that knows their order.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;

use crate::arguments::{ProcessorArguments, SWITCHES};
use crate::chat_model::{
    CacheReport, ChatModel, Degradation, FinishReason, Reply, ReplyStream, Request, Usage,
};
use crate::engine::{Engine, ModelInfo};
use crate::generator::{Generation, Generator, TokenStream};
use crate::media::Digest;
use crate::message::Message;
use crate::processor::{DataProcessor, Delta, PromptPart, PromptSource, ReplyParser};
use crate::prompt::Prompt;
use crate::sampling::{Sampler, SamplingOptions};
use crate::stop::{StopSignal, StopStrings};
use crate::stream::{Emit, Run};
use crate::template::{Ending, PromptTemplate, TemplateInput};
use crate::tokenizer::{Detokenizer, TokenId};
use crate::{Error, ErrorKind, Result};

/// How many KV caches an engine keeps unless told otherwise.
const SESSIONS: usize = 4;

/// The local [`ChatModel`]: an engine with its template and its processor. Clones share the engine's thread.
///
/// ```
/// use std::sync::Arc;
/// use alloquy_core::testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
/// use alloquy_core::{ChatModel, Message, Preface, Request, Round};
///
/// # pollster::block_on(async {
/// let engine = ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello!")]);
/// let round = Round::builder(Arc::new(engine)).template(TaggedTemplate).processor(TaggedProcessor).build()?;
/// let reply = round.reply(Request::new(Preface::default(), vec![Message::user("Hi")])).await?.finish().await?;
/// assert_eq!(reply.message.text(), "Hello!");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Round {
    engine: Arc<dyn Engine>,
    template: Arc<dyn PromptTemplate>,
    processor: Arc<dyn DataProcessor>,
    generator: Generator,
}

/// What a [`Round`] is made of; template and processor are required.
#[derive(Debug)]
#[must_use]
pub struct RoundBuilder {
    engine: Arc<dyn Engine>,
    template: Option<Arc<dyn PromptTemplate>>,
    processor: Option<Arc<dyn DataProcessor>>,
    sessions: usize,
}

impl RoundBuilder {
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

    /// Keeps at most this many KV caches; 4 unless set.
    pub fn sessions(mut self, sessions: usize) -> Self {
        self.sessions = sessions;
        self
    }

    /// Starts the engine's thread.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the template or the processor is missing.
    pub fn build(self) -> Result<Round> {
        let missing = |what: &str| Error::new(ErrorKind::Invalid, format!("a round needs a {what}"));
        Ok(Round {
            template: self.template.ok_or_else(|| missing("template"))?,
            processor: self.processor.ok_or_else(|| missing("processor"))?,
            generator: Generator::spawn(Arc::clone(&self.engine), self.sessions)?,
            engine: self.engine,
        })
    }
}

/// A prompt at each of its stages, as [`Round::prepare`] makes it.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedPrompt {
    /// What the template printed, as the processor marked it.
    pub rendered: String,
    /// The parts that the processor cut it into.
    pub parts: Vec<PromptPart>,
    /// The units that a session is fed.
    pub prompt: Prompt,
    /// The digest of the template.
    pub template: Digest,
    /// Which of the template's several rendered, such as `tool_use`; `None` where there is one.
    pub template_name: Option<String>,
    /// What the arguments ask for and the prompt does not have, and the control tokens that they let through.
    pub degradations: Vec<Degradation>,
}

impl Round {
    /// Starts building a round on `engine`.
    pub fn builder(engine: Arc<dyn Engine>) -> RoundBuilder {
        RoundBuilder { engine, template: None, processor: None, sessions: SESSIONS }
    }

    /// Returns what the model says of itself.
    pub fn model(&self) -> &ModelInfo {
        self.engine.model()
    }

    /// Returns the processor.
    pub fn processor(&self) -> &dyn DataProcessor {
        &*self.processor
    }

    /// Makes the prompt of a request without running the model.
    ///
    /// # Errors
    /// Those of the template, the processor and the tokenizer.
    pub fn prepare(&self, request: &Request) -> Result<PreparedPrompt> {
        let arguments = request.joined_arguments();
        let source = source(request, &arguments);
        let input = self.processor.template_input(source)?;
        let rendered = self.template.render(&input)?;
        let parts = self.processor.prompt_parts(&rendered, source)?;
        Ok(PreparedPrompt {
            prompt: Prompt::lower(&parts, self.engine.tokenizer())?,
            parts,
            template: self.template.digest(),
            template_name: self.template.name_for(&input).map(str::to_owned),
            degradations: self.degradations(&input, &rendered, source),
            rendered,
        })
    }

    fn degradations(
        &self,
        input: &TemplateInput,
        rendered: &str,
        source: PromptSource<'_>,
    ) -> Vec<Degradation> {
        // A processor that has switched thinking in its own way left no variable for the template.
        let mut given = SWITCHES.iter().filter(|name| input.extra.contains_key(**name)).peekable();
        let switched = source.arguments.thinking.is_some() && given.peek().is_some();
        let ignored = switched && !given.any(|name| self.template.reads(input, name));
        let ignored = ignored.then_some(Degradation::ThinkingSwitchIgnored);
        ignored.into_iter().chain(self.processor.degradations(rendered, source)).collect()
    }

    fn options(&self, request: &Request) -> SamplingOptions {
        let stop = self.processor.stop_strings();
        let family = SamplingOptions { stop, ..SamplingOptions::default() };
        request.sampling.clone().or(&self.model().sampling).or(&family)
    }

    /// Starts decoding a reply. One that goes on inside a text is decoded behind that text, for SentencePiece prints
    /// no space where a text begins.
    fn detokenizer(&self, prompt: &Prompt, ending: Ending) -> Result<Box<dyn Detokenizer>> {
        let mut detokenizer = self.engine.tokenizer().detokenizer();
        if ending == Ending::Continue {
            let special = |token: &TokenId| self.model().specials.iter().any(|special| special.id == *token);
            for token in prompt.tokens().flatten().filter(|token| !special(token)) {
                detokenizer.push(token)?;
            }
        }
        Ok(detokenizer)
    }

    /// How many tokens the reply may have.
    fn limit(&self, prompt: &Prompt, asked: Option<usize>) -> Result<Limit> {
        let context = self.model().context_length;
        let length = prompt.units.len();
        let room = context.saturating_sub(length);
        if room == 0 {
            let message = format!(
                "the prompt has {length} units and the model's context {context}: no room for a reply"
            );
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        Ok(match asked {
            Some(asked) if asked <= room => {
                Limit { tokens: asked, reached: FinishReason::MaxTokens, capped: None }
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
impl ChatModel for Round {
    fn name(&self) -> &str {
        &self.model().name
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let options = self.options(&request);
        let prepared = self.prepare(&request)?;
        let limit = self.limit(&prepared.prompt, options.max_tokens)?;
        let sampler = Sampler::new(&options)?;
        let reading = Reading {
            detokenizer: self.detokenizer(&prepared.prompt, request.ending)?,
            stops: StopStrings::new(options.stop),
            parser: self
                .processor
                .reply_parser(&prepared.rendered, source(&request, &request.joined_arguments())),
            sampled: 0,
            tokens: Vec::new(),
            ends: Vec::new(),
            length: 0,
            cache: None,
            finish: None,
            seed: sampler.seed(),
            reached: limit.reached,
            template: prepared.template,
            degradations: limit.capped.into_iter().chain(prepared.degradations).collect(),
        };
        let tokens = self.generator.generate(prepared.prompt, sampler, limit.tokens);
        Ok(Run::new(|emit| read(reading, tokens, request.stop, emit)))
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        let prompt = self.prepare(&request)?.prompt;
        if prompt.units.is_empty() {
            return Ok(None);
        }
        let sampler = Sampler::new(&SamplingOptions::default())?;
        let mut events = self.generator.generate(prompt, sampler, 0);
        while let Some(event) = events.next().await {
            if let Generation::Prefilled(report) = event? {
                return Ok(Some(report));
            }
        }
        Err(ended())
    }
}

fn source<'a>(request: &'a Request, arguments: &'a ProcessorArguments) -> PromptSource<'a> {
    PromptSource { preface: &request.preface, path: &request.path, ending: request.ending, arguments }
}

fn ended() -> Error {
    Error::new(ErrorKind::Backend, "the generator's thread has ended")
}

#[derive(Clone, Debug)]
struct Limit {
    tokens: usize,
    /// What it means when that many were sampled.
    reached: FinishReason,
    capped: Option<Degradation>,
}

/// A reply that is being read: tokens to text, text up to a stop text, text to deltas.
struct Reading {
    detokenizer: Box<dyn Detokenizer>,
    stops: StopStrings,
    parser: Box<dyn ReplyParser>,
    /// How many tokens were sampled, the one that ended the reply included.
    sampled: usize,
    /// The ids of the reply.
    tokens: Vec<TokenId>,
    /// Where in the reply's text each token ends, in bytes.
    ends: Vec<usize>,
    /// Bytes of text so far.
    length: usize,
    cache: Option<CacheReport>,
    finish: Option<FinishReason>,
    seed: Option<u64>,
    /// What it means when the limit of tokens was reached.
    reached: FinishReason,
    template: Digest,
    /// What was not done as asked, so far.
    degradations: Vec<Degradation>,
}

async fn read(
    mut reading: Reading,
    tokens: TokenStream,
    stop: StopSignal,
    mut emit: Emit<Delta>,
) -> Result<Reply> {
    let mut events = stop.cut(tokens);
    while reading.finish.is_none() {
        let Some(event) = events.next().await else { break };
        for delta in reading.take(event?)? {
            emit.send(delta).await;
        }
    }
    if reading.finish.is_none() {
        reading.finish = Some(if stop.is_stopped() {
            FinishReason::Stopped
        } else {
            return Err(ended());
        });
    }
    let (deltas, reply) = reading.end();
    for delta in deltas {
        emit.send(delta).await;
    }
    Ok(reply)
}

impl Reading {
    fn take(&mut self, event: Generation) -> Result<Vec<Delta>> {
        match event {
            Generation::Prefilled(report) => self.cache = Some(report),
            Generation::Ended(FinishReason::MaxTokens) => self.finish = Some(self.reached),
            Generation::Ended(reason) => {
                self.sampled += 1;
                self.finish = Some(reason);
            }
            Generation::Token(token) => return self.token(token),
        }
        Ok(Vec::new())
    }

    fn token(&mut self, token: TokenId) -> Result<Vec<Delta>> {
        let text = self.detokenizer.push(token)?;
        self.sampled += 1;
        self.length += text.len();
        self.tokens.push(token);
        self.ends.push(self.length);
        Ok(self.text(&text))
    }

    fn text(&mut self, text: &str) -> Vec<Delta> {
        let held = self.stops.held();
        let (settled, stopped) = self.stops.push(text);
        if stopped {
            self.finish = Some(FinishReason::Stop);
            let end = self.length - text.len() - held + settled.len();
            self.tokens.truncate(self.ends.partition_point(|&token_end| token_end <= end));
            // What the detokenizer still holds stands behind the stop text.
            drop(self.detokenizer.finish());
        }
        self.parser.push(&settled)
    }

    fn end(mut self) -> (Vec<Delta>, Reply) {
        let tail = self.detokenizer.finish();
        self.length += tail.len();
        let broken = (!tail.is_empty()).then_some(Degradation::BrokenText);
        let mut deltas = self.text(&tail);
        let held = self.stops.finish();
        deltas.extend(self.parser.push(&held));
        let (rest, message) = self.parser.finish();
        deltas.extend(rest);
        let prompt = self.cache.map_or(0, |report| report.prompt);
        let reply = Reply {
            finish: finish(self.finish, &message),
            message,
            tokens: self.tokens,
            usage: Usage { prompt, reply: self.sampled },
            cache: self.cache,
            seed: self.seed,
            template: Some(self.template),
            degradations: self.degradations.into_iter().chain(broken).collect(),
        };
        (deltas, reply)
    }
}

fn finish(reason: Option<FinishReason>, message: &Message) -> FinishReason {
    match reason.unwrap_or(FinishReason::Stop) {
        FinishReason::Stop if message.tool_calls().next().is_some() => FinishReason::ToolCalls,
        reason => reason,
    }
}
