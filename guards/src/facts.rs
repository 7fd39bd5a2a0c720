//! Facts: what middleware, tools and the host note about a reply, stored with its node.
//!
//! [`AddFacts`] adds facts, and [`KeepFacts`] allows only those in a list. A node stores the facts in
//! [`ReplyFacts::facts`](alloquy_core::report::ReplyFacts::facts), apart from the model, the usage and what else is known of a reply, so
//! that no fact can replace these.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::{Reply, ReplyStream, Request, Result};
use async_trait::async_trait;
use serde_json::{Map, Value};

/// The facts of one turn, which its tools and middleware may add while it runs. The host puts them into the turn's
/// [`TurnData`](alloquy_core::turn::TurnData), and [`AddFacts`] adds them to each reply. Copies share the facts.
///
/// ```
/// use alloquy_core::turn::TurnData;
/// use alloquy_core::{Manager, Preface, TurnRequest};
/// use alloquy_guards::facts::{AddFacts, TurnFacts};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let manager = Manager::builder(EchoModel).middleware(AddFacts::new()).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// let facts = TurnFacts::default();
/// facts.set("channel", "letter");
/// let request = TurnRequest::from("Hello").turn_data(TurnData::default().with(facts));
/// let turn = conversation.send(request).await?;
/// assert_eq!(turn.reply.facts["channel"], "letter");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TurnFacts(Arc<Mutex<Map<String, Value>>>);

impl TurnFacts {
    /// Sets a fact; it replaces the one of that name.
    pub fn set(&self, name: impl Into<String>, value: impl Into<Value>) {
        self.lock().insert(name.into(), value.into());
    }

    /// Returns the facts so far.
    pub fn all(&self) -> Map<String, Value> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Map<String, Value>> {
        // The map is valid even if a thread panicked with the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type OfRequest = Arc<dyn Fn(&Request) -> Option<Value> + Send + Sync>;
type OfReply = Arc<dyn Fn(&Reply) -> Option<Value> + Send + Sync>;

/// Adds facts to replies: fixed ones, those of a request, those of a reply, and the [`TurnFacts`] of the turn.
///
/// Of the turn, it adds what is set when the reply has ended inside of this middleware.
///
/// A fact that a middleware inside of this one has added under the same name stays.
///
/// ```
/// use alloquy_core::{Manager, Preface, Reply, Request};
/// use alloquy_guards::facts::AddFacts;
/// use alloquy_testing::EchoModel;
/// use serde_json::Value;
///
/// fn messages(request: &Request) -> Option<Value> {
///     Some(request.path.len().into())
/// }
///
/// fn is_long(reply: &Reply) -> Option<Value> {
///     (reply.text().len() > 1000).then_some(true.into())
/// }
///
/// # pollster::block_on(async {
/// let facts = AddFacts::new().fixed("app", "tea").of_request("messages", messages).of_reply("long", is_long);
/// let manager = Manager::builder(EchoModel).middleware(facts).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// conversation.send("Hello").await?;
/// let node = conversation.history().await?.pop().unwrap();
/// let facts = node.reply.unwrap().facts;
/// assert_eq!((&facts["app"], &facts["messages"], facts.get("long")), (&"tea".into(), &1.into(), None));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct AddFacts {
    fixed: Map<String, Value>,
    of_request: Vec<(String, OfRequest)>,
    of_reply: Vec<(String, OfReply)>,
    /// The names of the facts of the turn; `None` for all of them.
    of_turn: Option<BTreeSet<String>>,
}

impl AddFacts {
    /// Creates the middleware, which adds all facts of the turn.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the same fact to each reply.
    #[must_use]
    pub fn fixed(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fixed.insert(name.into(), value.into());
        self
    }

    /// Adds a fact of the request, unless the function returns `None`.
    #[must_use]
    pub fn of_request(
        mut self,
        name: impl Into<String>,
        fact: impl Fn(&Request) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        self.of_request.push((name.into(), Arc::new(fact)));
        self
    }

    /// Adds a fact of the reply, unless the function returns `None`.
    #[must_use]
    pub fn of_reply(
        mut self,
        name: impl Into<String>,
        fact: impl Fn(&Reply) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        self.of_reply.push((name.into(), Arc::new(fact)));
        self
    }

    /// Adds only the facts of the turn with these names, instead of all. The others are not stored.
    ///
    /// ```
    /// use alloquy_core::turn::TurnData;
    /// use alloquy_core::{Manager, Preface, TurnRequest};
    /// use alloquy_guards::facts::{AddFacts, TurnFacts};
    /// use alloquy_testing::EchoModel;
    ///
    /// # pollster::block_on(async {
    /// let manager = Manager::builder(EchoModel).middleware(AddFacts::new().of_turn(["channel"])).build()?;
    /// let conversation = manager.create(Preface::default()).await?;
    /// let facts = TurnFacts::default();
    /// facts.set("channel", "letter");
    /// facts.set("debug", true);
    /// let request = TurnRequest::from("Hello").turn_data(TurnData::default().with(facts));
    /// let stored = conversation.send(request).await?.reply.facts;
    /// assert_eq!(stored.keys().collect::<Vec<_>>(), ["channel"]);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn of_turn(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.of_turn = Some(names.into_iter().map(Into::into).collect());
        self
    }
}

impl fmt::Debug for AddFacts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<&str> = self.fixed.keys().map(String::as_str).collect();
        names.extend(self.of_request.iter().map(|(name, _)| name.as_str()));
        names.extend(self.of_reply.iter().map(|(name, _)| name.as_str()));
        formatter.debug_tuple("AddFacts").field(&names).finish()
    }
}

#[async_trait]
impl Middleware for AddFacts {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let mut facts = self.fixed.clone();
        for (name, fact) in &self.of_request {
            if let Some(value) = fact(&request) {
                facts.insert(name.clone(), value);
            }
        }
        let of_turn = request.turn_data.get::<TurnFacts>().cloned();
        let of_reply = self.of_reply.clone();
        let named = self.of_turn.clone();
        let stream = next.call(request).await?;
        Ok(stream.map_result(move |mut reply| {
            for (name, fact) in &of_reply {
                if let Some(value) = fact(&reply) {
                    facts.insert(name.clone(), value);
                }
            }
            if let Some(of_turn) = of_turn {
                let mut added = of_turn.all();
                if let Some(named) = named {
                    added.retain(|name, _| named.contains(name));
                }
                facts.extend(added);
            }
            for (name, value) in facts {
                reply.facts.entry(name).or_insert(value);
            }
            Ok(reply)
        }))
    }
}

/// Keeps only the facts whose names are in a list, of all middleware inside of this one.
///
/// ```
/// use alloquy_core::{Manager, Preface};
/// use alloquy_guards::facts::{AddFacts, KeepFacts};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let manager = Manager::builder(EchoModel)
///     .middleware(KeepFacts::of(["version"]))
///     .middleware(AddFacts::new().fixed("version", 7).fixed("debug", true))
///     .build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// let facts = conversation.send("Hello").await?.reply.facts;
/// assert_eq!(facts.keys().collect::<Vec<_>>(), ["version"]);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeepFacts(BTreeSet<String>);

impl KeepFacts {
    /// Creates the middleware from the names that are kept.
    pub fn of(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }
}

#[async_trait]
impl Middleware for KeepFacts {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let kept = self.0.clone();
        let stream = next.call(request).await?;
        Ok(stream.map_result(move |mut reply| {
            reply.facts.retain(|name, _| kept.contains(name));
            Ok(reply)
        }))
    }
}
