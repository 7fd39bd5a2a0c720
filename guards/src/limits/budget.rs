//! How many tokens, or how much cost, calls may have.

use std::sync::Arc;

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::prompt::PromptCounter;
use alloquy_core::report::Usage;
use alloquy_core::stream::{Emitter, EventStream};
use alloquy_core::{Delta, Error, ErrorKind, Reply, ReplyStream, Request, Result, Role};
use alloquy_cost::{BilledTokens, Date, Decimal, PriceTable};
use async_trait::async_trait;
use futures::StreamExt;

use super::{LimitStore, RetryAfter, Scope, Spent, unchecked};

/// How long a budget lasts.
///
/// [`BudgetLimit`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Period {
    /// One turn: the calls from a message of the user to the answer, with those after tools. It begins at 0 with each turn.
    Turn,
    /// A day in UTC.
    Day,
    /// Without end.
    Always,
}

/// What calls may use.
///
/// ```
/// use alloquy_cost::{Decimal, PriceTable};
/// use alloquy_guards::limits::Budget;
///
/// let tokens = Budget::tokens(100_000);
/// let money = Budget::cost(Decimal::new(250, 2), PriceTable::example())?;
/// assert!(Budget::cost(Decimal::from(-1), PriceTable::example()).is_err());
/// # let _ = (tokens, money);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    /// In tokens, or in millionths of a millionth of the currency, in which each price of one token is exact.
    most: u64,
    prices: Option<Arc<PriceTable>>,
}

/// The units of one unit of the currency.
const PARTS: u64 = 1_000_000_000_000;

impl Budget {
    /// Allows so many tokens, those of prompts and of replies.
    pub fn tokens(most: u64) -> Self {
        Self { most, prices: None }
    }

    /// Allows so much cost, in the currency of the prices.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a negative cost, or one of more than 18 million.
    pub fn cost(most: Decimal, prices: PriceTable) -> Result<Self> {
        let Some(units) = units_of(most) else {
            let words = format!("a budget of {most} is not from 0 to 18 million");
            return Err(Error::new(ErrorKind::Invalid, words));
        };
        Ok(Self { most: units, prices: Some(Arc::new(prices)) })
    }

    /// Returns what some tokens of a model use of the budget.
    fn units(&self, usage: Usage, model: &str) -> Result<u64> {
        let Some(prices) = &self.prices else {
            return Ok(u64::try_from(usage.prompt.saturating_add(usage.generated)).unwrap_or(u64::MAX));
        };
        let today = Date::of(std::time::SystemTime::now());
        let Some(price) = prices.price(model, today) else {
            let words = format!("model {model:?} has no price, so its cost is unknown: add one to the table");
            return Err(Error::new(ErrorKind::Invalid, words));
        };
        let cost = price.cost(&BilledTokens::from(usage)).and_then(units_of);
        cost.ok_or_else(|| {
            Error::new(ErrorKind::Invalid, format!("the cost of {usage:?} is too large to count"))
        })
    }

    fn show(&self, units: u64) -> String {
        match &self.prices {
            None => format!("{units} tokens"),
            Some(prices) => {
                let cost = Decimal::from(units) / Decimal::from(PARTS);
                format!("{} {}", cost.normalize(), prices.currency())
            }
        }
    }
}

fn units_of(cost: Decimal) -> Option<u64> {
    let parts = cost.checked_mul(Decimal::from(PARTS))?;
    u64::try_from(parts.ceil()).ok()
}

/// Limits the tokens or the cost of calls.
///
/// Before a call, the exact tokens of its prompt and the most tokens of its reply are reserved. After it, the reservation is replaced
/// by what the reply [reports](Reply::usage). It stays where the reply reports nothing and where the stream is dropped, and it is given
/// back where the call fails. The most tokens of a reply are [`max_tokens`](alloquy_core::SamplingOptions::max_tokens) of the request,
/// or [`BudgetLimit::reply`].
///
/// Register it as the innermost middleware, because it counts what the model will see.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::{Manager, Preface};
/// use alloquy_guards::limits::{Budget, BudgetLimit, MemoryLimits, Period, Scope};
/// use alloquy_testing::ScriptedModel;
///
/// # pollster::block_on(async {
/// let model = ScriptedModel::new([("<assistant>", "Hello!")]);
/// let store = Arc::new(MemoryLimits::default());
/// let limit = BudgetLimit::new(Budget::tokens(100), Period::Day, Scope::Owner, store, model.clone()).reply(20);
/// let manager = Manager::builder(model).middleware(limit).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// conversation.send("Hi").await?;
/// conversation.send("And you?").await?;
/// let error = conversation.send("And now?").await.unwrap_err();
/// assert!(error.to_string().starts_with("the budget of 100 tokens a day of an owner is used up"));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone)]
pub struct BudgetLimit {
    budget: Budget,
    period: Period,
    scope: Scope,
    store: Arc<dyn LimitStore>,
    length: Arc<dyn PromptCounter>,
    reply: usize,
    model: String,
}

/// How many tokens a reply takes at most, if neither the host nor the request says so.
const REPLY: usize = 1024;

/// What a call has reserved.
struct Reserved {
    key: String,
    period: u64,
    units: u64,
    model: String,
}

impl BudgetLimit {
    /// Creates the middleware; `length` counts prompts as the model does.
    pub fn new(
        budget: Budget,
        period: Period,
        scope: Scope,
        store: Arc<dyn LimitStore>,
        length: impl PromptCounter + 'static,
    ) -> Self {
        Self { budget, period, scope, store, length: Arc::new(length), reply: REPLY, model: String::new() }
    }

    /// Sets how many tokens a reply takes at most, for requests that do not say so. The default is 1024.
    #[must_use]
    pub fn reply(mut self, tokens: usize) -> Self {
        self.reply = tokens;
        self
    }

    /// Sets the name of the model in the table of prices, for requests that name no model.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = name.into();
        self
    }

    /// Returns what is used or reserved of the budget of a request. Nothing is reserved.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::{Request, Result};
    /// use alloquy_guards::limits::{Budget, BudgetLimit, MemoryLimits, Period, Scope};
    ///
    /// # pollster::block_on(async {
    /// let count = |request: &Request| -> Result<usize> { Ok(request.path.len()) };
    /// let counts = Arc::new(MemoryLimits::default());
    /// let limit = BudgetLimit::new(Budget::tokens(100), Period::Day, Scope::Everything, counts, count);
    /// assert_eq!(limit.spent(&mut Request::default()).await?.before, 0);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a scope that the request does not have, and those of the store.
    pub async fn spent(&self, request: &mut Request) -> Result<Spent> {
        let key = self.key(request)?;
        self.reserve_units(&key, 0).await.map_err(unchecked)
    }

    async fn reserve(&self, request: &mut Request) -> Result<Reserved> {
        let model = request.model.clone().unwrap_or_else(|| self.model.clone());
        let prompt = self.length.units(request)?;
        let generated = request.sampling.max_tokens.unwrap_or(self.reply);
        let units = self.budget.units(Usage::new(prompt, generated), &model)?;
        let key = self.key(request)?;
        if self.period == Period::Turn && request.path.last().is_some_and(|last| last.role == Role::User) {
            self.store.forget(&key).await.map_err(unchecked)?;
        }
        let spent = self.reserve_units(&key, units).await.map_err(unchecked)?;
        if spent.reserved {
            return Ok(Reserved { key, period: spent.period, units, model });
        }
        let period = match self.period {
            Period::Turn => " a turn",
            Period::Day => " a day",
            Period::Always => "",
        };
        let words = format!(
            "the budget of {}{period} of {} is used up: {} are used or reserved, and this call needs up to {}",
            self.budget.show(self.budget.most),
            self.scope,
            self.budget.show(spent.before),
            self.budget.show(units),
        );
        // Waiting does not help a call that needs more than the whole budget.
        match spent.resets.filter(|_| units <= self.budget.most) {
            Some(wait) => Err(Error::new(ErrorKind::Busy, words).with_source(RetryAfter(wait))),
            None => Err(Error::new(ErrorKind::Invalid, words)),
        }
    }

    async fn reserve_units(&self, key: &str, units: u64) -> Result<Spent> {
        let most = self.budget.most;
        match self.period {
            Period::Turn => self.store.reserve_for_turn(key, most, units).await,
            Period::Day => self.store.reserve(key, true, most, units).await,
            Period::Always => self.store.reserve(key, false, most, units).await,
        }
    }

    /// Returns the key of a budget. That of a turn has the digest of the messages up to the user's last one.
    fn key(&self, request: &mut Request) -> Result<String> {
        let scope = self.scope.key(request)?;
        let kind = if self.budget.prices.is_some() { "cost" } else { "tokens" };
        match self.period {
            Period::Turn => {
                let asked = request.path.iter().rposition(|message| message.role == Role::User);
                let digest = request.path.digest(asked.map_or(0, |asked| asked + 1));
                Ok(format!("{kind} a turn {digest} {scope}"))
            }
            Period::Day => Ok(format!("{kind} a day {scope}")),
            Period::Always => Ok(format!("{kind} {scope}")),
        }
    }

    /// Replaces the reservation by what was used.
    async fn settle(&self, reserved: &Reserved, used: u64) {
        let Reserved { key, period, units, .. } = reserved;
        if let Err(error) = self.store.settle(key, *period, *units, used).await {
            tracing::warn!(%error, "a reservation could not be replaced by what was used");
        }
    }

    async fn run(
        self,
        reserved: Reserved,
        mut stream: ReplyStream,
        mut emit: Emitter<Delta>,
    ) -> Result<Reply> {
        while let Some(delta) = stream.next().await {
            emit.send(delta).await;
        }
        match stream.finish().await {
            Ok(reply) => {
                if reply.usage != Usage::default() {
                    let used = self.budget.units(reply.usage, &reserved.model)?;
                    self.settle(&reserved, used).await;
                }
                Ok(reply)
            }
            Err(error) => {
                self.settle(&reserved, 0).await;
                Err(error)
            }
        }
    }
}

impl std::fmt::Debug for BudgetLimit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("BudgetLimit");
        shown.field("most", &self.budget.show(self.budget.most));
        shown.field("period", &self.period).field("scope", &self.scope).finish_non_exhaustive()
    }
}

#[async_trait]
impl Middleware for BudgetLimit {
    async fn handle(&self, mut request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let reserved = self.reserve(&mut request).await?;
        let stream = match next.call(request).await {
            Ok(stream) => stream,
            Err(error) => {
                self.settle(&reserved, 0).await;
                return Err(error);
            }
        };
        let limit = self.clone();
        Ok(EventStream::new(move |emit| limit.run(reserved, stream, emit)))
    }
}
