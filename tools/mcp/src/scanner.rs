//! Finds the id of a message that cannot be parsed or is too long to be kept, byte by byte and in constant memory.

use memchr::memchr2;
use rmcp::model::RequestId;

/// How many bytes of a key, and of the id, are kept.
const KEPT: usize = 256;

/// The state after the bytes of a message that were seen so far. Text that is not JSON has no id.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // they say where in the message the next byte is
pub(crate) struct Scanner {
    depth: usize,
    /// Whether the message begins with `{`; `None` before its first byte.
    is_object: Option<bool>,
    in_string: bool,
    escaped: bool,
    /// Whether the next string of the outermost object is a key.
    at_key: bool,
    key: Vec<u8>,
    id: Vec<u8>,
    is_request: bool,
}

impl Scanner {
    /// Reads the next bytes of the message.
    pub(crate) fn see(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            rest = after;
            if !self.in_string {
                self.between(*byte);
                continue;
            }
            self.inside(*byte);
            if self.in_string && !self.escaped && !self.keeps() {
                // A message that is too long consists of long strings; those that are not kept are skipped at once.
                let end = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                rest = rest.get(end..).unwrap_or_default();
            }
        }
    }

    /// Returns the id of the request that the message answers. `None` when it is a request or not a whole object.
    pub(crate) fn answered(&self) -> Option<RequestId> {
        let is_whole = self.is_object == Some(true) && self.depth == 0 && !self.in_string;
        if self.is_request || !is_whole {
            return None;
        }
        serde_json::from_slice(&self.id).ok()
    }

    /// Reads a byte inside a string.
    fn inside(&mut self, byte: u8) {
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.in_string = false;
        }
        self.keep(byte);
    }

    /// Reads a byte outside strings.
    fn between(&mut self, byte: u8) {
        if byte.is_ascii_whitespace() {
            return;
        }
        self.is_object.get_or_insert(byte == b'{');
        match byte {
            b'{' | b'[' => {
                self.depth += 1;
                self.at_key = self.depth == 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' if self.depth == 1 => {
                self.at_key = true;
                self.key.clear();
            }
            b':' if self.depth == 1 => {
                self.at_key = false;
                self.is_request |= self.key == b"\"method\"";
                if self.key == b"\"id\"" {
                    self.id.clear();
                }
            }
            _ => {
                self.in_string = byte == b'"';
                self.keep(byte);
            }
        }
    }

    /// Returns whether the current byte belongs to a key or to the id of the outermost object.
    fn keeps(&self) -> bool {
        self.depth == 1 && (self.at_key || self.key == b"\"id\"")
    }

    fn keep(&mut self, byte: u8) {
        let keeps = self.keeps();
        let kept = if self.at_key { &mut self.key } else { &mut self.id };
        if keeps && kept.len() < KEPT {
            kept.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(message: &str) -> Option<RequestId> {
        let mut scanner = Scanner::default();
        // In pieces, as a pipe delivers it.
        message.as_bytes().chunks(3).for_each(|bytes| scanner.see(bytes));
        scanner.answered()
    }

    #[test]
    fn the_id_is_found_at_any_place() {
        assert_eq!(answered(r#"{"jsonrpc":"2.0","id":7,"result":{"id":8}}"#), Some(RequestId::Number(7)));
        assert_eq!(
            answered(r#"{"result":{"id":8,"x":["\"id\":9,"]}, "id" : 7 }"#),
            Some(RequestId::Number(7))
        );
        assert_eq!(
            answered(r#"{"result":{"a":[[[{}]]]},"id":"a\"b"}"#),
            Some(RequestId::String("a\"b".into()))
        );
        let deep = format!(r#"{{"result":{}{},"id":3}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(answered(&deep), Some(RequestId::Number(3)));
    }

    #[test]
    fn a_message_that_answers_nothing_has_no_id() {
        for message in [
            r#"{"jsonrpc":"2.0","method":"ping","id":7}"#,
            r#"{"result":{"id":8}}"#,
            r#"[{"id":7,"result":{}}]"#,
            r#"{"id":{"id":7},"result":{}}"#,
            "no json, \"id\":7",
            "log: {\"id\":7}",
            r#"{"id":7,"result":{}"#,
            r#"{"id":7,"result":""#,
            "",
        ] {
            assert_eq!(answered(message), None, "{message}");
        }
    }
}
