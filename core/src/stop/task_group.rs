//! Groups of turns and replies that are cancelled and awaited together.

use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::stop::StopSignal;
use crate::stream::EventStream;

/// A group of turns and replies that are cancelled together. Clones are the same group.
///
/// Each task has a signal of its own, so that it can be cancelled alone; cancelling the group cancels all. Cancelling
/// is graceful like [`Turn::cancel`](crate::Turn::cancel): the text so far is kept. A group stays cancelled: a task that is
/// begun later ends before its first word, so none is missed. Use another group for later tasks.
///
/// A turn joins it with [`TurnRequest::group`](crate::TurnRequest::group), and a model's reply
/// with a [`Task`].
///
/// ```
/// use std::sync::Arc;
/// use alloquy_core::{Manager, Preface, TurnRequest};
/// use alloquy_core::stop::TaskGroup;
/// use alloquy_testing::EchoModel;
/// use futures::StreamExt;
///
/// # pollster::block_on(async {
/// let manager = Manager::new(EchoModel);
/// let (one, other) = (manager.create(Preface::default()).await?, manager.create(Preface::default()).await?);
/// let group = TaskGroup::new();
/// let mut turns = [&one, &other].map(|one| one.send(TurnRequest::from("one two three").group(&group)));
/// for turn in &mut turns {
///     // The node of the user message, then the first word.
///     turn.next().await;
///     turn.next().await;
/// }
/// group.cancel();
/// for turn in turns {
///     assert_eq!(turn.finish().await?.text(), "one ");
/// }
/// group.ended().await;
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TaskGroup(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    stop: StopSignal,
    running: Mutex<Running>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Running {
    tasks: usize,
    waiting: Vec<Waker>,
}

impl TaskGroup {
    /// Creates an empty group.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a task, which runs until its handle is dropped.
    pub fn begin(&self) -> Task {
        self.0.running().tasks += 1;
        Task { stop: self.0.stop.child(), group: Arc::clone(&self.0) }
    }

    /// Cancels all tasks of the group, including those that are begun later.
    pub fn cancel(&self) {
        self.0.stop.stop();
    }

    /// Returns whether the group was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.stop.is_stopped()
    }

    /// Returns how many tasks are running.
    pub fn running(&self) -> usize {
        self.0.running().tasks
    }

    /// Waits until no task of the group is running.
    ///
    /// Turns and replies advance only while they are polled, so this waits until their owners have polled them to the
    /// end or dropped them.
    pub async fn ended(&self) {
        poll_fn(|context| {
            let mut running = self.0.running();
            if running.tasks == 0 {
                return Poll::Ready(());
            }
            if !running.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                running.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// Waits until no task of the group is running, at most for `timeout`. Returns whether none is running.
    ///
    /// It blocks the thread like [`Conversation::ask`](crate::Conversation::ask), so turns that only this thread polls
    /// do not advance meanwhile. In async code, await [`TaskGroup::ended`] with a timeout of the runtime.
    ///
    /// ```
    /// use std::time::Duration;
    /// use alloquy_core::{Conversation, TurnRequest};
    /// use alloquy_core::stop::TaskGroup;
    /// use alloquy_testing::EchoModel;
    ///
    /// let group = TaskGroup::new();
    /// let turn = Conversation::new(EchoModel).send(TurnRequest::from("Hello").group(&group));
    /// assert!(!group.wait(Duration::from_millis(1)));
    /// let answering = std::thread::spawn(|| pollster::block_on(turn.finish()));
    /// assert!(group.wait(Duration::from_secs(60)));
    /// # answering.join().unwrap()?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn wait(&self, timeout: Duration) -> bool {
        let running = self.0.running();
        let waited = self.0.ended.wait_timeout_while(running, timeout, |running| running.tasks > 0);
        let (running, _) = waited.unwrap_or_else(PoisonError::into_inner);
        running.tasks == 0
    }
}

impl Shared {
    fn running(&self) -> MutexGuard<'_, Running> {
        // The count and the wakers are valid even if a thread panicked while it held the lock.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task of a [`TaskGroup`]. It ends when it is dropped.
///
/// ```
/// use alloquy_core::{ChatModel, Message, Preface, Request};
/// use alloquy_core::stop::TaskGroup;
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let group = TaskGroup::new();
/// let task = group.begin();
/// let request = Request::new(Preface::default(), vec![Message::user("one two")]).stop(task.stop_signal());
/// let reply = task.hold(EchoModel.reply(request).await?);
/// assert_eq!(group.running(), 1);
/// reply.finish().await?;
/// assert_eq!(group.running(), 0);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a task that is dropped has ended"]
pub struct Task {
    stop: StopSignal,
    group: Arc<Shared>,
}

impl Task {
    /// Returns the signal that cancels this task, alone or with its group.
    pub fn stop_signal(&self) -> StopSignal {
        self.stop.clone()
    }

    /// Returns a run as the task, if there is one.
    pub(crate) fn hold_where<E: Send + 'static, R: Send + 'static>(
        task: Option<Self>,
        run: EventStream<E, R>,
    ) -> EventStream<E, R> {
        match task {
            Some(task) => task.hold(run),
            None => run,
        }
    }

    /// Returns a run that holds this task, which ends when the run ends or is dropped.
    pub fn hold<E: Send + 'static, R: Send + 'static>(self, run: EventStream<E, R>) -> EventStream<E, R> {
        run.map_result(move |result| {
            drop(self);
            Ok(result)
        })
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let mut running = self.group.running();
        running.tasks = running.tasks.saturating_sub(1);
        if running.tasks == 0 {
            let waiting = std::mem::take(&mut running.waiting);
            drop(running);
            self.group.ended.notify_all();
            for waker in waiting {
                waker.wake();
            }
        }
    }
}
