//! What dataknobs loses when a store fails, an id is taken, or two write at once. Such cases agree with nothing here on
//! purpose: what is checked is what is promised instead.

use std::sync::Arc;

use alloquy_core::manager::NewConversation;
use alloquy_core::store::{ConversationStore, ConversationStoreExt, MemoryStore};
use alloquy_core::{Content, Conversation, Manager, Message, Owner, Preface, Role, TurnRequest};
use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits};
use alloquy_testing::{FaultStore, StoreCall};
use pollster::block_on;
use serde_json::Value;

use crate::model::Provider;
use crate::outcome::Outcome;
use crate::session::{Result, said};
use crate::state::list;

/// Runs the operations of a case, or, where it has only what was left, both ways to lose something.
pub(crate) fn run(case: &Value) -> Outcome {
    let (promised, why) = if case["ops"].is_array() {
        (fails_whole(list(case, "ops")), "failed-saves")
    } else {
        (keeps_both(&case["stored_after"]), "overwriting")
    };
    match promised {
        Ok(()) => Outcome::Differs { how: "is kept here".to_owned(), why: vec![why] },
        Err(broken) => Outcome::Differs { how: broken, why: Vec::new() },
    }
}

/// A call that fails has changed nothing, and the next one succeeds.
fn fails_whole(ops: &[Value]) -> Result<()> {
    let store = Arc::new(FaultStore::new(MemoryStore::default()));
    let provider = Arc::new(Provider::new(&Value::Null));
    let manager = Manager::builder(provider).store(Arc::clone(&store) as _).build().map_err(said)?;
    let chat = block_on(manager.create(NewConversation::from(Preface::default()))).map_err(said)?;
    for op in ops {
        let before = block_on(store.export(&Owner::local(), chat.id())).map_err(said)?;
        let fails = op.get("error").is_some();
        if fails {
            let call =
                if op["op"] == "switch_to_node" { StoreCall::SetHead } else { StoreCall::AppendAndMove };
            let call = if op["op"] == "resume" { StoreCall::Record } else { call };
            store.fail(call, 0);
        }
        let done = perform(&manager, &chat, op);
        let after = block_on(store.export(&Owner::local(), chat.id())).map_err(said)?;
        if fails && (done.is_ok() || before != after) {
            return Err(format!("{op}: {done:?}, {before:?} became {after:?}"));
        }
        if !fails {
            done?;
        }
    }
    block_on(chat.complete(TurnRequest::default()).finish()).map(drop).map_err(said)
}

fn perform(manager: &Manager, chat: &Conversation, op: &Value) -> Result<()> {
    let args = &op["args"];
    match op["op"].as_str().unwrap() {
        "add_message" => {
            let role: Role = args["role"].as_str().unwrap().parse().map_err(said)?;
            let text = args["content"].as_str().unwrap_or_default().to_owned();
            block_on(chat.add(Message::new(role, vec![Content::Text(text)]))).map(drop).map_err(said)
        }
        "complete" => block_on(chat.complete(TurnRequest::default()).finish()).map(drop).map_err(said),
        "switch_to_node" => block_on(async { chat.goto(chat.resolve("0").await?).await }).map_err(said),
        "resume" => {
            block_on(alloquy_core::ConversationManager::open(manager, chat.id())).map(drop).map_err(said)
        }
        _ => Ok(()),
    }
}

/// Creating refuses an id that is taken, and of two writers neither loses anything.
fn keeps_both(left: &Value) -> Result<()> {
    let store = Arc::new(MemoryStore::default());
    let owner = Owner::local();
    let read = archive::read(ArchiveFormat::Dataknobs, &left.to_string(), &ArchiveLimits::default());
    let archive = read.and_then(|mut read| read.remove(0)).map_err(said)?.archive;
    block_on(store.import(&owner, &archive)).map_err(said)?;
    let manager = || {
        let provider = Arc::new(Provider::new(&Value::Null));
        Manager::builder(provider).store(Arc::clone(&store) as _).build().map_err(said)
    };
    let one = manager()?;
    let other = manager()?;
    let new = NewConversation::from(Preface::default()).id(archive.record.id.clone());
    if block_on(one.create(new)).is_ok() || block_on(store.import(&owner, &archive)).is_ok() {
        return Err("a conversation was overwritten".to_owned());
    }
    let open = |manager: &Manager| {
        block_on(alloquy_core::ConversationManager::open(manager, &archive.record.id)).map_err(said)
    };
    let turns = [open(&one)?.send("from A"), open(&other)?.send("from B")];
    let [a, b] = turns.map(alloquy_core::Turn::finish);
    let (a, b) = block_on(futures::future::join(a, b));
    a.and(b).map_err(said)?;
    let (_, tree) = block_on(store.load(&owner, &archive.record.id)).map_err(said)?;
    let said: Vec<_> = tree.nodes().map(|node| node.message.text()).collect();
    let kept = ["from A", "from B"].iter().all(|text| said.iter().any(|said| said == text));
    let all = archive.nodes.iter().all(|node| tree.node(node.id).is_ok());
    if kept && all { Ok(()) } else { Err(format!("something was lost: {said:?}")) }
}
