//! `alloquy guards`: the guards in force, and what they remove from a text.

use std::collections::BTreeMap;

use alloquy::core::{Error, ErrorKind};
use alloquy::guards::redact::{Redactor, Strategy};
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::{CallLimit, Guard, GuardArguments};
use crate::context::Context;
use crate::failure::Failure;
use crate::guards::{Conversations, Guards};
use crate::piped::Input;
use crate::printer::described;
use crate::settings::Origin;

const EXAMPLES: &str = "\
Examples:
  alloquy guards                                  the guards in force, and where each was set
  alloquy guards --guard redact \"Write to ann@example.org\"
  alloquy guards --guard redact:email=mask,card - < letter.txt
  alloquy guards --guard redact --limit tokens=2000,rate=10/min --json
  alloquy ask --guard redact --limit tokens=500 \"Hello!\"

A guard is redact (all of email, card, iban, key and phone), or redact: and some of them with commas between them. \
redact:words=FILE is a file with a word or a phrase on each line. What replaces a text follows it: email=name is [email] (the \
default), email=mask is asterisks, email=mask4 leaves the last 4 letters and digits, email=remove leaves nothing, email=block is an \
error.

A limit is tokens=N or cost=X of each conversation, or with /turn or /day of each of those, or rate=N/s, /min, /h or /day. Days, \
rates and stored conversations are counted together for all runs of this program.

In the configuration file:
  guards = [\"redact:email,card=mask\"]
  limits = [\"tokens=100000/day\", \"rate=10/min\"]";

/// Show the guards in force, and what they remove from a text
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GuardsCommand {
    /// The text to redact; - reads it from standard input
    text: Option<String>,
    #[command(flatten)]
    guards: GuardArguments,
}

impl GuardsCommand {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let arguments = context.settings.settle(&self.guards)?;
        // What cannot be built is wrong here as it is for a question.
        let guards = Guards::of(&arguments, Conversations::Stored)?;
        let mut value = json!({
            "guards": listed(&arguments.redaction.all_guards(), context.settings.origin("guards"), "guard"),
            "limits": listed(&arguments.all_limits()?, context.settings.origin("limits"), "limit"),
        });
        let Some(text) = text(self.text.as_deref())? else {
            if guards.is_empty() {
                context
                    .notes
                    .say("no guard is set: --guard redact removes texts, --limit tokens=2000 limits calls");
            }
            return context.print(&table(&arguments, context)?, &value);
        };
        let Some(redactor) = guards.redactor() else {
            let message = "no guard is set that removes texts, so that all of this text would be printed: name one with --guard redact";
            return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
        };
        let (shown, counts) = redacted(redactor, &text)?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert("text".to_owned(), shown.as_str().into());
            fields.insert("removed".to_owned(), json!(counts));
        }
        context.print_document(&shown, &value)?;
        let note = described(&counts, "this text")
            .unwrap_or_else(|| "(guards removed nothing from this text)".to_owned());
        context.notes.say(note);
        Ok(())
    }
}

/// Returns the text that is named: a line, or what is piped in.
fn text(named: Option<&str>) -> Result<Option<String>, Failure> {
    match named {
        Some("-") => Ok(Some(Input::default().text()?)),
        Some(text) => Ok(Some(format!("{text}\n"))),
        None => Ok(None),
    }
}

fn redacted(redactor: &Redactor, text: &str) -> Result<(String, BTreeMap<String, usize>), Error> {
    let mut stream = redactor.stream();
    let mut shown = stream.push(text)?;
    shown += &stream.finish()?;
    Ok((shown, stream.counts().clone()))
}

fn listed(items: &[impl ToString], origin: Origin, name: &str) -> Vec<Value> {
    items.iter().map(|item| json!({name: item.to_string(), "origin": origin.to_string()})).collect()
}

/// Lists limits of calls, then what is removed, then limits of tokens and cost: the order in which a question passes them.
fn table(arguments: &GuardArguments, context: &Context) -> Result<String, Failure> {
    let limits = arguments.all_limits()?;
    let origin = context.settings.origin("limits");
    let (rates, budgets): (Vec<_>, Vec<_>) =
        limits.iter().partition(|limit| matches!(limit, CallLimit::Calls(..)));
    let mut text = String::new();
    for rate in rates {
        text += &line(rate, origin, "refuses more calls");
    }
    for guard in &arguments.redaction.all_guards() {
        text += &line(guard, context.settings.origin("guards"), effect(guard));
    }
    for budget in budgets {
        text += &line(budget, origin, "refuses a call that may use more");
    }
    Ok(text)
}

fn line(item: &impl ToString, origin: Origin, effect: &str) -> String {
    format!("{:28} {:11} {effect}\n", item.to_string(), origin.to_string())
}

/// Says what becomes of a text that a guard finds.
fn effect(guard: &Guard) -> &'static str {
    match guard.strategy {
        Strategy::Mask { .. } => "is masked in answers, and in what the model reads",
        Strategy::Block => "is refused in answers, and in what the model reads",
        _ => "is removed from answers, and from what the model reads",
    }
}
