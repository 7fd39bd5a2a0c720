//! Programs that run a flow and are killed at random moments: they end as an undisturbed one does.
//!
//! A plain test run kills a few; `cargo xtask torture flows` says in the environment how many.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod shared;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use alloquy_core::manager::NewConversation;
use alloquy_core::tool::ToolContext;
use alloquy_core::{
    Conversation, ConversationId, ConversationManager, Manager, Node, Preface, Result, Role, Tool, ToolSpec,
};
use alloquy_flows::{Answer, CallKey, FlowRunner, FlowStep, Position, Progress, TracedStep};
use alloquy_testing::ScriptedModel;
use pollster::block_on;
use serde_json::{Value, json};
use shared::flow;

/// What the environment says to the test, and the test to the player.
const STORE: &str = "ALLOQUY_TORTURE_STORE";
const KILLS: &str = "ALLOQUY_TORTURE_KILLS";
const URL: &str = "ALLOQUY_TORTURE_URL";
const CHAT: &str = "ALLOQUY_TORTURE_CHAT";
const EFFECTS: &str = "ALLOQUY_TORTURE_EFFECTS";
const POSTGRES: &str = "ALLOQUY_TEST_POSTGRES";

/// Calls, answers, a reply of the model and a flow inside it, three times over.
const FLOW: &str = "
name: order
variables: {wish: string, made: string, praise: string, place: string, sent: string, again: string}
limits: {visits: 4}
states:
  question: {wait: {say: What would you like?, set: wish}, to: make}
  make: {call: {tool: kitchen, arguments: {wish: '{{wish}}', visit: '{{visit}}'}, set: made}, to: praise}
  praise: {ask: {text: 'Praise {{made}}', set: praise}, to: delivery}
  delivery: {flow: {name: delivery, with: {thing: '{{made}}'}, set: {place: place, sent: sent}}, to: again}
  again:
    wait: {say: 'Sent: {{sent}}. More?', set: again}
    to:
      - {if: {keyword: ['no']}, to: thanks}
      - to: make
  thanks: {say: '{{praise}}, thanks, {{place}}'}
flows:
  delivery:
    variables: {thing: string, place: string, sent: string}
    states:
      where: {wait: {say: 'Where to, with {{thing}}?', set: place}, to: send}
      send: {call: {tool: kitchen, arguments: {thing: '{{thing}}', place: '{{place}}'}, set: sent}, to: report}
      report: {say: 'It is on its way to {{place}}.'}
";

/// Returns the answer to a question that is asked for the nth time.
fn answer_to(state: &str, visit: usize) -> String {
    match (state, visit) {
        ("again", 3) => "no".to_owned(),
        _ => format!("{state} {visit}"),
    }
}

/// A tool whose effect is a line in a file.
#[derive(Debug)]
struct Kitchen {
    effects: PathBuf,
}

#[async_trait::async_trait]
impl Tool for Kitchen {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("kitchen", "Makes drinks", json!({"type": "object"}))
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        self.call_with(arguments, &ToolContext::default()).await
    }

    async fn call_with(&self, arguments: &Value, context: &ToolContext) -> Result<Value> {
        let key = context.turn_data.get::<CallKey>().expect("the call of a flow has a key").0;
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&self.effects).unwrap();
        file.write_all(format!("{key}\n").as_bytes()).unwrap();
        Ok(format!("made of {arguments}").into())
    }
}

/// Opens the conversation of a store, which is created if it is missing.
async fn opened(url: &str, id: &ConversationId) -> Conversation {
    let store = alloquy_storage::open(url).await.unwrap();
    let model = ScriptedModel::new([("<assistant>", "Delicious")]);
    let manager = Manager::builder(model).store(store).build().unwrap();
    match manager.open(id).await {
        Err(error) if error.is_not_found() => {
            manager.create(NewConversation::from(Preface::default()).id(id.clone())).await.unwrap()
        }
        opened => opened.unwrap(),
    }
}

fn runner(conversation: &Conversation, effects: &Path) -> FlowRunner {
    FlowRunner::new(flow(FLOW), conversation.clone()).tool(Kitchen { effects: effects.to_owned() })
}

/// Runs the flow, asks the test for the answers, and says which are stored.
#[test]
#[ignore = "the other tests start it as a process of its own"]
fn player() {
    let Ok(url) = std::env::var(URL) else {
        return println!("skipped: {URL} is not set, the other tests set it");
    };
    let id: ConversationId = std::env::var(CHAT).unwrap().parse().unwrap();
    let effects = PathBuf::from(std::env::var(EFFECTS).unwrap());
    block_on(async {
        let conversation = opened(&url, &id).await;
        let runner = runner(&conversation, &effects);
        say("begun", "");
        let mut progress = runner.run().await.unwrap();
        while let Progress::Waiting { state, .. } = &progress {
            let state = state.clone();
            let visit = runner.position().await.unwrap().unwrap().frames.last().unwrap().visit;
            say("waits", &format!("{state} {visit}"));
            let mut line = String::new();
            if std::io::stdin().read_line(&mut line).unwrap() == 0 {
                return;
            }
            progress = runner.resume(Answer::from(line.trim()).state(&state)).await.unwrap();
            say("answered", &format!("{state} {visit}"));
        }
        assert_eq!(progress, Progress::Ended { state: "thanks".to_owned() });
        say("ended", "");
    });
}

fn say(what: &str, more: &str) {
    let mut output = std::io::stdout();
    writeln!(output, "{what} {more}").unwrap();
    output.flush().unwrap();
}

/// What is the same however often a program was killed: the steps, in order, and the variables at the end.
#[derive(Debug, PartialEq)]
struct Ending {
    steps: Vec<String>,
    variables: Value,
}

impl Ending {
    fn of(path: &[Node]) -> Self {
        let mut steps = Vec::new();
        for step in TracedStep::all(path).unwrap() {
            let role = step.role.as_str();
            steps.push(format!(
                "{}. {}.{} {role}: {} ({:?})",
                step.step, step.flow, step.state, step.text, step.because
            ));
        }
        let position = Position::of(path).unwrap().unwrap();
        Self { steps, variables: position.variables().into() }
    }
}

/// Plays the flow in memory, without a kill.
fn undisturbed() -> Ending {
    let folder = tempfile::tempdir().unwrap();
    let model = ScriptedModel::new([("<assistant>", "Delicious")]);
    let conversation = Conversation::new(model);
    let runner = runner(&conversation, &folder.path().join("effects"));
    block_on(async {
        let mut progress = runner.run().await.unwrap();
        while let Progress::Waiting { state, .. } = &progress {
            let visit = runner.position().await.unwrap().unwrap().frames.last().unwrap().visit;
            progress = runner.resume(answer_to(state, visit)).await.unwrap();
        }
        assert_eq!(progress, Progress::Ended { state: "thanks".to_owned() });
        Ending::of(&conversation.history().await.unwrap())
    })
}

/// What was counted, and what was wrong.
#[derive(Default)]
struct Figures {
    kills: u64,
    flows: usize,
    answers: usize,
    calls: usize,
    repeated: usize,
    lost: usize,
    twice: usize,
    different: usize,
    dangling: usize,
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} kills in {} flows; {} answers acknowledged, {} calls with a result, {} of them repeated before it was stored; \
             {} answers lost, {} calls run again after their result, {} paths differ from an undisturbed run, {} dangling parents",
            self.kills,
            self.flows,
            self.answers,
            self.calls,
            self.repeated,
            self.lost,
            self.twice,
            self.different,
            self.dangling
        )
    }
}

/// A flow that is killed until it ends.
struct Victim<'a> {
    url: &'a str,
    id: ConversationId,
    effects: PathBuf,
    /// The answers that were acknowledged.
    answered: Vec<(String, usize)>,
    /// How often each call had run when its result was seen first.
    known: BTreeMap<String, usize>,
}

/// A program that runs the flow.
struct Player {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Victim<'_> {
    fn start(&self) -> Player {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "player", "--ignored", "--nocapture"]);
        command.env(URL, self.url).env(CHAT, self.id.as_str()).env(EFFECTS, &self.effects);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let input = child.stdin.take().unwrap();
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(std::result::Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Player { child, input, lines }
    }

    /// Lets a program run for a while, and kills it. Returns whether it ended first.
    fn play(&mut self, number: u64, longest: u64) -> bool {
        let mut player = self.start();
        let random = RandomState::new().hash_one(number);
        let mut until = Instant::now() + Duration::from_micros(random % (longest * 1000));
        let mut has_begun = number.is_multiple_of(8);
        let mut has_ended = false;
        if !has_begun {
            until += Duration::from_secs(60);
        }
        while let Ok(line) = player.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            let mut words = line.split(' ');
            match (words.next(), words.next(), words.next().and_then(|visit| visit.parse().ok())) {
                // Some are killed while they open the store, the others while they run.
                (Some("begun"), ..) if !has_begun => {
                    has_begun = true;
                    until = Instant::now() + Duration::from_micros(random % (longest * 1000));
                }
                (Some("waits"), Some(state), Some(visit)) => {
                    // It may be dead by now.
                    let _ = player.input.write_all(format!("{}\n", answer_to(state, visit)).as_bytes());
                }
                (Some("answered"), Some(state), Some(visit)) => self.answered.push((state.to_owned(), visit)),
                (Some("ended"), ..) => {
                    has_ended = true;
                    break;
                }
                _ => {}
            }
        }
        if !has_ended {
            player.child.kill().unwrap();
        }
        let status = player.child.wait().unwrap();
        assert_eq!(status.success(), has_ended, "a program ended by itself: {status}");
        // What it had said before.
        for line in &player.lines {
            let mut words = line.split(' ');
            if let (Some("answered"), Some(state), Some(Ok(visit))) =
                (words.next(), words.next(), words.next().map(str::parse))
            {
                self.answered.push((state.to_owned(), visit));
            }
        }
        has_ended
    }

    fn runs(&self) -> BTreeMap<String, usize> {
        let mut runs = BTreeMap::new();
        for key in std::fs::read_to_string(&self.effects).unwrap_or_default().lines() {
            *runs.entry(key.to_owned()).or_insert(0) += 1;
        }
        runs
    }

    /// Looks at what is stored.
    async fn check(&mut self, figures: &mut Figures) -> Vec<Node> {
        let conversation = opened(self.url, &self.id).await;
        let tree = conversation.tree().await.unwrap();
        let path = conversation.history().await.unwrap();
        figures.dangling +=
            tree.nodes().filter(|node| node.parent.is_some_and(|parent| tree.node(parent).is_err())).count();
        let mut stored = HashSet::new();
        for node in &path {
            let Some(step) = FlowStep::of(node).unwrap() else { continue };
            if node.message.role == Role::User
                && node.message.text() == answer_to(&step.at.state, step.at.visit)
            {
                stored.insert((step.at.state, step.at.visit));
            }
        }
        figures.lost += self.answered.iter().filter(|answer| !stored.contains(answer)).count();
        let runs = self.runs();
        for node in tree.nodes().filter(|node| node.message.role == Role::Tool) {
            let Some(key) = FlowStep::of(node).unwrap().and_then(|step| step.key) else { continue };
            let run = runs.get(&key.to_string()).copied().unwrap_or_default();
            let known = *self.known.entry(key.to_string()).or_insert(run);
            figures.twice += run - known;
        }
        path
    }
}

/// Kills programs over a store, one after the other, until each flow has ended.
fn torture(url: &str, kills: u64, longest: u64) -> Figures {
    let expected = undisturbed();
    let mut figures = Figures { kills, ..Figures::default() };
    let folder = tempfile::tempdir().unwrap();
    let mut killed = 0;
    while killed < kills {
        let number = figures.flows;
        let mut victim = Victim {
            url,
            id: format!("order-{number}").parse().unwrap(),
            effects: folder.path().join(format!("effects-{number}")),
            answered: Vec::new(),
            known: BTreeMap::new(),
        };
        loop {
            // Once enough are killed, the last one ends.
            let time = if killed < kills { longest } else { 600_000 };
            let has_ended = victim.play(killed, time);
            let path = block_on(victim.check(&mut figures));
            if has_ended {
                figures.different += usize::from(Ending::of(&path) != expected);
                break;
            }
            killed += 1;
        }
        figures.flows += 1;
        figures.answers += victim.answered.len();
        figures.calls += victim.known.len();
        figures.repeated += victim.known.values().filter(|runs| **runs > 1).count();
    }
    let wrong = figures.lost + figures.twice + figures.different + figures.dangling;
    assert_eq!(wrong, 0, "{figures}");
    assert!(figures.answers > 0 && figures.calls >= 6 * figures.flows, "{figures}");
    figures
}

#[test]
fn killed_flows_over_files() {
    let folder = tempfile::tempdir().unwrap();
    println!("{}", torture(&format!("file:{}", folder.path().display()), 15, 60));
}

#[test]
fn killed_flows_over_a_database() {
    let folder = tempfile::tempdir().unwrap();
    println!("{}", torture(&format!("sqlite:{}", folder.path().join("store.db").display()), 15, 60));
}

#[test]
fn killed_flows_over_what_the_environment_names() {
    let Ok(named) = std::env::var(STORE) else {
        return eprintln!("skipped: {STORE} names no store");
    };
    let folder = tempfile::tempdir().unwrap();
    let server = std::env::var(POSTGRES).ok().filter(|url| !url.is_empty());
    let mut urls = Vec::new();
    for store in ["file", "sqlite", "postgres"] {
        if named != "all" && named != store {
            continue;
        }
        match (store, &server) {
            ("postgres", Some(server)) => {
                let sign = if server.contains('?') { '&' } else { '?' };
                let schema = alloquy_core::NodeId::new().to_string().replace('-', "");
                urls.push((store, format!("{server}{sign}schema=test_{schema}")));
            }
            ("postgres", None) if named == "all" => {
                println!("torture flows postgres: skipped: {POSTGRES} does not say where a server is");
            }
            ("postgres", None) => panic!("{POSTGRES} does not say where a server is"),
            _ => urls.push((store, format!("{store}:{}", folder.path().join(store).display()))),
        }
    }
    assert!(!urls.is_empty(), "{named:?} is no store of flows, expected file, sqlite, postgres or all");
    let kills: u64 = std::env::var(KILLS).unwrap().parse().unwrap();
    let count = urls.len() as u64;
    for (index, (store, url)) in (0..).zip(urls) {
        let share = kills / count + u64::from(index < kills % count);
        if share == 0 {
            continue;
        }
        // A program connects to a server first.
        let longest = if store == "postgres" { 250 } else { 80 };
        println!("torture flows {store}: {}", torture(&url, share, longest));
    }
}
