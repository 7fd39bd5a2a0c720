//! How long a prompt takes to find the passages that an earlier message has, beside a search for them.
//!
//! `cargo bench -p alloquy-retrieval --bench reuse` prints a Markdown table: medians, on one thread, with 10,000 passages in memory and
//! conversations of 100 and of 10,000 messages in one memory store. Each lookup is on a new branch from the first message.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a benchmark may panic

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{
    FilledMessage, FilledPrompt, Prompt, PromptInfo, PromptName, PromptPlace, PromptRetrieval,
    RenderedPrompt, SourcedValues, TextTemplate, ValueSource, Values,
};
use alloquy_core::tree::NodePath;
use alloquy_core::{Manager, Message, Owner, Preface, Result, Role, TurnRequest};
use alloquy_retrieval::{Passage, PromptPassages, Reuse, WordIndex, WordOptions};
use alloquy_testing::EchoModel;
use pollster::block_on;

const PASSAGES: usize = 10_000;
/// How often a lookup is repeated.
const TIMES: usize = 101;

/// A value source that measures another one.
#[derive(Debug)]
struct Timed {
    source: PromptPassages,
    times: Arc<Mutex<Vec<Duration>>>,
}

#[async_trait::async_trait]
impl ValueSource for Timed {
    async fn values(
        &self,
        prompt: &dyn Prompt,
        given: &Values,
        place: &PromptPlace<'_>,
    ) -> Result<SourcedValues> {
        let start = Instant::now();
        let found = self.source.values(prompt, given, place).await;
        self.times.lock().unwrap().push(start.elapsed());
        found
    }
}

/// A template without variables.
#[derive(Debug)]
struct Plain(&'static str);

impl TextTemplate for Plain {
    fn template(&self) -> &str {
        self.0
    }

    fn render(&self, _: &Values) -> Result<RenderedPrompt> {
        let mut rendered = RenderedPrompt::default();
        rendered.push(self.0, None);
        Ok(rendered)
    }
}

/// A prompt that shows what is found for its question.
#[derive(Debug)]
struct Ask {
    info: PromptInfo,
    retrievals: Vec<PromptRetrieval>,
}

impl Prompt for Ask {
    fn info(&self) -> &PromptInfo {
        &self.info
    }

    fn fill(&self, values: &Values) -> Result<FilledPrompt> {
        let mut rendered = RenderedPrompt::default();
        let docs = values.get("DOCS").unwrap();
        rendered.push(docs.value.as_str().unwrap(), docs.source.clone());
        Ok(FilledPrompt::new(&self.info, vec![FilledMessage::new(Role::User, rendered)]))
    }

    fn retrievals(&self) -> &[PromptRetrieval] {
        &self.retrievals
    }
}

fn main() {
    let owner = Owner::local();
    let index = Arc::new(WordIndex::new(WordOptions::default()).unwrap());
    let mut passages = Vec::new();
    for number in 0..PASSAGES {
        let text =
            format!("Tea of garden {number} is grown on hill {} by family {}.", number % 97, number % 89);
        passages.push(Passage::new(number.to_string(), text.repeat(10)));
    }
    index.add(&owner, passages);

    println!("| a lookup of 5 of 10,000 passages | median |\n|---|---|");
    for (what, reuse) in [("found in an earlier message", Reuse::Lookups), ("searched for", Reuse::Never)] {
        for messages in [100, 10_000] {
            let times = lookups(&index, reuse, messages);
            println!("| {what}, {messages} messages | {times:.2?} |");
        }
    }
}

/// Returns the median of lookups in a conversation with so many messages.
fn lookups(index: &Arc<WordIndex>, reuse: Reuse, messages: usize) -> Duration {
    let times = Arc::new(Mutex::new(Vec::new()));
    let source = PromptPassages::new().named("docs", Arc::clone(index) as _).reuse(reuse);
    let source = Timed { source, times: Arc::clone(&times) };
    let manager = Manager::builder(EchoModel).value_source(source).build().unwrap();
    let query = Arc::new(Plain("Which family grows tea on hill 17, and in which garden?"));
    let info = PromptInfo::new(PromptName::user("ask"), Digest::of(b"ask"));
    let ask: Arc<dyn Prompt> =
        Arc::new(Ask { info, retrievals: vec![PromptRetrieval::new("docs", "DOCS", query)] });
    block_on(async {
        let conversation = manager.create(Preface::default()).await.unwrap();
        let root = NodePath::default();
        conversation.add(TurnRequest::default().fill_prompt(Arc::clone(&ask), Values::new())).await.unwrap();
        for number in 0..messages {
            if number % 100 == 0 {
                conversation.goto(root.clone()).await.unwrap();
            }
            conversation.add(Message::user(format!("message {number}"))).await.unwrap();
        }
        times.lock().unwrap().clear();
        for _ in 0..TIMES {
            conversation.goto(root.clone()).await.unwrap();
            conversation
                .add(TurnRequest::default().fill_prompt(Arc::clone(&ask), Values::new()))
                .await
                .unwrap();
        }
    });
    let mut times = times.lock().unwrap().clone();
    times.sort_unstable();
    times[times.len() / 2]
}
