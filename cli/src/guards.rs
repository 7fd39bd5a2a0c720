//! The guards of a command: what is removed, and how much calls may use. Builds the middleware around a model.

use std::path::Path;
use std::sync::Arc;

use alloquy::core::manager::ManagerBuilder;
use alloquy::core::middleware::Middleware;
use alloquy::core::prompt::PromptCounter;
use alloquy::core::{Error, ErrorKind, Request, Result};
use alloquy::cost::PriceTable;
use alloquy::guards::limits::{
    Budget, BudgetLimit, LimitStore, MemoryLimits, Period, Rate, RateLimit, Scope,
};
use alloquy::guards::redact::{Pattern, RedactHistory, RedactReplies, Redactor, recognizers};

use crate::arguments::{CallLimit, Finds, Guard, GuardArguments, PriceArguments, RedactionArguments};
use crate::failure::Failure;
use crate::limit_database::LimitDatabase;
use crate::open_model::{OpenModel, PromptLength};
use crate::prices;
use crate::settings::state_folder;

/// How many tokens an answer takes at most where nothing limits it, as budgets reserve them.
const REPLY: usize = 1024;

/// What is printed in place of a text that a guard blocks.
pub(crate) const BLOCKED: &str = "[blocked]";

/// Whether the conversations of a command are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conversations {
    /// Another run continues them.
    Stored,
    /// They end with the run.
    Temporary,
}

/// The guards of a command, for any model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guards {
    redactor: Option<Redactor>,
    rates: Vec<CountedRate>,
    budgets: Vec<CountedBudget>,
}

/// A rate, and where its calls are counted.
#[derive(Clone, Debug)]
struct CountedRate {
    rate: Rate,
    store: Arc<dyn LimitStore>,
}

/// A budget, and where it is counted.
#[derive(Clone, Debug)]
struct CountedBudget {
    budget: Budget,
    period: Period,
    store: Arc<dyn LimitStore>,
}

impl Guards {
    /// Builds the guards that the arguments name.
    ///
    /// # Errors
    /// [`Failure::Arguments`] for a limit that is given twice, and an error for a file that cannot be read.
    pub(crate) fn of(arguments: &GuardArguments, conversations: Conversations) -> Result<Self, Failure> {
        let mut guards = Self::redacting(&arguments.redaction)?;
        let limits = arguments.all_limits()?;
        if limits.is_empty() {
            return Ok(guards);
        }
        let prices = prices_of(&limits, &arguments.prices)?;
        let memory: Arc<dyn LimitStore> = Arc::new(MemoryLimits::default());
        let mut shared = None;
        for limit in limits {
            match limit {
                CallLimit::Calls(_, rate, _) => {
                    guards.rates.push(CountedRate { rate, store: all_runs(&mut shared)? });
                }
                CallLimit::Tokens(_, period) | CallLimit::Cost(_, period) => {
                    let is_of_run = match period {
                        Period::Turn => true,
                        Period::Day => false,
                        _ => conversations == Conversations::Temporary,
                    };
                    let store = if is_of_run { Arc::clone(&memory) } else { all_runs(&mut shared)? };
                    let budget = budget(&limit, prices.as_ref())?;
                    guards.budgets.push(CountedBudget { budget, period, store });
                }
            }
        }
        Ok(guards)
    }

    /// Builds the guards that remove texts, without limits.
    ///
    /// # Errors
    /// For a file of words that cannot be read.
    pub(crate) fn redacting(arguments: &RedactionArguments) -> Result<Self> {
        Ok(Self { redactor: arguments.redactor()?, ..Self::default() })
    }

    /// Returns the middleware around a model, the outermost first: rates, the redaction of answers, what adds passages and notes, the
    /// redaction of what the model reads, and budgets. The policy for a full context is inside of them, in the model.
    pub(crate) fn stack(
        &self,
        model: &OpenModel,
        adding: Vec<Arc<dyn Middleware>>,
    ) -> Vec<Arc<dyn Middleware>> {
        let mut stack: Vec<Arc<dyn Middleware>> = Vec::new();
        for CountedRate { rate, store } in &self.rates {
            stack.push(Arc::new(RateLimit::new(*rate, Scope::Everything, Arc::clone(store))));
        }
        if let Some(redactor) = &self.redactor {
            stack.push(Arc::new(RedactReplies::new(redactor.clone())));
        }
        stack.extend(adding);
        if let Some(redactor) = &self.redactor {
            stack.push(Arc::new(RedactHistory::new(redactor.clone())));
        }
        for CountedBudget { budget, period, store } in &self.budgets {
            let scope = match period {
                Period::Day => Scope::Everything,
                _ => Scope::Conversation,
            };
            let longest = FittedPrompt {
                length: PromptLength::from(model.language_model()),
                most: model.context_length().unwrap_or(usize::MAX),
            };
            let limit = BudgetLimit::new(budget.clone(), *period, scope, Arc::clone(store), longest);
            let reply = model.sampling().max_tokens.unwrap_or(REPLY);
            stack.push(Arc::new(limit.reply(reply).model(model.info().name.as_str())));
        }
        stack
    }

    /// Adds the middleware to the manager of a model's conversations, with what adds passages and notes to its requests.
    pub(crate) fn added_to(
        &self,
        mut manager: ManagerBuilder,
        model: &OpenModel,
        adding: Vec<Arc<dyn Middleware>>,
    ) -> ManagerBuilder {
        for middleware in self.stack(model, adding) {
            manager = manager.middleware(middleware);
        }
        manager
    }

    /// Returns a request as the model reads it: without what is removed from its messages.
    ///
    /// # Errors
    /// Where a guard blocks a text.
    pub(crate) async fn prepared(&self, request: Request) -> Result<Request> {
        match &self.redactor {
            Some(redactor) => RedactHistory::new(redactor.clone()).prepare(request).await,
            None => Ok(request),
        }
    }

    /// Returns a text as it may be printed.
    pub(crate) fn printable(&self, text: &str) -> String {
        match &self.redactor {
            Some(redactor) => redactor.redact(text).unwrap_or_else(|_| BLOCKED.to_owned()),
            None => text.to_owned(),
        }
    }

    /// Returns whether nothing is removed and nothing limited.
    pub(crate) fn is_empty(&self) -> bool {
        self.redactor.is_none() && self.rates.is_empty() && self.budgets.is_empty()
    }

    /// Returns what removes texts, if something does.
    pub(crate) fn redactor(&self) -> Option<&Redactor> {
        self.redactor.as_ref()
    }
}

impl RedactionArguments {
    /// Returns what is removed. Of two guards that find the same, the later one counts.
    pub(crate) fn all_guards(&self) -> Vec<Guard> {
        let mut all: Vec<Guard> = Vec::new();
        for guard in self.guards.iter().flat_map(|list| &list.guards) {
            match all.iter_mut().find(|known| known.finds == guard.finds) {
                Some(known) => *known = guard.clone(),
                None => all.push(guard.clone()),
            }
        }
        all
    }

    /// Returns what removes texts, if something does.
    ///
    /// # Errors
    /// For a file of words that cannot be read.
    fn redactor(&self) -> Result<Option<Redactor>> {
        let patterns: Result<Vec<_>> = self.all_guards().iter().map(pattern).collect();
        let patterns = patterns?;
        if patterns.is_empty() {
            return Ok(None);
        }
        Redactor::new(patterns).map(Some)
    }
}

impl GuardArguments {
    /// Returns the limits.
    ///
    /// # Errors
    /// [`Failure::Arguments`] for two budgets of the same kind and period, which would count each call twice.
    pub(crate) fn all_limits(&self) -> Result<Vec<CallLimit>, Failure> {
        let mut all: Vec<CallLimit> = Vec::new();
        for limit in self.limits.iter().flat_map(|list| &list.limits) {
            if let Some(other) = all.iter().find(|known| is_same_budget(known, limit)) {
                let message = format!("\"{limit}\" and \"{other}\" limit the same: leave one of them out");
                return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
            }
            all.push(*limit);
        }
        Ok(all)
    }
}

fn is_same_budget(one: &CallLimit, other: &CallLimit) -> bool {
    match (one, other) {
        (CallLimit::Tokens(_, one), CallLimit::Tokens(_, other))
        | (CallLimit::Cost(_, one), CallLimit::Cost(_, other)) => one == other,
        _ => one == other,
    }
}

fn pattern(guard: &Guard) -> Result<Pattern> {
    let pattern = match &guard.finds {
        Finds::Named(name) => recognizers::named(name)?,
        Finds::Words(file) => words(file)?,
    };
    Ok(pattern.strategy(guard.strategy.clone()))
}

/// Reads a list of words: a word or a phrase on each line.
fn words(file: &Path) -> Result<Pattern> {
    let text = crate::file::text(file).map_err(|source| {
        Error::new(ErrorKind::Invalid, format!("list of words {file:?} cannot be read")).with_source(source)
    })?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    recognizers::words("words", lines).map_err(|error| error.context(format_args!("list of words {file:?}")))
}

/// Reads the table of prices, where a limit needs one.
fn prices_of(limits: &[CallLimit], arguments: &PriceArguments) -> Result<Option<PriceTable>> {
    if limits.iter().any(|limit| matches!(limit, CallLimit::Cost(..))) {
        return prices::table(arguments).map(Some);
    }
    Ok(None)
}

fn budget(limit: &CallLimit, prices: Option<&PriceTable>) -> Result<Budget> {
    match (limit, prices) {
        (CallLimit::Tokens(tokens, _), _) => Ok(Budget::tokens(*tokens)),
        (CallLimit::Cost(cost, _), Some(prices)) => Budget::cost(*cost, prices.clone()),
        _ => Err(Error::new(ErrorKind::Invalid, format!("\"{limit}\" is no budget"))),
    }
}

/// Returns the database in which all runs of this program count, one for all limits.
fn all_runs(shared: &mut Option<Arc<dyn LimitStore>>) -> Result<Arc<dyn LimitStore>> {
    if let Some(database) = shared {
        return Ok(Arc::clone(database));
    }
    let folder = state_folder().ok_or_else(|| {
        let message = "the home folder is unknown, so that calls of other runs cannot be counted: set HOME, or limit turns alone";
        Error::new(ErrorKind::NotFound, message)
    })?;
    let database: Arc<dyn LimitStore> = Arc::new(LimitDatabase::new(folder));
    *shared = Some(Arc::clone(&database));
    Ok(database)
}

/// Counts the tokens of a prompt. The policy for a full context shortens one that is longer than the context.
#[derive(Clone, Debug)]
struct FittedPrompt {
    length: PromptLength,
    most: usize,
}

impl PromptCounter for FittedPrompt {
    fn units(&self, request: &Request) -> Result<usize> {
        Ok(self.length.units(request)?.min(self.most))
    }
}
