//! Random flows against a reference: answers, undo, two writers, other processes. `ALLOQUY_FUZZ_FLOWS` is the number of flows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod shared;

use std::sync::Arc;

use alloquy_core::store::MemoryStore;
use alloquy_core::{Conversation, ConversationManager, Manager, Preface};
use alloquy_flows::{Action, Condition, Flow, FlowRunner, Limits, Progress, State, WaitAction};
use alloquy_testing::{EchoModel, FaultStore};
use pollster::block_on;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use shared::{Counter, texts};

/// What a state does, where letters lead, and whether the last way is always taken.
type SpecState = (Does, Vec<(usize, usize)>, bool);

#[derive(Clone, Copy, Debug)]
enum Does {
    Say,
    Wait { says: bool },
    Call,
    Sub,
}

/// A flow: for each state what it does and where a letter in the last text leads; the last way of each is to the next state.
#[derive(Clone, Debug)]
struct Spec {
    states: Vec<SpecState>,
    steps: usize,
    visits: usize,
    sub: Option<Box<Spec>>,
}

#[derive(Clone, Debug)]
enum Op {
    Answer(usize),
    /// Goes back before an earlier answer.
    Undo(usize),
    /// Two answers at once.
    Both(usize, usize),
}

const LETTERS: [&str; 3] = ["a", "b", "c"];

/// What has happened so far in the reference.
struct Run<'a> {
    lines: Vec<String>,
    last: String,
    steps: usize,
    most: usize,
    answers: std::slice::Iter<'a, usize>,
}

/// Runs a flow from its beginning with these answers; the error says why it stops.
fn reference(spec: &Spec, name: &str, run: &mut Run<'_>) -> Result<String, String> {
    let mut visits = vec![0; spec.states.len()];
    let mut at = 0;
    loop {
        let (does, ways, always) = &spec.states[at];
        if run.steps >= run.most {
            return Err(format!("steps {name}{at}"));
        }
        if visits[at] >= spec.visits {
            return Err(format!("visits {name}{at}"));
        }
        run.steps += 1;
        visits[at] += 1;
        match does {
            Does::Say => {
                run.last = format!("{name}{at} visit {}", visits[at]);
                run.lines.push(format!("assistant: {}", run.last));
            }
            Does::Call => {
                run.last = format!("{name}{at} c");
                run.lines.extend(["assistant: ".to_owned(), format!("tool: {}", run.last)]);
            }
            Does::Sub => drop(reference(spec.sub.as_ref().unwrap(), "sub", run)?),
            Does::Wait { says } => {
                if *says {
                    run.lines.push(format!("assistant: {name}{at}?"));
                }
                let Some(answer) = run.answers.next() else { return Err(format!("waiting {name}{at}")) };
                run.last = LETTERS[*answer].to_owned();
                run.lines.push(format!("user: {}", run.last));
            }
        }
        let next = at + 1;
        let way = ways.iter().find(|(letter, _)| run.last.contains(LETTERS[*letter]));
        at = match way {
            _ if next == spec.states.len() => return Ok(format!("ended {name}{at}")),
            Some((_, to)) => *to,
            None if *always => next,
            None => return Err(format!("stuck {name}{at}")),
        };
    }
}

fn built(spec: &Spec, name: &str) -> Flow {
    let limits = Limits::default().steps(spec.steps).visits(spec.visits);
    let mut flow = Flow::new(name).limits(limits);
    for (at, (does, ways, always)) in spec.states.iter().enumerate() {
        let action = match does {
            Does::Say => Action::say(format!("{name}{at} visit {{{{visit}}}}")),
            Does::Call => Action::call("echo", json!({"text": format!("{name}{at} c")}), "result"),
            Does::Sub => Action::flow("sub"),
            Does::Wait { says } => {
                let mut wait = WaitAction::default();
                wait.text = says.then(|| format!("{name}{at}?").into());
                Action::Wait(wait)
            }
        };
        let mut state = State::new(format!("{name}{at}"), action);
        if at + 1 < spec.states.len() {
            for (letter, to) in ways {
                state = state.to_if(Condition::keyword([LETTERS[*letter]]), format!("{name}{to}"));
            }
            let rest = if *always { Condition::Always } else { Condition::keyword(["never"]) };
            state = state.to_if(rest, format!("{name}{}", at + 1));
        }
        flow = flow.state(state);
    }
    match &spec.sub {
        Some(sub) => flow.flow(built(sub, "sub")),
        None => flow,
    }
}

/// Says the text that it is called with.
#[derive(Clone, Debug)]
struct Echo(Counter);

#[async_trait::async_trait]
impl alloquy_core::Tool for Echo {
    fn spec(&self) -> alloquy_core::ToolSpec {
        alloquy_core::ToolSpec::new("echo", "Repeats a text", json!({"type": "object"}))
    }
    async fn call(&self, arguments: &serde_json::Value) -> alloquy_core::Result<serde_json::Value> {
        Ok(arguments["text"].clone())
    }
    async fn call_with(
        &self,
        arguments: &serde_json::Value,
        context: &alloquy_core::tool::ToolContext,
    ) -> alloquy_core::Result<serde_json::Value> {
        self.0.call_with(arguments, context).await?;
        self.call(arguments).await
    }
}

fn said(progress: &Progress) -> String {
    let kind = match progress {
        Progress::Ended { .. } => "ended",
        Progress::Waiting { .. } => "waiting",
        Progress::Stuck { .. } => "stuck",
        Progress::TooManySteps { .. } => "steps",
        Progress::TooManyVisits { .. } => "visits",
        other => panic!("{other:?}"),
    };
    format!("{kind} {}", progress.state())
}

fn expected(spec: &Spec, answers: &[usize]) -> (Vec<String>, String) {
    let mut run =
        Run { lines: Vec::new(), last: String::new(), steps: 0, most: spec.steps, answers: answers.iter() };
    let end = match reference(spec, "f", &mut run) {
        Ok(end) | Err(end) => end,
    };
    (run.lines, end)
}

async fn check(spec: &Spec, ops: &[Op]) {
    let flow = Arc::new(built(spec, "f"));
    assert_eq!(flow.problems(), []);
    let store = Arc::new(FaultStore::new(MemoryStore::default()).slow());
    let manager = || Manager::builder(EchoModel).store(store.clone()).build().unwrap();
    let id = manager().create(Preface::default()).await.unwrap().id().clone();
    let counter = Counter::default();
    let runner = |conversation: &Conversation| {
        FlowRunner::new(Arc::clone(&flow), conversation.clone()).tool(Echo(counter.clone()))
    };
    let first = manager().open(&id).await.unwrap();
    let mut answers = Vec::new();
    let mut progress = runner(&first).run().await.unwrap();
    for op in ops {
        let (lines, end) = expected(spec, &answers);
        assert_eq!(said(&progress), end, "{answers:?}");
        let conversation = manager().open(&id).await.unwrap();
        assert_eq!(texts(&conversation).await, lines, "{answers:?}");
        let is_waiting = matches!(progress, Progress::Waiting { .. });
        match op {
            Op::Undo(back) if !answers.is_empty() => {
                answers.truncate(back % answers.len());
                let before = answers.len();
                let history = conversation.history().await.unwrap();
                let asked =
                    history.iter().filter(|node| node.message.role == alloquy_core::Role::User).nth(before);
                conversation.goto(asked.unwrap().parent).await.unwrap();
                progress = runner(&conversation).run().await.unwrap();
            }
            Op::Answer(answer) if is_waiting => {
                progress = runner(&conversation).resume(LETTERS[*answer]).await.unwrap();
                answers.push(*answer);
            }
            Op::Both(one, other) if is_waiting => {
                let elsewhere = manager().open(&id).await.unwrap();
                let (runner_one, runner_other) = (runner(&conversation), runner(&elsewhere));
                let (first, second) =
                    futures::join!(runner_one.resume(LETTERS[*one]), runner_other.resume(LETTERS[*other]));
                let winner = match (first.unwrap(), second.unwrap()) {
                    (Progress::Branched { .. }, Progress::Branched { .. }) => panic!("nobody continues"),
                    (Progress::Branched { .. }, _) => *other,
                    (_, Progress::Branched { .. }) => *one,
                    both => panic!("both continue: {both:?}"),
                };
                answers.push(winner);
                progress = runner(&conversation).run().await.unwrap();
            }
            _ => {}
        }
    }
    // A call whose result is stored has not run again.
    let mut keys = counter.keys();
    let calls = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(calls, keys.len());
}

fn spec(most: usize, inner: bool) -> impl Strategy<Value = Spec> {
    let does = prop_oneof![
        2 => Just(Does::Say),
        2 => any::<bool>().prop_map(|says| Does::Wait { says }),
        1 => Just(Does::Call),
        if inner { 0 } else { 1 } => Just(Does::Sub),
    ];
    let ways = prop::collection::vec((0..3_usize, 0..most), 0..3);
    let states = prop::collection::vec((does, ways, prop::bool::weighted(0.8)), 1..=most);
    (states, 3..20_usize, 1..4_usize).prop_map(|(mut states, steps, visits)| {
        let count = states.len();
        for (_, ways, _) in &mut states {
            ways.iter_mut().for_each(|(_, to)| *to %= count);
        }
        Spec { states, steps, visits, sub: None }
    })
}

#[test]
fn random_flows_do_as_the_reference() {
    let cases = std::env::var("ALLOQUY_FUZZ_FLOWS").ok().and_then(|count| count.parse().ok()).unwrap_or(300);
    let whole = (spec(5, false), spec(3, true)).prop_map(|(mut spec, sub)| {
        if spec.states.iter().any(|(does, ..)| matches!(does, Does::Sub)) {
            spec.sub = Some(Box::new(sub));
        }
        spec
    });
    let op = prop_oneof![
        5 => (0..3_usize).prop_map(Op::Answer),
        1 => any::<usize>().prop_map(Op::Undo),
        1 => (0..3_usize, 0..3_usize).prop_map(|(one, other)| Op::Both(one, other)),
    ];
    let ops = prop::collection::vec(op, 0..8);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&(whole, ops), |(spec, ops)| {
            block_on(check(&spec, &ops));
            Ok(())
        })
        .unwrap();
}
