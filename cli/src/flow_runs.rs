//! Runs flows from the shell: opens the conversation and what the flow needs, reads answers, and prints what the flow says.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use alloquy::Model;
use alloquy::core::arguments::ProcessorArguments;
use alloquy::core::manager::NewConversation;
use alloquy::core::prompt_library::{PromptLibrary, Values};
use alloquy::core::tool::Toolbox;
use alloquy::core::{
    Conversation, ConversationId, ConversationManager as _, Error, ErrorKind, Manager, NodeId, Preface,
    Result, Role,
};
use alloquy::flows::{Answer, FlowRunner, Progress, TracedStep, Wait};
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::{
    Approve, ContextArguments, GroundingArguments, GuardArguments, LibraryArguments, ModelArguments,
    PromptArguments, SamplingArguments, StoreArguments, ToolArguments,
};
use crate::asking;
use crate::context::Context;
use crate::failure::{self, Failure};
use crate::flow_definition::Definition;
use crate::grounding::Grounding;
use crate::guarded_model::GuardedModel;
use crate::guards::{Conversations, Guards};
use crate::kept::Kept;
use crate::notes::Notes;
use crate::notice;
use crate::open;
use crate::outline::{MODEL, TITLE, TITLE_WIDTH};
use crate::preview::shortened;
use crate::screen;
use crate::stored::NoModel;
use crate::times;
use crate::tools::{self, ROUNDS};

/// What a flow runs with.
#[derive(Args, Debug)]
pub(crate) struct FlowArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
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

/// A flow in a conversation.
pub(crate) struct FlowRun {
    pub(crate) runner: FlowRunner,
    pub(crate) chat: Conversation,
}

impl FlowArguments {
    /// Opens the conversation and what the flow needs: a model only if it asks one, tools only if it calls some or asks a model.
    pub(crate) async fn open(
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
    fn model(&self, context: &Context) -> Result<Model> {
        let named = context.settings.settle(&self.model)?;
        notice::print(&named, context.notes);
        let builder = open::builder(&named, context.notes)?;
        let model = open::opened(context.settings.settle(&self.overflow)?.added_to(builder), context.notes)?;
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

impl FlowRun {
    /// Returns the nodes of the path.
    pub(crate) async fn nodes(&self) -> Result<BTreeSet<NodeId>> {
        Ok(self.chat.history().await?.iter().map(|node| node.id).collect())
    }

    /// Prints what the flow did beside the nodes that were on the path before, asks a person at the terminal as long as it waits, and ends with how far it ran.
    pub(crate) async fn finish(
        &self,
        context: &Context,
        before: BTreeSet<NodeId>,
        by: Option<&str>,
        ran: Result<Progress>,
    ) -> Result<(), Failure> {
        let mut before = before;
        let mut ran = ran;
        loop {
            let steps = self.steps_beside(&before).await?;
            if !context.output.json {
                print_steps(&steps)?;
            }
            let progress = ran?;
            let waits = waits_of(&progress);
            let can_ask = asking::can_ask() && screen::is_out_a_terminal() && !context.output.json;
            if let (Some(wait), true) = (waits.first(), can_ask)
                && let Some(answer) = asked(wait, by)?
            {
                before = self.nodes().await?;
                ran = self.runner.resume(answer).await;
                continue;
            }
            return self.end(context, &progress, &steps);
        }
    }

    fn end(&self, context: &Context, progress: &Progress, steps: &[TracedStep]) -> Result<(), Failure> {
        let id = self.chat.id();
        let flow = &self.runner.flow().name;
        if context.output.json {
            let waits: Vec<_> = waits_of(progress).iter().map(wait_json).collect();
            let mut value = json!({
                "conversation": id, "flow": flow, "progress": progress, "steps": steps,
            });
            if let Some(shown) = value.get_mut("progress").and_then(Value::as_object_mut)
                && !waits.is_empty()
            {
                shown.insert("waits".to_owned(), waits.into());
            }
            context.print("", &value)?;
        }
        match stopped(flow, progress) {
            Some(error) => {
                failure::print(&error);
                Err(Failure::Problems)
            }
            None => {
                self.note(context, progress);
                Ok(())
            }
        }
    }

    fn note(&self, context: &Context, progress: &Progress) {
        let id = self.chat.id();
        for wait in waits_of(progress) {
            context.notes.say(format_args!("({} waits for {})", wait.state, expected(wait)));
            context.notes.say(format_args!("(resume: {})", resume_line(id, wait)));
        }
        if let Progress::Ended { state } = progress {
            context.notes.say(format_args!("(the flow ended at {state}; conversation {id})"));
        }
    }

    /// Returns the steps whose nodes are new on the path.
    async fn steps_beside(&self, before: &BTreeSet<NodeId>) -> Result<Vec<TracedStep>> {
        let mut steps = TracedStep::all(&self.chat.history().await?)?;
        steps.retain(|step| !before.contains(&step.node));
        Ok(steps)
    }
}

/// Prints the texts of the assistant: what states say, what they ask people, and the replies of the model.
fn print_steps(steps: &[TracedStep]) -> Result<(), Failure> {
    let mut out = screen::out(screen::of_documents());
    for step in steps {
        let is_answer = step.role == Role::User;
        let is_result = step.role == Role::Tool;
        if is_answer || is_result || step.text.is_empty() {
            continue;
        }
        out.write_all(format!("{}\n", step.text).as_bytes())?;
    }
    Ok(out.flush()?)
}

/// Returns what a flow waits for.
pub(crate) fn waits_of(progress: &Progress) -> &[Wait] {
    match progress {
        Progress::Waiting { waits, .. } => waits,
        _ => &[],
    }
}

/// Returns the error of a flow that neither ended nor waits.
fn stopped(flow: &str, progress: &Progress) -> Option<Error> {
    let message = match progress {
        Progress::Ended { .. } | Progress::Waiting { .. } => return None,
        Progress::Stuck { state, why } => {
            format!("flow {flow:?} is stuck at {state:?}, because no transition is taken: {}", why.join("; "))
        }
        Progress::TooManySteps { state, steps } => {
            format!("flow {flow:?} did not enter {state:?}: its limit is {steps} steps")
        }
        Progress::TooManyVisits { state, visits } => {
            format!("flow {flow:?} did not enter {state:?} again: the limit is {visits} visits")
        }
        Progress::TimedOut { state, seconds } => {
            format!("flow {flow:?} did not enter {state:?}: its limit is {seconds} seconds")
        }
        Progress::Changed { state, .. } => format!(
            "flow {flow:?} is at {state:?}, which its definition no longer has; name the former file with --flow, or go back \
             with `alloquy goto`"
        ),
        Progress::Branched { state, .. } => format!(
            "another program continued flow {flow:?} at the same time; the step of {state:?} is stored on a branch, which \
             `alloquy tree` shows"
        ),
        _ => format!("flow {flow:?} stopped at {:?}", progress.state()),
    };
    Some(Error::new(ErrorKind::Conflict, message))
}

/// Says what answer a state expects.
pub(crate) fn expected(wait: &Wait) -> String {
    let mut text = match &wait.expects {
        _ if wait.is_approval => "a decision, yes or no, of another person".to_owned(),
        Some(schema) => format!("an answer that fits {schema}"),
        None => "any text".to_owned(),
    };
    if let Some(due) = wait.due {
        text += &format!(", until {}", times::local(due));
    }
    text
}

fn resume_line(id: &ConversationId, wait: &Wait) -> String {
    let branch =
        wait.branch.as_ref().map(|branch| format!(" --branch {}", quoted(branch))).unwrap_or_default();
    let conversation = quoted(id.as_str());
    if wait.is_approval {
        format!("alloquy flow resume {conversation} yes --by NAME{branch}")
    } else {
        format!("alloquy flow resume {conversation} ANSWER{branch}")
    }
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}

/// Returns a wait for programs, with its times.
pub(crate) fn wait_json(wait: &Wait) -> Value {
    let mut value = json!(wait);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("since".to_owned(), time_json(wait.since));
        fields.insert("due".to_owned(), time_json(wait.due));
    }
    value
}

fn time_json(time: Option<SystemTime>) -> Value {
    time.map_or(Value::Null, |time| times::utc(time).into())
}

/// Asks the person at the terminal until the answer can be read; `None` if there is none.
fn asked(wait: &Wait, by: Option<&str>) -> Result<Option<Answer>, Failure> {
    loop {
        let question = if wait.is_approval { "[y]es or [n]o: " } else { "> " };
        let Some(line) = asking::ask(question) else { return Ok(None) };
        let by = match by {
            None if wait.is_approval => match asking::ask("your name: ") {
                Some(name) => Some(name.trim().to_owned()),
                None => return Ok(None),
            },
            by => by.map(str::to_owned),
        };
        match answer(wait, line.trim_end_matches(['\r', '\n']), by.as_deref()) {
            Ok(answer) => return Ok(Some(answer)),
            Err(error) => failure::print(&error),
        }
    }
}

/// Reads an answer as a state expects it.
///
/// # Errors
/// [`ErrorKind::Invalid`] for a decision that is neither yes nor no, or that has no name.
pub(crate) fn answer(wait: &Wait, text: &str, by: Option<&str>) -> Result<Answer> {
    let answer = wait.read(text)?;
    match by.filter(|by| !by.is_empty()) {
        Some(by) => Ok(answer.by(by)),
        None if wait.is_approval => {
            let message = "a decision needs the name of who decides: add --by NAME";
            Err(Error::new(ErrorKind::Invalid, message))
        }
        None => Ok(answer),
    }
}
