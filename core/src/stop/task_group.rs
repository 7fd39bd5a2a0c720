//! Turns and completions that are cancelled together, and waited for together. Knows no model and no store.

use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::stop::StopSignal;
use crate::stream::Run;

/// Turns and completions that end together. Clones are the same group.
///
/// Whatever is begun in it has a signal of its own, so that one can be ended alone; cancelling the group ends all. Ending is
/// graceful, as [`Turn::stop`](crate::Turn::stop) is: what was said is kept. A group that was cancelled stays so: what is begun
/// in it later ends before its first word, so that nothing slips through between two calls. For what comes next there is
/// another group.
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
///     // The question, then the first word.
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
    /// Creates a group in which nothing runs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a task, which runs until the handle is dropped.
    pub fn begin(&self) -> Task {
        self.0.running().tasks += 1;
        Task { stop: self.0.stop.child(), group: Arc::clone(&self.0) }
    }

    /// Ends everything that runs in the group, and whatever is begun in it from now on.
    pub fn cancel(&self) {
        self.0.stop.stop();
    }

    /// Says whether the group was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.stop.is_stopped()
    }

    /// Returns how many tasks run.
    pub fn running(&self) -> usize {
        self.0.running().tasks
    }

    /// Waits until nothing runs in the group.
    ///
    /// Turns and replies advance while they are polled: this waits for whoever polls them, or drops them.
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

    /// Waits until nothing runs in the group, at most for `timeout`; returns whether nothing runs.
    ///
    /// It blocks the thread, as [`Conversation::ask`](crate::Conversation::ask) does: turns that only this thread would poll
    /// do not advance meanwhile. In asynchronous code await [`TaskGroup::ended`], with the timeout of the runtime.
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
        // A count and a list of wakers are whole whatever a thread was doing when it panicked.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that runs in a [`TaskGroup`]. Dropping it ends it for the group.
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
    /// Returns the signal that ends this task: alone, or with its group.
    pub fn stop_signal(&self) -> StopSignal {
        self.stop.clone()
    }

    /// Returns a run that is a task, where there is one.
    pub(crate) fn hold_where<E: Send + 'static, R: Send + 'static>(
        task: Option<Self>,
        run: Run<E, R>,
    ) -> Run<E, R> {
        match task {
            Some(task) => task.hold(run),
            None => run,
        }
    }

    /// Returns a run that is this task: it ends with the run, or when that is dropped.
    pub fn hold<E: Send + 'static, R: Send + 'static>(self, run: Run<E, R>) -> Run<E, R> {
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
            waiting.into_iter().for_each(Waker::wake);
        }
    }
}
