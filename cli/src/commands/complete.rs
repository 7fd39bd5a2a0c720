//! `alloquy complete`: continues a text. For base models, which were not trained to converse.

use alloquy::core::chat_model::Origin;
use alloquy::core::middleware::Next;
use alloquy::core::report::FinishReason;
use alloquy::core::template::PromptEnd;
use alloquy::core::{ConversationId, Error, ErrorKind, Owner, Preface, Reply, Request};
use clap::Args;
use futures::StreamExt as _;

use crate::arguments::{GuardArguments, ModelArguments, PromptArguments, SamplingArguments};
use crate::context::Context;
use crate::failure::{Failure, finished};
use crate::form::FormArguments;
use crate::guards::{Conversations, Guards};
use crate::interrupts::Interrupts;
use crate::media::{self, MediaArguments};
use crate::open_model::OpenModel;
use crate::piped::Input;
use crate::printer::{LineEnd, Printer, printer};
use crate::settings;
use crate::{notice, open, screen};

const EXAMPLES: &str = "\
Examples:
  alloquy complete --model ~/models/stories260k --temperature 0 \"Once upon a time\"
  alloquy complete --model ~/models/stories260k --max-tokens 50 < beginning.txt

The chat template of the model, if it has one, is not used: the prompt is the text alone, after the model's \
beginning-of-text token, if it has one. Texts that spell control tokens stay texts. Standard output holds the \
continuation and nothing else; the prompt is not repeated.";

/// Continue a text; the continuation alone is printed
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Complete {
    /// The text to continue; read from standard input when absent
    #[arg(value_name = "PROMPT")]
    text: Option<String>,
    #[command(flatten)]
    media: MediaArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    prompt: PromptArguments,
    #[command(flatten)]
    sampling: SamplingArguments,
    #[command(flatten)]
    form: FormArguments,
    #[command(flatten)]
    guards: GuardArguments,
}

impl Complete {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(self.complete(context))
    }

    async fn complete(self, context: &Context) -> Result<(), Failure> {
        let Context { settings, output, notes } = context;
        let interrupts = Interrupts::install()?;
        let constraints = self.form.output()?;
        let guards = Guards::of(&settings.settle(&self.guards)?, Conversations::Temporary)?;
        let mut input = Input::default();
        let attached = self.media.read_with(&mut input)?;
        let text = match self.text {
            Some(text) => text,
            None => input.piped()?.ok_or_else(nothing).map_err(Failure::Arguments)?,
        };
        for flag in ["template", "template-dialect", "family"] {
            if settings.origin(flag) == settings::Origin::Flag {
                notes.say(format_args!("--{flag} has no effect: the prompt is the text alone"));
            }
        }
        let named = settings.settle(&self.model)?;
        notice::print(&named, *notes);
        let builder = open::builder(&named, *notes)?;
        let model = OpenModel::from(open::opened(builder.completion(), *notes)?);
        let sampling = settings.settle(&self.sampling)?.options();
        let arguments = settings.settle(&self.prompt)?.for_model(model.info(), *notes);
        let request = Request::new(Preface::default(), vec![media::said(attached, text)]);
        let request = request
            .sampling(sampling)
            .arguments(arguments)
            .ending(PromptEnd::Continuation)
            .output(constraints)
            // A limit of a conversation is one of this run.
            .origin(Origin::new(Owner::local(), ConversationId::new()));
        interrupts.end_with(request.stop.clone());
        // A file gets the continuation byte for byte; a person gets a new line to type on.
        let end = if screen::is_out_a_terminal() { LineEnd::Always } else { LineEnd::Never };
        let mut printer = printer(output, end, &model, &guards);
        let stack = guards.stack(&model, Vec::new());
        let reply = continued(Next::new(&stack, &model), request, &mut *printer).await?;
        match finished(&reply)? {
            FinishReason::Cancelled => Err(Failure::Interrupted),
            _ => Ok(()),
        }
    }
}

async fn continued(model: Next<'_>, request: Request, printer: &mut dyn Printer) -> Result<Reply, Failure> {
    let mut stream = model.call(request).await?;
    while let Some(delta) = stream.next().await {
        printer.delta(&delta)?;
    }
    let reply = match stream.finish().await {
        Ok(reply) => reply,
        Err(error) => {
            printer.broken()?;
            return Err(error.into());
        }
    };
    printer.reply(&reply)?;
    Ok(reply)
}

fn nothing() -> Error {
    let message = "no text was given: write one after `alloquy complete`, or pipe one in";
    Error::new(ErrorKind::Invalid, message)
}
