//! Messages of protocol buffers, written by hand.

/// A message, field by field.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    pub fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    pub fn raw(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn text(self, field: u64, text: &str) -> Self {
        self.raw(field, text.as_bytes())
    }

    #[allow(clippy::needless_pass_by_value)] // a message is written where it has its place
    pub fn message(self, field: u64, message: Self) -> Self {
        self.raw(field, &message.0)
    }

    pub fn bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
