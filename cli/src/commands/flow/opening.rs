//! Opens a flow and its conversation, with what the flow needs.

use std::sync::Arc;

use alloquy::core::arguments::ProcessorArguments;
use alloquy::core::manager::NewConversation;
use alloquy::core::prompt_library::{PromptLibrary, Values};
use alloquy::core::tool::Toolbox;
use alloquy::core::{
    Conversation, ConversationId, ConversationManager as _, Error, ErrorKind, Manager, Preface, Result,
};
use alloquy::flows::FlowRunner;
use clap::Args;

use super::definition::Definition;
use super::running::FlowRun;
use crate::arguments::{
    Approve, ContextArguments, GroundingArguments, GuardArguments, LibraryArguments, ModelArguments,
    PromptArguments, SamplingArguments, StoreArguments, ToolArguments,
};
use crate::asking;
use crate::context::Context;
use crate::failure::Failure;
use crate::grounding::Grounding;
use crate::guarded_model::GuardedModel;
use crate::guards::{Conversations, Guards};
use crate::kept::Kept;
use crate::notes::Notes;
use crate::notice;
use crate::open;
use crate::open_model::OpenModel;
use crate::outline::{MODEL, TITLE, TITLE_WIDTH};
use crate::preview::shortened;
use crate::stored::NoModel;
use crate::tools::{self, ROUNDS};

/// What a flow runs with.
#[derive(Args, Debug)]
pub(super) struct FlowArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    pub(super) store: StoreArguments,
    #[command(flatten)]
    prompt: PromptArguments,
    #[command(flatten)]
    overflow: ContextArguments,
    #[command(flatten)]
    sampling: SamplingArguments,
    #[command(flatten)]
    tools: ToolArguments,
    #[command(flatten)]
    guards: GuardArguments,
    #[command(flatten)]
    library: LibraryArguments,
    #[command(flatten)]
    grounding: GroundingArguments,
}

impl FlowArguments {
    /// Opens the conversation and what the flow needs: a model only if it asks one, tools only if it calls some or asks a model.
    pub(super) async fn open(
        &self,
        context: &Context,
        kept: Kept,
        id: Option<ConversationId>,
        definition: &Definition,
        values: &Values,
    ) -> Result<FlowRun, Failure> {
        let settings = &context.settings;
        let flow = &definition.flow;
        let library = settings.settle(&self.library)?.open_if_set()?;
        let tools = settings.settle(&self.tools)?;
        let uses_tools = flow.asks_model() || !flow.called_tools().is_empty();
        must_be_approved(&tools, definition)?;
        let toolbox =
            if uses_tools { tools::toolbox(&tools, context.notes).await? } else { Toolbox::default() };
        let mut asked = None;
        let mut processor = ProcessorArguments::default();
        let mut manager = if flow.asks_model() {
            let model = self.model(context)?;
            let guards = Guards::of(&settings.settle(&self.guards)?, Conversations::Stored)?;
            let manager = model.manager().sampling(settings.settle(&self.sampling)?.options());
            processor = settings.settle(&self.prompt)?.for_model(model.info(), context.notes);
            let grounding =
                Grounding::open(&self.grounding, settings, &settings.settle(&self.store)?, Some(&kept))
                    .await?;
            let manager = guards.added_to(manager, &model, grounding.middleware(&model));
            asked = Some(GuardedModel::new(model, &guards));
            manager.tool_rounds(tools.tool_rounds.unwrap_or(ROUNDS))
        } else {
            Manager::builder(NoModel)
        };
        if let Some(library) = &library {
            manager = manager.prompts(Arc::clone(library));
        }
        let manager = manager.store(kept.store).owner(kept.owner).build()?;
        // Checked before the conversation is created: a flow that cannot run leaves nothing.
        let runner = runner(definition, Conversation::new(NoModel), &toolbox, library.as_ref());
        must_be_valid(&runner, definition)?;
        must_be_variables(definition, values).map_err(Failure::Arguments)?;
        let chat = conversation(&manager, id, definition, context.notes).await?.with_arguments(processor);
        definition.keep(&chat).await?;
        let mut runner = self::runner(definition, chat.clone(), &toolbox, library.as_ref());
        if let Some(asked) = asked {
            runner = runner.model(asked);
        }
        for (name, value) in values.iter() {
            runner = runner.variable(name, value.value.clone());
        }
        Ok(FlowRun { runner, chat })
    }

    /// Loads the model.
    fn model(&self, context: &Context) -> Result<OpenModel> {
        let named = context.settings.settle(&self.model)?;
        notice::print(&named, context.notes);
        let overflow = context.settings.settle(&self.overflow)?;
        let model = open::for_turns(&named, &overflow, None, context.notes)?;
        open::warn(&model, context.notes);
        Ok(model)
    }
}

fn runner(
    definition: &Definition,
    chat: Conversation,
    toolbox: &Toolbox,
    library: Option<&Arc<dyn PromptLibrary>>,
) -> FlowRunner {
    let runner = FlowRunner::new(definition.flow.clone(), chat).toolbox(toolbox.clone());
    match library {
        Some(library) => runner.prompts(Arc::clone(library)),
        None => runner,
    }
}

/// Refuses a flow whose calls no person can approve: a refusal would be stored as the result of the call.
fn must_be_approved(tools: &ToolArguments, definition: &Definition) -> Result<(), Failure> {
    let called = definition.flow.called_tools();
    let asks = tools.approve.unwrap_or_default() == Approve::Ask;
    if called.is_empty() || !asks || asking::can_ask() {
        return Ok(());
    }
    let names: Vec<_> = called.into_iter().collect();
    let message = format!(
        "flow {:?} calls {}, and there is no terminal to ask for approval: --approve always lets its calls run",
        definition.flow.name,
        names.join(", ")
    );
    Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)))
}

/// Opens a conversation, or creates it.
async fn conversation(
    manager: &Manager,
    id: Option<ConversationId>,
    definition: &Definition,
    notes: Notes,
) -> Result<Conversation> {
    if let Some(id) = &id {
        match manager.open(id).await {
            Ok(chat) => return Ok(chat),
            Err(error) if error.is_not_found() => notes.say(format_args!("starting conversation {id}")),
            Err(error) => return Err(error),
        }
    }
    let id = id.unwrap_or_else(ConversationId::new);
    let mut new = NewConversation::from(Preface::default()).id(id);
    new = new.metadata(TITLE, shortened(&definition.flow.name, TITLE_WIDTH));
    if definition.flow.asks_model() {
        new = new.metadata(MODEL, manager.model().name());
    }
    manager.create(new).await
}

/// Checks that the flow has the variables that are given, and that the values have their types.
fn must_be_variables(definition: &Definition, values: &Values) -> Result<()> {
    let declared = &definition.flow.variables;
    for (name, value) in values.iter() {
        let value = &value.value;
        let message = match declared.get(name) {
            None if declared.is_empty() => continue,
            Some(variable) if variable.kind.allows(value) => continue,
            Some(variable) => format!(
                "the variable {name:?} is {value}, expected type {}; {name}:= begins a value of JSON",
                variable.kind.as_str()
            ),
            None => {
                let known: Vec<_> = declared.keys().map(String::as_str).collect();
                format!(
                    "flow {:?} has no variable {name:?}, expected one of {}",
                    definition.flow.name,
                    known.join(", ")
                )
            }
        };
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    Ok(())
}

fn must_be_valid(runner: &FlowRunner, definition: &Definition) -> Result<()> {
    let mut problems = runner.problems();
    problems.retain(|problem| !problem.is_warning);
    if problems.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    let message = format!("flow {:?} has problems: {}", definition.file, lines.join("; "));
    Err(Error::new(ErrorKind::Invalid, message))
}
