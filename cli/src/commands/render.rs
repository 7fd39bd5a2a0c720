//! `alloquy render`: the prompt that a turn would send to the model, at each of its stages.

use alloquy::Model;
use alloquy::core::arguments::InjectionPolicy;
use alloquy::core::processor::PromptPart;
use alloquy::core::prompt::{PlacedMedia, PreparedPrompt, PromptUnit};
use alloquy::core::template::PromptEnd;
use alloquy::core::{ConversationManager as _, Error, ErrorKind, Request, Role};
use alloquy::formats::messages::Dialect;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::arguments::{
    ContextArguments, GroundingArguments, ModelArguments, PromptArguments, RedactionArguments,
    StoreArguments, SystemArguments, ToolArguments, WhichConversation,
};
use crate::context::Context;
use crate::failure::Failure;
use crate::grounding::Grounding;
use crate::guards::Guards;
use crate::media::{self, MediaArguments, MediaRootArguments};
use crate::notes::Notes;
use crate::piped::{Input, piped};
use crate::printer;
use crate::settings::{Origin, Settings};
use crate::{kept, messages, open, screen, tools};

const EXAMPLES: &str = "\
Examples:
  alloquy render \"Hello\"                    the text of the prompt, byte for byte
  alloquy render --show ids \"Hello\"         the tokens
  alloquy render --show parts \"Hello\"       what is control and what is text
  alloquy render -m NAME --image cat.jpg \"What?\"  where an image goes, and how many positions it takes
  alloquy render -c                         the messages of the last conversation
  echo '[{\"role\": \"user\", \"content\": \"Hi\"}]' | alloquy render --json
  alloquy render --from gemini < request.json  messages, instructions and tools of another dialect

The prompt ends with the header of an answer, unless the last message is an answer already.";

/// Show what would be sent to the model: text, parts and tokens
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Render {
    /// The message; messages are read from standard input when nothing else is named
    message: Vec<String>,
    /// The dialect of the messages on standard input: openai, litert, gemini, aki or chatml; unless set, openai's, or
    /// messages as conversations are stored
    #[arg(long, env = "ALLOQUY_FROM", value_name = "DIALECT", value_parser = messages::dialect)]
    from: Option<Dialect>,
    /// What to print: text, parts or ids
    #[arg(long, value_enum, value_name = "STAGE", default_value_t = Stage::Text, env = "ALLOQUY_SHOW", hide_possible_values = true)]
    show: Stage,
    #[command(flatten)]
    media: MediaArguments,
    #[command(flatten)]
    media_root: MediaRootArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    which: WhichConversation,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    system: SystemArguments,
    #[command(flatten)]
    prompt: PromptArguments,
    #[command(flatten)]
    overflow: ContextArguments,
    #[command(flatten)]
    tools: ToolArguments,
    #[command(flatten)]
    guards: RedactionArguments,
    #[command(flatten)]
    grounding: GroundingArguments,
}

/// A stage of a prompt: the text of the template, its parts, and the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    Text,
    Parts,
    Ids,
}

impl Render {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(self.render(context))
    }

    async fn render(self, context: &Context) -> Result<(), Failure> {
        self.check(&context.settings)?;
        let guards = Guards::redacting(&context.settings.settle(&self.guards)?)?;
        let builder = open::builder(&context.settings.settle(&self.model)?, context.notes)?;
        let overflow = context.settings.settle(&self.overflow)?;
        let model = open::opened(overflow.added_to(builder), context.notes)?;
        let request = self.request(context, &model).await?;
        let store = context.settings.settle(&self.store)?;
        let grounding = Grounding::open(&self.grounding, &context.settings, &store, None).await?;
        let request = grounding.prepared(&model, store.owner(), request).await?;
        let request = guards.prepared(request).await?;
        let (request, warnings) = model.fitted(request).await?;
        let prepared = model.language_model().prepare(&request)?;
        let text = match self.show {
            Stage::Text => with_line_end(text(&prepared)),
            Stage::Parts => parts(&prepared),
            Stage::Ids => ids(&prepared),
        };
        for warning in &warnings {
            context.notes.say(printer::warning(warning));
        }
        remark(&request, &prepared, context.notes);
        context.print_document(&text, &value(&request, &prepared, &model))
    }

    /// Refuses flags about a document where none is read.
    fn check(&self, settings: &Settings) -> Result<(), Failure> {
        let is_document = self.message.is_empty()
            && self.media.is_empty()
            && !self.which.last
            && self.which.conversation.is_none();
        for flag in ["from", "media-root"] {
            if !is_document && settings.origin(flag) == Origin::Flag {
                let message = format!(
                    "--{flag} is for a document that is piped in, and here a message or a conversation is named: \
                     leave one of them out"
                );
                return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
            }
        }
        Ok(())
    }

    async fn request(&self, context: &Context, model: &Model) -> Result<Request, Failure> {
        let mut request = self.before(context, model).await?;
        let tools = tools::toolbox(&context.settings.settle(&self.tools)?, context.notes).await?.now()?;
        request.preface.tools.extend(tools.specs().cloned());
        let attached = self.media.read_with(&mut Input::default())?;
        if !(self.message.is_empty() && attached.is_empty()) {
            request.path.push(media::said(attached, self.message.join(" ")));
        }
        let has_answer = request.path.last().is_some_and(|message| message.role == Role::Assistant);
        request.ending = if has_answer { PromptEnd::Closed } else { PromptEnd::Generation };
        request.arguments = context.settings.settle(&self.prompt)?.for_model(model.info(), context.notes);
        Ok(request)
    }

    /// Returns the request without the message of the command line.
    async fn before(&self, context: &Context, model: &Model) -> Result<Request, Failure> {
        let preface = context.settings.settle(&self.system)?.preface()?;
        if self.which.last || self.which.conversation.is_some() {
            let kept = kept::kept_for_reading(&context.settings.settle(&self.store)?).await?;
            let id = self.which.find_or_last(&kept).await?;
            let manager = model.manager().store(kept.store).owner(kept.owner).build()?;
            return Ok(manager.open(&id).await?.request().await?);
        }
        if !(self.message.is_empty() && self.media.is_empty()) {
            return Ok(Request::new(preface, Vec::new()));
        }
        let document = piped()?.ok_or_else(nothing).map_err(Failure::Arguments)?;
        let media = self.media_root.open()?;
        Ok(messages::request(self.from, &document, preface, &media.rules())?)
    }
}

fn nothing() -> Error {
    let message = "nothing was given to render: write a message after `alloquy render`, name a conversation, \
                   or pipe in JSON messages";
    Error::new(ErrorKind::Invalid, message)
}

/// Returns the text of the prompt; media are printed as their positions and their digests.
fn text(prepared: &PreparedPrompt) -> String {
    let mut text = String::new();
    for (part, media) in with_media(prepared) {
        match part {
            PromptPart::Text(piece) | PromptPart::Literal(piece) => text += piece,
            other => text += &format!("<{}>", described(other, media)),
        }
    }
    text
}

/// Returns the parts, each of media with its place.
fn with_media(prepared: &PreparedPrompt) -> impl Iterator<Item = (&PromptPart, Option<&PlacedMedia>)> {
    let mut media = prepared.media.iter();
    prepared.parts.iter().map(move |part| match part {
        PromptPart::Media(_) => (part, media.next()),
        _ => (part, None),
    })
}

/// Adds a line end for a terminal; a file gets the prompt byte for byte.
fn with_line_end(text: String) -> String {
    let is_open = screen::is_out_a_terminal() && !text.ends_with('\n');
    if is_open { text + "\n" } else { text }
}

fn parts(prepared: &PreparedPrompt) -> String {
    with_media(prepared).map(|(part, media)| described(part, media) + "\n").collect()
}

fn described(part: &PromptPart, media: Option<&PlacedMedia>) -> String {
    match (part, media) {
        (PromptPart::Text(text), _) => format!("text {text:?}"),
        (PromptPart::Literal(text), _) => format!("literal {text:?}"),
        (PromptPart::Tokens(tokens), _) => format!("tokens {tokens:?}"),
        (PromptPart::Media(_), Some(media)) => placed(media),
        (other, _) => format!("{other:?}"),
    }
}

/// Describes media: their kind, how many positions they take, and their digest.
fn placed(media: &PlacedMedia) -> String {
    let PlacedMedia { kind, positions, media, .. } = media;
    format!("{kind} of {positions} positions {}", media.digest())
}

fn ids(prepared: &PreparedPrompt) -> String {
    let mut line = String::new();
    for (index, unit) in prepared.prompt.units.iter().enumerate() {
        let space = if line.is_empty() { "" } else { " " };
        let media = prepared.media.iter().find(|media| media.unit == index);
        line += &match (unit, media) {
            (PromptUnit::Token(token), _) => format!("{space}{token}"),
            (PromptUnit::Media(_), Some(media)) => format!("{space}<{}>", placed(media)),
            (PromptUnit::Media(media), None) => format!("{space}<{media:?}>"),
        };
    }
    line + "\n"
}

/// Notes what is unusual about the prompt: its template, its control tokens, its warnings.
fn remark(request: &Request, prepared: &PreparedPrompt, notes: Notes) {
    if let Some(name) = &prepared.template_name {
        notes.say(format_args!("(rendered by the template {name:?} of several)"));
    }
    let arguments = request.joined_arguments();
    if let Some(loosened) = loosened(arguments.policy()) {
        notes.say(loosened);
    }
    for warning in &prepared.warnings {
        notes.say(printer::warning(warning));
    }
}

/// Describes which text may become control tokens; `None` where none may.
fn loosened(policy: &InjectionPolicy) -> Option<String> {
    if policy.is_strict() {
        return None;
    }
    let tokens = policy.tokens().map(|token| format!("{token:?} from any source"));
    let sources = policy.sources().map(|source| format!("any from {}", source.as_str()));
    let allowed: Vec<_> = tokens.chain(sources).collect();
    Some(format!("(allowed control tokens: {})", allowed.join(", ")))
}

fn value(request: &Request, prepared: &PreparedPrompt, model: &Model) -> Value {
    let parts: Vec<_> = with_media(prepared).map(|(part, media)| part_value(part, media)).collect();
    let ids: Vec<_> = prepared.prompt.tokens().collect();
    json!({
        "text": text(prepared),
        "parts": parts,
        "ids": ids,
        "positions": prepared.positions(),
        "template": {"digest": prepared.template, "name": prepared.template_name},
        "arguments": request.joined_arguments(),
        "warnings": prepared.warnings,
        "family": model.family(),
        "sampling": request.sampling.clone().or(&model.sampling()),
    })
}

fn part_value(part: &PromptPart, placed: Option<&PlacedMedia>) -> Value {
    match (part, placed) {
        (PromptPart::Text(text), _) => json!({"text": text}),
        (PromptPart::Literal(text), _) => json!({"literal": text}),
        (PromptPart::Tokens(tokens), _) => json!({"tokens": tokens}),
        (PromptPart::Media(media), Some(PlacedMedia { kind, positions, unit, .. })) => {
            json!({"media": media.digest(), "kind": kind.as_str(), "positions": positions, "unit": unit})
        }
        (other, _) => json!({"other": format!("{other:?}")}),
    }
}
