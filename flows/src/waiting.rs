//! What a running flow waits for, and what is due.

use std::ops::ControlFlow;
use std::time::SystemTime;

use alloquy_core::{NodeId, Result};

use crate::plan::Next;
use crate::progress::{Progress, Wait};
use crate::runner::{FlowRunner, Place, must_have_none};

impl FlowRunner {
    /// Returns the states that wait for an answer. None waits if the flow has ended, or if a step comes first.
    ///
    /// ```
    /// use alloquy_core::Conversation;
    /// use alloquy_flows::{Action, Flow, FlowRunner, State};
    /// # use alloquy_testing::EchoModel;
    ///
    /// # pollster::block_on(async {
    /// let flow = Flow::new("name").state(State::new("name", Action::wait()));
    /// let runner = FlowRunner::new(flow, Conversation::new(EchoModel));
    /// assert_eq!(runner.waits().await?[0].state, "name");
    /// runner.resume("Ada").await?;
    /// assert_eq!(runner.waits().await?, []);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`FlowRunner::run`], but prompts and tools may be missing. Nothing is stored.
    pub async fn waits(&self) -> Result<Vec<Wait>> {
        let place = self.place().await?;
        self.waits_of(&place).await
    }

    /// Returns the states that waited at an earlier question, which [`FlowRunner::correct`] answers again.
    ///
    /// `node` is the question, or its answer.
    ///
    /// ```
    /// use alloquy_core::Conversation;
    /// use alloquy_flows::{Action, Flow, FlowRunner, State};
    /// # use alloquy_testing::EchoModel;
    ///
    /// # pollster::block_on(async {
    /// let flow = Flow::new("name").state(State::new("name", Action::wait()));
    /// let conversation = Conversation::new(EchoModel);
    /// let runner = FlowRunner::new(flow, conversation.clone());
    /// runner.resume("An").await?;
    /// let answer = conversation.history().await?[0].id;
    /// assert_eq!(runner.waits_at(answer).await?[0].state, "name");
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`FlowRunner::run`]; [`ErrorKind::NotFound`](alloquy_core::ErrorKind) for a node that does not exist. Nothing is stored.
    pub async fn waits_at(&self, node: NodeId) -> Result<Vec<Wait>> {
        let place = self.place_of_question(node).await?;
        self.waits_of(&place).await
    }

    /// Prompts and tools are not needed here.
    async fn waits_of(&self, place: &Place) -> Result<Vec<Wait>> {
        must_have_none(self.flow(), self.flow().problems())?;
        let Next::Wait(tracks) = self.next(place).await? else { return Ok(Vec::new()) };
        Ok(tracks.iter().filter_map(|track| track.wait(self.flow())).collect())
    }

    /// Returns the states whose answers are due at a time.
    ///
    /// A host that has a clock calls it, and then [`FlowRunner::run_late`].
    ///
    /// # Errors
    /// As [`FlowRunner::run`], but prompts and tools may be missing. Nothing is stored.
    pub async fn due(&self, now: SystemTime) -> Result<Vec<Wait>> {
        let mut waits = self.waits().await?;
        waits.retain(|wait| wait.due.is_some_and(|due| due <= now));
        Ok(waits)
    }

    /// Continues at the `late` state of the first state whose answer is due at a time, and runs the flow.
    ///
    /// Where several branches of a fork are late, each call continues one of them.
    ///
    /// # Errors
    /// As [`FlowRunner::run`].
    pub async fn run_late(&self, now: SystemTime) -> Result<Progress> {
        must_have_none(self.flow(), self.problems())?;
        let place = self.place().await?;
        if let Next::Wait(tracks) = self.next(&place).await? {
            for track in tracks {
                let Some(wait) = track.wait(&self.flow) else { continue };
                let is_due = wait.due.is_some_and(|due| due <= now);
                if let Some(to) = wait.late.filter(|_| is_due) {
                    let next = self.planner().late(track, to).await?;
                    return match self.take(&place, next).await? {
                        ControlFlow::Break(progress) => Ok(progress),
                        ControlFlow::Continue(added) => self.continue_after(added).await,
                    };
                }
            }
        }
        self.continue_after(None).await
    }
}
