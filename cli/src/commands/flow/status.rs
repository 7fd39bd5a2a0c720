//! `alloquy flow status`: where flows are, and why.

use std::path::PathBuf;
use std::time::SystemTime;

use alloquy::core::query::Filter;
use alloquy::core::store::ConversationRecord;
use alloquy::core::{ConversationId, ConversationManager as _, Manager, Query, Result};
use alloquy::flows::{FlowRunner, Position, TracedStep, Wait};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::{Value, json};

use super::definition::{DEFINITIONS, Definition};
use super::waits::{expected, wait_json};
use crate::arguments::StoreArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::kept::{self, Kept};
use crate::preview::shortened;
use crate::stored::NoModel;
use crate::visible::on_one_line;
use crate::{current, names};

const EXAMPLES: &str = "\
Examples:
  alloquy flow status                     of the last conversation
  alloquy flow status tea --json | jq .variables
  alloquy flow status --due               everything in any conversation whose deadline has passed

Each step of the trace has the condition that was true, and after \"not\" those before it that were not. A deadline that has passed changes \
nothing by itself: `alloquy flow resume tea --late` continues.";

/// How many characters of a text the trace shows.
const WIDTH: usize = 60;

/// Show where a flow is, its variables, and why it came there
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Status {
    /// The conversation; the last one unless set, and with --due every one
    #[arg(env = "ALLOQUY_CONVERSATION")]
    conversation: Option<ConversationId>,
    /// List what is due now
    #[arg(long, env = "ALLOQUY_DUE", value_parser = Switch::new())]
    due: bool,
    /// Read the definition from this file
    #[arg(long = "flow", value_name = "FILE", env = "ALLOQUY_FLOW")]
    file: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArguments,
}

/// A flow of a conversation.
struct Shown {
    id: ConversationId,
    definition: Definition,
    runner: FlowRunner,
    position: Option<Position>,
    trace: Vec<TracedStep>,
}

impl Status {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(async {
            let kept = kept::kept_for_reading(&context.settings.settle(&self.store)?).await?;
            if self.due { self.print_due(context, &kept).await } else { self.print(context, &kept).await }
        })
    }

    async fn print(&self, context: &Context, kept: &Kept) -> Result<(), Failure> {
        let id = match &self.conversation {
            Some(name) => names::existing(kept, name).await?.record.id,
            None => current::last(kept).await?,
        };
        let record = kept.store.record(&kept.owner, &id).await?;
        let shown = self.shown(context, kept, &record).await?;
        let waits = shown.waits(context).await;
        let has_changed = shown.has_changed();
        if has_changed {
            context.notes.say("the definition has changed since the last step");
        }
        context.print(&shown.text(&waits), &shown.json(&waits, has_changed))
    }

    async fn print_due(&self, context: &Context, kept: &Kept) -> Result<(), Failure> {
        let now = SystemTime::now();
        let mut text = String::new();
        let mut values = Vec::new();
        for record in self.records(context, kept).await? {
            let shown = match self.shown(context, kept, &record).await {
                Ok(shown) => shown,
                Err(Failure::Error(error)) => {
                    context.notes.say(format_args!("conversation {} is left out: {error}", record.id));
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            for wait in shown.waits(context).await {
                if wait.due.is_none_or(|due| due > now) {
                    continue;
                }
                text += &format!("{}\t{}\t{}\n", record.id, wait.state, expected(&wait));
                let mut value = wait_json(&wait);
                if let Some(fields) = value.as_object_mut() {
                    fields.insert("conversation".to_owned(), json!(record.id));
                }
                values.push(value);
            }
        }
        if values.is_empty() {
            context.notes.say("nothing is due");
        }
        context.print(&text, &json!({"due": values}))
    }

    /// Returns the conversation that is named, or every one with a flow.
    async fn records(&self, context: &Context, kept: &Kept) -> Result<Vec<ConversationRecord>> {
        if let Some(name) = &self.conversation {
            let id = names::existing(kept, name).await?.record.id;
            return Ok(vec![kept.store.record(&kept.owner, &id).await?]);
        }
        let query = Query::default().filter(Filter::exists(DEFINITIONS));
        let page = kept.store.list(&kept.owner, &query).await?;
        context.notes.damaged(&page.damaged);
        Ok(page.conversations.into_iter().map(|summary| summary.record).collect())
    }

    async fn shown(
        &self,
        context: &Context,
        kept: &Kept,
        record: &ConversationRecord,
    ) -> Result<Shown, Failure> {
        let path = match record.head {
            Some(head) => kept.store.load_path(&kept.owner, &record.id, head).await?,
            None => Vec::new(),
        };
        let named = self.file.as_deref();
        let (definition, position) = Definition::on_path(&path, named, &record.metadata, context.notes)?;
        let manager =
            Manager::builder(NoModel).store(kept.store.clone()).owner(kept.owner.clone()).build()?;
        let chat = manager.open(&record.id).await?;
        let runner = FlowRunner::new(definition.flow.clone(), chat);
        let trace = TracedStep::all(&path)?;
        Ok(Shown { id: record.id.clone(), definition, runner, position, trace })
    }
}

impl Shown {
    fn has_changed(&self) -> bool {
        let digest = self.definition.flow.digest();
        self.position.as_ref().is_some_and(|position| position.digest != digest)
    }

    /// Returns what the flow waits for. Where a model or a tool has to be asked first, nothing is known of it.
    async fn waits(&self, context: &Context) -> Vec<Wait> {
        match self.runner.waits().await {
            Ok(waits) => waits,
            Err(error) => {
                context.notes.say(format_args!("what comes next is unknown: {error}"));
                Vec::new()
            }
        }
    }

    fn text(&self, waits: &[Wait]) -> String {
        let name = &self.definition.flow.name;
        let Some(position) = &self.position else {
            return format!("conversation {}: flow {name} has taken no step\n", self.id) + &waiting(waits);
        };
        let state = if position.flow() == position.name {
            position.state().to_owned()
        } else {
            format!("{} of {}", position.state(), position.flow())
        };
        let mut text =
            format!("conversation {}: flow {} at {state}, step {}\n", self.id, position.name, position.step);
        text += &waiting(waits);
        for frame in &position.frames {
            if !frame.variables.is_empty() {
                text += &format!("variables of {}:\n", frame.flow);
            }
            for (name, value) in &frame.variables {
                text += &format!("  {name} = {}\n", on_one_line(&value.to_string()));
            }
        }
        text += "trace:\n";
        for step in &self.trace {
            text += &traced(step);
        }
        text
    }

    fn json(&self, waits: &[Wait], has_changed: bool) -> Value {
        let position = self.position.as_ref();
        let frames: Vec<_> =
            position.map(|position| &position.frames).into_iter().flatten().map(frame_json).collect();
        json!({
            "conversation": self.id,
            "flow": self.definition.flow.name,
            "file": self.definition.file,
            "changed": has_changed,
            "state": position.map(Position::state),
            "step": position.map_or(0, |position| position.step),
            "kind": position.map(|position| position.kind),
            "branch": position.and_then(Position::branch),
            "variables": position.map(Position::variables),
            "frames": frames,
            "waits": waits.iter().map(wait_json).collect::<Vec<_>>(),
            "trace": self.trace,
        })
    }
}

fn frame_json(frame: &alloquy::flows::Frame) -> Value {
    json!({"flow": frame.flow, "state": frame.state, "visit": frame.visit, "variables": frame.variables})
}

fn waiting(waits: &[Wait]) -> String {
    let mut text = String::new();
    for wait in waits {
        text += &format!("  {} waits for {}\n", wait.state, expected(wait));
    }
    text
}

/// Shows a step: what it did, who did it, and which condition led there.
fn traced(step: &TracedStep) -> String {
    let mut text = format!("  {}. {}: {}", step.step, step.state, shortened(&step.text, WIDTH));
    if let Some(by) = &step.by {
        text += &format!(" [{by}]");
    }
    text.push('\n');
    for because in &step.because {
        text += &format!("       {}\n", on_one_line(&because.why));
        for not in &because.not {
            text += &format!("       not {}\n", on_one_line(not));
        }
    }
    text
}
