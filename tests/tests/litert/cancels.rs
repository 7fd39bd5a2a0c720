//! Replies and scores that are called off, and scores.

use alloquy_core::{ErrorKind, Result};
use futures::FutureExt;
use serde_json::{Value, json};

use crate::messages;
use crate::scripts::{Compared, Stage};

/// What a score is the likelihood of an answer to.
const QUESTION: &str = "How are you?";

impl Stage {
    /// Sends a message and stops the answer as soon as it begins.
    pub(crate) fn send_and_stop(&mut self, step: &Value) -> Result<Vec<Compared>> {
        self.recorder.will_say("nobody waits for this");
        let said = messages::read(&step["message"])?;
        let turn = self.conversation.send(said);
        turn.cancel();
        let error = pollster::block_on(turn.finish()).err();
        let kind = error.map(|error| error.kind());
        self.value = json!({"error": kind.map(|kind| format!("{kind:?}"))});
        Ok(vec![(json!(true), json!(kind == Some(ErrorKind::Cancelled)))])
    }

    /// Scores answers; the conversation stays as it was.
    pub(crate) fn score(&mut self, targets: &Value) -> Result<Vec<Compared>> {
        let targets = texts(targets);
        let before = self.history();
        let scores = pollster::block_on(self.conversation.score(QUESTION, &targets))?;
        self.value = scores.first().map_or(Value::Null, |score| score.text.clone().into());
        let spelled = |text: &String| json!(text.len());
        Ok(vec![
            (json!(before), json!(self.history())),
            // The scripted engine speaks in bytes.
            (
                targets.iter().map(spelled).collect(),
                scores.iter().map(|score| json!(score.tokens.len())).collect(),
            ),
        ])
    }

    /// Scores answers, and calls that off; nothing of it is left in the way of the next.
    pub(crate) fn score_and_drop(&mut self, targets: &Value) -> Result<Vec<Compared>> {
        let request = alloquy_core::Request::new(self.preface.clone(), vec![QUESTION.into()]);
        let texts = texts(targets);
        let scoring = alloquy_core::ChatModel::score(&self.round, request, &texts);
        drop(scoring.now_or_never());
        self.score(targets)
    }
}

fn texts(targets: &Value) -> Vec<String> {
    targets.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}
