//! `alloquy ask`: one question, one answer.

use std::sync::Arc;

use alloquy::core::prompt_library::PromptKind;
use alloquy::core::report::FinishReason;
use alloquy::core::store::MemoryStore;
use alloquy::core::{Error, ErrorKind, Message, Preface, TurnRequest};
use alloquy::formats::messages::Dialect;
use clap::Args;
use clap::builder::BoolishValueParser as Switch;

use crate::arguments::{
    ContextArguments, GroundingArguments, GuardArguments, LibraryArguments, ModelArguments,
    NamedPromptArguments, PromptArguments, SamplingArguments, StoreArguments, SystemArguments, ToolArguments,
    WhichConversation,
};
use crate::context::Context;
use crate::current::Current;
use crate::failure::{Failure, finished};
use crate::form::{DemandArguments, FormArguments};
use crate::grounding::Grounding;
use crate::guards::{Conversations, Guards};
use crate::interrupts::Interrupts;
use crate::kept::{self, Kept};
use crate::media::{self, MediaArguments, MediaRootArguments};
use crate::messages;
use crate::notes::Notes;
use crate::notice;
use crate::open;
use crate::piped::{Input, piped};
use crate::printer::{Extracted, LineEnd, printer, take};
use crate::prompts::NamedPrompt;
use crate::question::FileArguments;
use crate::settings::{Origin, Settings};
use crate::tools::{self, ROUNDS};

const EXAMPLES: &str = "\
Examples:
  alloquy ask \"What is the capital of Norway?\"
  echo \"My name is Ada, I am 36.\" | alloquy ask --json-schema \"name, age int\"
  alloquy ask --choice yes --choice no \"Is Paris in France?\"
  alloquy ask -c \"And of Sweden?\"                      continues the last conversation
  alloquy ask --documents \"Where is tea grown?\"        with the documents of `alloquy index add`
  alloquy ask --json \"Hello!\" | jq -r 'select(.event == \"done\").finish'

With a real model, such as those of `alloquy help models`, or on a server (`alloquy help remote`):
  git diff | alloquy ask -m NAME \"Write a commit message\"   what is piped in follows the question
  alloquy ask -m NAME -f main.rs -f lib.rs \"Where is the bug?\"
  alloquy ask -m NAME -x \"A shell script that renames *.jpeg to *.jpg\" > rename.sh
  alloquy ask -m NAME -s @reviewer.txt -f main.rs       instructions from a file
  alloquy ask -m NAME --image cat.jpg \"What is this?\"  of a model that accepts images
  alloquy ask -m NAME --from openai < messages.json     a whole conversation in another dialect

Without -c or --conversation nothing is kept.";

/// Ask one question; the answer alone is printed
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Ask {
    /// The question; several words make one question
    question: Vec<String>,
    /// Read messages from standard input, the last of which is the question, in this dialect: openai, litert, gemini, aki or
    /// chatml
    #[arg(long, env = "ALLOQUY_FROM", value_name = "DIALECT", value_parser = messages::dialect)]
    from: Option<Dialect>,
    #[command(flatten)]
    files: FileArguments,
    /// Print the first block of code in the answer alone, or all of it where it has none
    #[arg(short = 'x', long, env = "ALLOQUY_EXTRACT", value_parser = Switch::new())]
    extract: bool,
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
    sampling: SamplingArguments,
    #[command(flatten)]
    form: FormArguments,
    #[command(flatten)]
    demand: DemandArguments,
    #[command(flatten)]
    tools: ToolArguments,
    #[command(flatten)]
    guards: GuardArguments,
    #[command(flatten)]
    named: NamedPromptArguments,
    #[command(flatten)]
    library: LibraryArguments,
    #[command(flatten)]
    grounding: GroundingArguments,
}

impl Ask {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(self.ask(context))
    }

    async fn ask(self, context: &Context) -> Result<(), Failure> {
        let Context { settings, output, notes } = context;
        if self.extract && output.json {
            let message = "-x prints a text, and --json prints events: leave one of them out";
            return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
        }
        let interrupts = Interrupts::install()?;
        let form = self.form.output()?;
        let guards = Guards::of(&settings.settle(&self.guards)?, self.conversations())?;
        let prompt = self.prompt(settings)?;
        let (preface, messages) = self.asked(settings, prompt.as_ref(), *notes)?;
        let kept = self.kept(context).await?;
        let id = self.which.find(&kept).await?;
        let grounding = self.grounding(context, &kept).await?;
        let arguments = settings.settle(&self.tools)?;
        let toolbox = tools::toolbox(&arguments, *notes).await?;
        let named = settings.settle(&self.model)?;
        notice::print(&named, *notes);
        let model = open::for_turns(&named, &settings.settle(&self.overflow)?, Some(&self.demand), *notes)?;
        let constraints = self.demand.added_to(form);
        let sampling = settings.settle(&self.sampling)?.options();
        let manager = model.manager().store(kept.store).owner(kept.owner).toolbox(toolbox);
        let manager = manager.tool_rounds(arguments.tool_rounds.unwrap_or(ROUNDS));
        let manager = match &prompt {
            Some(prompt) => manager.prompts(Arc::clone(&prompt.library)),
            None => manager,
        };
        let manager = guards.added_to(manager, &model, grounding.middleware(&model)).build()?;
        let arguments = settings.settle(&self.prompt)?.for_model(model.info(), *notes);
        let mut current = Current::open(&manager, id, preface, *notes).await?.with_arguments(arguments);
        let (title, request) = asking(prompt.as_ref(), messages, &current, *notes).await?;
        let chat = current.begin(&title).await?;
        let turn = chat.send(request.sampling(sampling).output(constraints));
        interrupts.end_with(turn.stop_signal());
        let mut printer = printer(output, LineEnd::Always, &model, &guards);
        if self.extract {
            printer = Box::new(Extracted::new(printer, *notes));
        }
        let reply = take(turn, &mut *printer).await?;
        grounding.show_sources(&reply.reply, &mut *printer, &guards, *notes)?;
        match finished(&reply.reply)? {
            FinishReason::Cancelled => Err(Failure::Interrupted),
            _ => Ok(()),
        }
    }

    /// Returns the preface and the messages of the turn: those of a document, or the question.
    fn asked(
        &self,
        settings: &Settings,
        prompt: Option<&NamedPrompt>,
        notes: Notes,
    ) -> Result<(Preface, Vec<Message>), Failure> {
        let mut preface = settings.settle(&self.system)?.preface()?;
        let mut is_asked = false;
        if let Some(prompt) = prompt {
            match prompt.preface(notes)? {
                Some(before) => preface.messages.splice(..0, before.messages).for_each(drop),
                None => is_asked = true,
            }
        }
        let mut input = Input::default();
        let attached = self.media.read_with(&mut input)?;
        if let Some(dialect) = self.document(settings)? {
            let text = piped()?.ok_or_else(nothing).map_err(Failure::Arguments)?;
            let request = messages::question(dialect, &text, preface, &self.media_root.open()?.rules())?;
            return Ok((request.preface, request.path.to_vec()));
        }
        let question = self.files.joined(&self.question, &mut input)?;
        if question.is_empty() && attached.is_empty() {
            if is_asked {
                return Ok((preface, Vec::new()));
            }
            return Err(Failure::Arguments(nothing()));
        }
        Ok((preface, vec![media::said(attached, question)]))
    }

    /// Returns the prompt of the library that is named.
    fn prompt(&self, settings: &Settings) -> Result<Option<NamedPrompt>, Failure> {
        let values = self.named.values.values().map_err(Failure::Arguments)?;
        let Some(name) = self.named.prompt_name.clone() else {
            if values.is_empty() || settings.origin("set") != Origin::Flag {
                return Ok(None);
            }
            let message = "--set gives a prompt its values, and none is named: name one with --prompt";
            return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
        };
        let library = settings.settle(&self.library)?.open().map_err(Failure::Arguments)?;
        Ok(Some(NamedPrompt { library: Arc::new(library), name, values }))
    }

    /// Returns the dialect of the document on standard input, if there is one.
    ///
    /// The variable of `--from` has no effect where a question or a conversation is named; the flag is an error there.
    fn document(&self, settings: &Settings) -> Result<Option<Dialect>, Failure> {
        let has_conversation = self.which.last || self.which.conversation.is_some();
        let is_empty = self.question.is_empty() && self.files.is_empty() && self.media.is_empty();
        if is_empty && !has_conversation && self.named.prompt_name.is_none() {
            return Ok(self.from);
        }
        if settings.origin("from") == Origin::Flag {
            let message = "--from is for a whole conversation that is piped in, and here a question or a conversation is named: \
                           leave one of them out";
            return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
        }
        Ok(None)
    }

    /// Returns whether the question and the answer are stored.
    fn conversations(&self) -> Conversations {
        if self.which.last || self.which.conversation.is_some() {
            return Conversations::Stored;
        }
        Conversations::Temporary
    }

    async fn kept(&self, context: &Context) -> Result<Kept, Failure> {
        if self.conversations() == Conversations::Stored {
            return Ok(kept::kept(&context.settings.settle(&self.store)?).await?);
        }
        // Documents and notes are those of the owner, also where nothing is stored.
        let owner = context.settings.settle(&self.store)?.owner();
        Ok(Kept { store: Arc::new(MemoryStore::default()), owner })
    }

    /// Opens what the model is shown beside the question.
    async fn grounding(&self, context: &Context, kept: &Kept) -> Result<Grounding, Failure> {
        let store = context.settings.settle(&self.store)?;
        let kept = (self.conversations() == Conversations::Stored).then_some(kept);
        Grounding::open(&self.grounding, &context.settings, &store, kept).await
    }
}

/// Returns the title of a new conversation, and the request of the turn.
async fn asking(
    prompt: Option<&NamedPrompt>,
    messages: Vec<Message>,
    current: &Current,
    notes: Notes,
) -> Result<(String, TurnRequest), Failure> {
    let mut title = messages.last().map(Message::text).unwrap_or_default();
    let Some(prompt) = prompt.filter(|prompt| prompt.name.kind != PromptKind::System) else {
        return Ok((title, TurnRequest::from(messages)));
    };
    let filled = prompt.filled(current, notes).await?;
    if title.is_empty() {
        title = filled.text();
    }
    Ok((title, prompt.request(messages)))
}

fn nothing() -> Error {
    let message = "no question was given: write one after `alloquy ask`, name a file with -f, or pipe one in";
    Error::new(ErrorKind::Invalid, message)
}
