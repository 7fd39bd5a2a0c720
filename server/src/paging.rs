//! Pages of lists, as OpenAI's API has them: `after`, `limit` and `order`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{ApiError, ApiResult};

/// How many objects a page has unless the query says how many.
const LIMIT: usize = 20;
/// How many objects a page has at most.
const MOST: usize = 100;

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Ascending,
    Descending,
}

/// What a query says of a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageQuery {
    /// The id of the object before the first one.
    pub(crate) after: Option<String>,
    limit: Option<usize>,
    order: Option<Order>,
}

impl PageQuery {
    /// Reads one pair of a query.
    ///
    /// # Errors
    /// 400 for another name, and for a value that is not valid.
    pub(crate) fn set(&mut self, name: &str, value: String) -> ApiResult<()> {
        match name {
            "after" => self.after = Some(value),
            "limit" => self.limit = Some(limit(&value)?),
            "order" => self.order = Some(order(&value)?),
            _ => {
                let message = format!("unknown parameter {name:?} in the address");
                return Err(ApiError::invalid(name, message));
            }
        }
        Ok(())
    }

    /// Returns how many objects the page has at most.
    pub(crate) fn limit(&self) -> usize {
        self.limit.unwrap_or(LIMIT)
    }

    /// Returns the order, or the usual one.
    pub(crate) fn order_or(&self, usual: Order) -> Order {
        self.order.unwrap_or(usual)
    }

    /// Returns the page of a list of objects with ids, which is in its order already.
    ///
    /// # Errors
    /// 404 where no object has the id of `after`.
    pub(crate) fn of(&self, objects: Vec<Value>) -> ApiResult<Page> {
        let start = match &self.after {
            None => 0,
            Some(after) => {
                let place = objects.iter().position(|object| object.get("id") == Some(&json!(after)));
                let Some(place) = place else {
                    return Err(ApiError::not_found(format!("there is no object {after:?}")).param("after"));
                };
                place + 1
            }
        };
        let limit = self.limit();
        let has_more = objects.len() > start + limit;
        Ok(Page { data: objects.into_iter().skip(start).take(limit).collect(), has_more })
    }
}

/// A page of objects with ids.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) data: Vec<Value>,
    pub(crate) has_more: bool,
}

impl Page {
    /// Returns the object of the page.
    pub(crate) fn json(self) -> Value {
        let first = self.data.first().and_then(|object| object.get("id")).cloned();
        let last = self.data.last().and_then(|object| object.get("id")).cloned();
        json!({
            "object": "list",
            "data": self.data,
            "first_id": first,
            "last_id": last,
            "has_more": self.has_more,
        })
    }
}

/// A page of a list.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ListOf{T}")]
pub(crate) struct ListOf<T> {
    /// Always `list`.
    object: &'static str,
    data: Vec<T>,
    /// The id of the first object.
    first_id: Option<String>,
    /// The id of the last object, after which the next page begins.
    last_id: Option<String>,
    /// Whether there are more after the last one.
    has_more: bool,
}

impl<T> ListOf<T> {
    /// A page of objects, whose ids `id` returns.
    pub(crate) fn of(data: Vec<T>, id: impl Fn(&T) -> &str, has_more: bool) -> Self {
        let first_id = data.first().map(|object| id(object).to_owned());
        let last_id = data.last().map(|object| id(object).to_owned());
        Self { object: "list", data, first_id, last_id, has_more }
    }
}

/// Which page of a list is requested.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageParameters {
    /// The id of the object before the first one.
    #[serde(default)]
    after: Option<String>,
    /// At most so many: 20 unless it is given, and no more than 100.
    #[serde(default)]
    #[schemars(with = "Option<usize>")]
    limit: Option<String>,
    /// `asc` unless it is given, or `desc`.
    #[serde(default)]
    order: Option<String>,
}

impl PageParameters {
    /// Returns the page of a list in ascending order.
    ///
    /// # Errors
    /// 400 for a value that is not valid, and 404 where no object has the id of `after`.
    pub(crate) fn of<T>(self, mut objects: Vec<T>, id: impl Fn(&T) -> &str) -> ApiResult<ListOf<T>> {
        let most = self.limit.as_deref().map(limit).transpose()?.unwrap_or(LIMIT);
        let direction = self.order.as_deref().map(order).transpose()?;
        if direction == Some(Order::Descending) {
            objects.reverse();
        }
        let mut start = 0;
        if let Some(after) = &self.after {
            let Some(place) = objects.iter().position(|object| id(object) == after) else {
                return Err(ApiError::not_found(format!("there is no object {after:?}")).param("after"));
            };
            start = place + 1;
        }
        let has_more = objects.len() > start + most;
        let data = objects.into_iter().skip(start).take(most).collect();
        Ok(ListOf::of(data, id, has_more))
    }
}

fn limit(text: &str) -> ApiResult<usize> {
    match text.parse() {
        Ok(limit) if (1..=MOST).contains(&limit) => Ok(limit),
        _ => {
            Err(ApiError::invalid("limit", format!("limit is {text:?}, expected a number from 1 to {MOST}")))
        }
    }
}

fn order(text: &str) -> ApiResult<Order> {
    match text {
        "asc" => Ok(Order::Ascending),
        "desc" => Ok(Order::Descending),
        _ => Err(ApiError::invalid("order", format!("order is {text:?}, expected \"asc\" or \"desc\""))),
    }
}
