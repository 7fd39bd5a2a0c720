//! The id of a message that cannot be read, or that is too long to be kept: found byte by byte, in memory that does not grow.

use memchr::memchr2;
use rmcp::model::RequestId;

/// How many bytes of a key, and of an id, are kept.
const KEPT: usize = 256;

/// What was seen of a message so far. What is no JSON has no id.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // where in a message a byte is
pub(crate) struct Scanner {
    depth: usize,
    /// Whether it begins as an object does; unknown before it has begun.
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
    /// Looks at bytes that come next.
    pub(crate) fn see(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((byte, behind)) = rest.split_first() {
            rest = behind;
            if !self.in_string {
                self.between(*byte);
                continue;
            }
            self.inside(*byte);
            if self.in_string && !self.escaped && !self.keeps() {
                // Texts that nobody keeps are passed over at once: messages that are too long consist of them.
                let end = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                rest = rest.get(end..).unwrap_or_default();
            }
        }
    }

    /// The id of the request that the message answers; `None` where it answers none, or is no whole object.
    pub(crate) fn answered(&self) -> Option<RequestId> {
        let is_whole = self.is_object == Some(true) && self.depth == 0 && !self.in_string;
        if self.is_request || !is_whole {
            return None;
        }
        serde_json::from_slice(&self.id).ok()
    }

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

    /// Whether a byte is of a key, or of the id.
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
        // In pieces, as it comes.
        message.as_bytes().chunks(3).for_each(|bytes| scanner.see(bytes));
        scanner.answered()
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
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
    fn what_answers_nothing_has_none() {
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
