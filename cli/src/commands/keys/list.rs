//! `alloquy keys list`: the keys without their secrets.

use std::time::{Duration, SystemTime};

use alloquy_server::{Key, KeyLimits};
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::KeyArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::key_file;
use crate::screen;
use crate::table::Table;
use crate::times;

const EXAMPLES: &str = "\
Examples:
  alloquy keys list
  alloquy keys list --keys keys.json --json";

/// List the keys, without their secrets
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct List {
    #[command(flatten)]
    keys: KeyArguments,
}

impl List {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let arguments = context.settings.settle(&self.keys)?;
        let keys = key_file::known_keys(&arguments)?;
        if keys.keys().is_empty() {
            context.notes.say("there are no keys: `alloquy keys add OWNER` creates one");
        }
        let mut table = Table::new(["ID", "OWNER", "CREATED", "REVOKED", "LIMITS"]);
        for key in keys.keys() {
            let revoked = key.revoked.map(|seconds| times::local(time(seconds))).unwrap_or_default();
            table.push([
                key.id.clone(),
                key.owner.to_string(),
                times::local(time(key.created)),
                revoked,
                limits(&key.limits),
            ]);
        }
        let json: Vec<Value> = keys.keys().iter().map(shown).collect();
        let text = if keys.keys().is_empty() { String::new() } else { table.aligned(screen::width()) };
        context.print(&text, &json!({"keys": json}))
    }
}

fn time(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn limits(limits: &KeyLimits) -> String {
    let mut words = Vec::new();
    if let Some(calls) = limits.calls_per_minute {
        words.push(format!("{calls} calls/min"));
    }
    if let Some(tokens) = limits.tokens_per_day {
        words.push(format!("{tokens} tokens/day"));
    }
    if let Some(running) = limits.running {
        words.push(format!("{running} at once"));
    }
    words.join(", ")
}

fn shown(key: &Key) -> Value {
    json!({"id": key.id, "owner": key.owner, "created": key.created, "revoked": key.revoked, "limits": key.limits})
}
