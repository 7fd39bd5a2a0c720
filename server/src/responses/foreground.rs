//! A response that is streamed to the client that requested it, and ends with it.

use std::sync::Arc;

use alloquy_core::{Owner, TurnEvent};

use super::approvals::note_open;
use super::events::{Event, EventWriter};
use crate::app::App;
use crate::error::ApiError;
use crate::open_approvals::OpenApprovals;
use crate::response_runs::{ResponseRuns, RunKey};
use crate::streaming::{Frame, TurnWriter};

/// Writes a stream that ends with its client.
pub(super) struct Foreground {
    writer: EventWriter,
    runs: Arc<ResponseRuns>,
    approvals: Arc<OpenApprovals>,
    owner: Owner,
    is_stored: bool,
    /// The response, once it is known.
    key: Option<RunKey>,
}

impl Foreground {
    pub(super) fn new(writer: EventWriter, app: &App, owner: &Owner, is_stored: bool) -> Self {
        let runs = Arc::clone(app.responses());
        let approvals = Arc::clone(app.approvals());
        Self { writer, runs, approvals, owner: owner.clone(), is_stored, key: None }
    }

    /// Notes the response once its first event is written.
    fn begin(&mut self) {
        self.key = self.writer.id().map(|id| RunKey::new(&self.owner, id));
        if let Some(key) = &self.key {
            self.runs.begin_stream(key.clone());
        }
    }

    /// Notes that the response has ended. A client that reads the last event finds it so.
    fn end(&self) {
        if let Some(key) = &self.key {
            self.runs.end_stream(key);
        }
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        self.end();
    }
}

impl TurnWriter for Foreground {
    fn begin(&mut self) -> Vec<Frame> {
        // The first event has the id of the response, which is known once the model has accepted the request.
        Vec::new()
    }

    fn event(&mut self, event: TurnEvent) -> Vec<Frame> {
        let last = match &event {
            TurnEvent::Finished(reply) => Some(reply.last),
            _ => None,
        };
        let events = self.writer.event(event);
        if last.is_some() && !self.is_stored {
            note_open(&self.writer.requests(), &self.approvals, &self.owner);
        }
        if self.key.is_none() && self.is_stored && !events.is_empty() {
            self.begin();
        }
        if let (Some(last), Some(key)) = (last, &self.key) {
            self.runs.note_last(key.clone(), last);
        }
        if last.is_some() {
            self.end();
        }
        events.iter().map(Event::frame).collect()
    }

    fn error(&mut self, error: &ApiError) -> Vec<Frame> {
        self.end();
        self.writer.error(error).iter().map(Event::frame).collect()
    }
}

#[cfg(test)]
mod tests {
    use alloquy_core::{Conversation, Error, ErrorKind, TurnRequest};
    use alloquy_testing::EchoModel;
    use futures::StreamExt;
    use serde_json::json;

    use super::super::settings::Settings;
    use super::*;
    use crate::items::MARK;

    /// Writes a turn, and returns whether the response was streamed before its last event and after it. The last event may be an error.
    async fn streamed(error: Option<Error>) -> (bool, bool) {
        let conversation = Conversation::new(EchoModel);
        let writer = EventWriter::new(Settings::default(), conversation.id().clone(), Vec::new());
        let runs = Arc::new(ResponseRuns::default());
        let mut writer = Foreground {
            writer,
            runs: Arc::clone(&runs),
            approvals: Arc::default(),
            owner: Owner::local(),
            is_stored: true,
            key: None,
        };
        let mut turn = conversation.send(TurnRequest::from("Hi").message_metadata(MARK, json!({})));
        let mut before = false;
        while let Some(event) = turn.next().await {
            let event = event.unwrap();
            let is_last = matches!(event, TurnEvent::Finished(_));
            let frames = match &error {
                Some(error) if is_last => writer.error(&error.clone().into()),
                _ => writer.event(event),
            };
            let key = writer.key.clone();
            let is_streamed = key.is_some_and(|key| runs.is_streamed(&key));
            if is_last {
                assert!(!frames.is_empty());
                return (before, is_streamed);
            }
            before = is_streamed;
        }
        panic!("the turn has no last event");
    }

    #[tokio::test]
    async fn a_response_has_ended_before_its_last_event_is_sent() {
        assert_eq!(streamed(None).await, (true, false));
        let error = Error::new(ErrorKind::Backend, "the model failed");
        assert_eq!(streamed(Some(error)).await, (true, false));
    }
}
