//! `alloquy chat`: a conversation at the keyboard, or in a pipe.

use std::io::{IsTerminal as _, stdin};
use std::path::PathBuf;

use clap::Args;

use crate::arguments::{
    ContextArguments, GroundingArguments, GuardArguments, HistoryArguments, LibraryArguments, ModelArguments,
    PromptArguments, ResumeArguments, SamplingArguments, StoreArguments, SystemArguments, ToolArguments,
    WhichConversation,
};
use crate::context::Context;
use crate::current::Current;
use crate::failure::Failure;
use crate::form::{DemandArguments, FormArguments};
use crate::grounding::Grounding;
use crate::guards::{Conversations, Guards};
use crate::interrupts::Interrupts;
use crate::kept::{self, Kept};
use crate::keyboard::Keyboard;
use crate::media::{self, MediaArguments};
use crate::notes::Notes;
use crate::notice;
use crate::open;
use crate::opener::ModelOpener;
use crate::printer::{LineEnd, printer};
use crate::repl::{AfterError, Answerer, ChatSettings, Lines, Piped, Repl, Typed};
use crate::screen;
use crate::settings::{HISTORY_FILE, data_folder};
use crate::tools::{self, ROUNDS};

const EXAMPLES: &str = "\
Examples:
  alloquy chat --model ~/models/qwen3-0.6b
  alloquy chat -c                             continue the last conversation
  alloquy chat --conversation work/plan       continue this one, or start it
  alloquy chat -c --resume                    and compute nothing of it again
  alloquy chat -m NAME --system \"Answer in French.\" --temperature 0.7
  alloquy chat -m NAME --image cat.jpg        shown with the first question; /image shows more
  alloquy chat --memory                       remind the model of notes; /remember TEXT adds one
  alloquy chat --documents                    answer with the documents of `alloquy index add`
  alloquy chat --remote http://localhost:8000 -m Qwen/Qwen3-4B     the model is on a server
  printf 'Hello\\n/retry\\n' | alloquy chat     a question or a command on each line

While chatting, /help lists the commands and Tab completes them. Ctrl-C interrupts an answer and keeps what was generated; \
on an empty line it leaves, as exit, quit and Ctrl-D do. \"\"\" begins and ends a message of several lines, and Ctrl-J is a \
new line.

Going back deletes nothing: /undo, /retry and /edit go back to an earlier place and leave the messages after it as a \
branch, which /tree shows and /goto goes to. /new begins another conversation. Only /delete deletes one.";

/// Talk with a model; everything said is kept
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Chat {
    #[command(flatten)]
    media: MediaArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    which: WhichConversation,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    system: SystemArguments,
    #[command(flatten)]
    history: HistoryArguments,
    #[command(flatten)]
    prompt: PromptArguments,
    #[command(flatten)]
    overflow: ContextArguments,
    #[command(flatten)]
    resume: ResumeArguments,
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
    library: LibraryArguments,
    #[command(flatten)]
    grounding: GroundingArguments,
}

impl Chat {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(self.converse(context))
    }

    async fn converse(self, context: &Context) -> Result<(), Failure> {
        let Context { settings, output, notes } = context;
        let interrupts = Interrupts::install()?;
        // From here on nothing that is typed is lost, however long loading takes.
        let keyboard = keyboard(&interrupts, *notes);
        let form = self.form.output()?;
        let attached = self.media.read()?;
        let store = settings.settle(&self.store)?;
        let resume = settings.settle(&self.resume)?.open(&store, *notes)?;
        let kept = kept::kept(&store).await?;
        // Before the model is loaded, so that a wrong name is reported at once.
        let id = self.which.find(&kept).await?;
        let opener = self.opener(context, kept, store).await?;
        let model = opener.open()?;
        media::check(&model, &attached)?;
        let constraints = self.demand.added_to(form);
        let begun = ChatSettings {
            sampling: settings.settle(&self.sampling)?,
            prompt: settings.settle(&self.prompt)?,
            thinking_budget: constraints.thinking_budget,
        };
        let manager = opener.manager(&model)?;
        let preface = settings.settle(&self.system)?.preface()?;
        let arguments = begun.prompt.for_model(model.info(), *notes);
        if let (Some(resume), Some(id)) = (&resume, &id) {
            resume.restore(model.language_model(), id).await;
        }
        let current = Current::open(&manager, id, preface, *notes).await?.with_arguments(arguments);
        open::warn(&model, *notes);
        let (lines, after_error) = lines(&settings.settle(&self.history)?, keyboard, *notes)?;
        if after_error == AfterError::Continue {
            welcome(&opener.name(), *notes);
        }
        let printer = printer(output, LineEnd::Always, &model, &opener.guards);
        let mut repl = Repl {
            current,
            lines,
            printer,
            interrupts,
            notes: *notes,
            after_error,
            settings: begun.clone(),
            begun,
            is_changed: false,
            constraints,
            attached,
            answerer: Some(Answerer { model, opener, resume }),
            saved: Vec::new(),
        };
        let ended = repl.run().await;
        repl.keep_computed().await;
        ended
    }

    /// Returns what opens the model, and others after it.
    async fn opener(
        &self,
        context: &Context,
        kept: Kept,
        place: StoreArguments,
    ) -> Result<ModelOpener, Failure> {
        let settings = &context.settings;
        let notes = context.notes;
        let guards = Guards::of(&settings.settle(&self.guards)?, Conversations::Stored)?;
        let tools = settings.settle(&self.tools)?;
        let toolbox = tools::toolbox(&tools, notes).await?;
        let grounding = Grounding::open(&self.grounding, settings, &place, Some(&kept)).await?;
        let arguments = settings.settle(&self.model)?;
        notice::print(&arguments, notes);
        Ok(ModelOpener {
            arguments,
            overflow: settings.settle(&self.overflow)?,
            demand: self.demand.clone(),
            store: kept.store,
            place,
            served_snapshots: settings.served_snapshots(),
            owner: kept.owner,
            toolbox,
            tool_rounds: tools.tool_rounds.unwrap_or(ROUNDS),
            guards,
            grounding,
            prompts: settings.settle(&self.library)?.open_if_set()?,
            notes,
        })
    }
}

/// Says to a person at a terminal who answers and what to type.
fn welcome(name: &str, notes: Notes) {
    notes.say(format_args!(
        "{name} is ready; /help lists the commands, /exit leaves, \"\"\" begins and ends a message of several lines"
    ));
}

/// Terminals whose cursor cannot be moved: they are read line by line, without a line editor.
const PLAIN: [&str; 3] = ["dumb", "cons25", "emacs"];

/// Takes the keyboard, where a person types.
fn keyboard(interrupts: &Interrupts, notes: Notes) -> Option<Keyboard> {
    let is_plain = std::env::var("TERM").is_ok_and(|term| PLAIN.contains(&term.as_str()));
    if !is_interactive() || is_plain {
        return None;
    }
    let taken = Keyboard::take(interrupts);
    taken.inspect_err(|error| notes.say(format_args!("what is typed ahead may be lost: {error}"))).ok()
}

/// Returns whether input and output are both a terminal.
fn is_interactive() -> bool {
    stdin().is_terminal() && screen::is_out_a_terminal()
}

/// Reads from a person where both ends are a terminal, else from the pipe.
fn lines(
    history: &HistoryArguments,
    keyboard: Option<Keyboard>,
    notes: Notes,
) -> Result<(Box<dyn Lines>, AfterError), Failure> {
    if is_interactive() {
        let typed = Typed::terminal(history_file(history)?, keyboard, notes)?;
        return Ok((Box::new(typed), AfterError::Continue));
    }
    Ok((Box::new(Piped::stdin()), AfterError::End))
}

fn history_file(history: &HistoryArguments) -> Result<Option<PathBuf>, Failure> {
    if history.no_history {
        return Ok(None);
    }
    match &history.history_file {
        Some(file) => Ok(Some(file.clone())),
        None => Ok(Some(data_folder()?.join(HISTORY_FILE))),
    }
}
