//! The events of the host's tools: their lists, their calls, and the approvals of calls.

use alloquy_core::NodeId;
use alloquy_core::message::{ToolCall, ToolResult};
use serde_json::{Value, json};

use super::{Event, EventWriter, object};
use crate::items::{Decision, Item, McpItem, McpServers};
use crate::responses::host_calls::OpenCall;

impl EventWriter {
    /// Sets the tools of the host.
    pub(in crate::responses) fn servers(mut self, servers: McpServers) -> Self {
        self.host.servers = servers;
        self
    }

    /// Sets the last message of a request, which is stored after the calls that it approves.
    pub(in crate::responses) fn set_decisions(&mut self, question: NodeId, decisions: &[Decision]) {
        self.question = Some(question);
        self.host.approved = decisions.iter().filter(|decision| decision.approve).cloned().collect();
    }

    /// Returns the items of the calls that wait for an approval.
    pub(in crate::responses) fn requests(&self) -> Vec<Item> {
        self.host.waiting.iter().cloned().map(Item::Mcp).collect()
    }

    /// Returns the events of the lists of tools, which are the first items.
    pub(super) fn lists(&mut self) -> Vec<Event> {
        let Some(question) = self.question else { return Vec::new() };
        let mut events = Vec::new();
        for item in self.host.servers.items(&self.conversation, question) {
            events.extend(self.list(&item));
        }
        events
    }

    fn list(&mut self, item: &McpItem) -> Vec<Event> {
        let index = self.next_index();
        let mut added = json!(item);
        if let Value::Object(fields) = &mut added {
            fields.insert("tools".to_owned(), json!([]));
        }
        vec![
            self.item_added(index, &added),
            self.of_item("response.mcp_list_tools.in_progress", item.id(), index),
            self.of_item("response.mcp_list_tools.completed", item.id(), index),
            self.item_done(index, &json!(item)),
        ]
    }

    /// Returns the events of a call that the host runs, or that waits for an approval; `None` for another one.
    pub(super) fn host_call(&mut self, call: &ToolCall) -> Option<Vec<Event>> {
        let decision = self.host.begin(call);
        let (label, waits) = match &decision {
            Some(decision) => (decision.label.clone(), false),
            None => {
                let server = self.host.servers.find(&call.name)?;
                (server.label.clone(), server.waits(&call.name))
            }
        };
        let mut events = self.close("completed", &[]);
        self.is_next_reply = false;
        let Some((id, index)) = self.next_id() else { return Some(events) };
        if waits {
            let item = McpItem::request(&id, &label, call);
            events.extend(self.request(index, &item));
            self.host.waiting.push(item);
            return Some(events);
        }
        let request = decision.map(|decision| decision.request);
        let open = OpenCall { id, index, label, call: call.clone(), request };
        events.extend(self.call_begun(&open.item(None), index));
        self.host.open.push(open);
        Some(events)
    }

    fn request(&mut self, index: usize, item: &McpItem) -> Vec<Event> {
        let item = json!(item);
        vec![self.item_added(index, &item), self.item_done(index, &item)]
    }

    fn call_begun(&mut self, item: &McpItem, index: usize) -> Vec<Event> {
        let McpItem::Call { id, arguments, .. } = item else { return Vec::new() };
        let mut added = json!(item);
        if let Value::Object(fields) = &mut added {
            fields.insert("arguments".to_owned(), "".into());
            fields.insert("status".to_owned(), "in_progress".into());
            fields.insert("output".to_owned(), Value::Null);
            fields.insert("error".to_owned(), Value::Null);
        }
        let delta = json!({"item_id": id, "output_index": index, "delta": arguments});
        let done = json!({"item_id": id, "output_index": index, "arguments": arguments});
        vec![
            self.item_added(index, &added),
            self.of_item("response.mcp_call.in_progress", id, index),
            self.numbered("response.mcp_call_arguments.delta", object(delta)),
            self.numbered("response.mcp_call_arguments.done", object(done)),
        ]
    }

    /// Returns the events of a result of the host's tools.
    pub(super) fn host_result(&mut self, result: &ToolResult) -> Vec<Event> {
        match self.host.end(&result.id) {
            Some(open) => self.call_ended(&open.item(Some(result)), open.index),
            None => Vec::new(),
        }
    }

    fn call_ended(&mut self, item: &McpItem, index: usize) -> Vec<Event> {
        let McpItem::Call { id, status, .. } = item else { return Vec::new() };
        let mut events = Vec::new();
        match status.as_str() {
            "completed" => events.push(self.of_item("response.mcp_call.completed", id, index)),
            "failed" => events.push(self.of_item("response.mcp_call.failed", id, index)),
            _ => {}
        }
        events.push(self.item_done(index, &json!(item)));
        events
    }

    /// Ends the calls that have no result.
    pub(super) fn close_calls(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for open in std::mem::take(&mut self.host.open) {
            events.extend(self.call_ended(&open.item(None), open.index));
        }
        events
    }

    /// Returns the events of an item that is known as a whole.
    pub(super) fn whole_mcp(&mut self, item: &McpItem) -> Vec<Event> {
        match item {
            McpItem::ListTools { .. } => self.list(item),
            McpItem::Call { .. } => {
                let index = self.next_index();
                let mut events = self.call_begun(item, index);
                events.extend(self.call_ended(item, index));
                events
            }
            McpItem::ApprovalRequest { .. } => {
                let index = self.next_index();
                self.request(index, item)
            }
            McpItem::ApprovalResponse { .. } => Vec::new(),
        }
    }

    fn of_item(&mut self, name: &'static str, id: &str, index: usize) -> Event {
        self.numbered(name, object(json!({"item_id": id, "output_index": index})))
    }
}
