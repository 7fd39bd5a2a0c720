//! Pages of lists, as OpenAI's API has them: `after`, `limit` and `order`.

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
