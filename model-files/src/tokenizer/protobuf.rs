//! Reads the fields of a message of Protocol Buffers.

use alloquy_core::Result;

use crate::error::model;

/// A field's value. Groups are obsolete, and no file of a tokenizer has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed32([u8; 4]),
    Fixed64,
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(super) fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(damaged("a field has a number where bytes are expected")),
        }
    }

    pub(super) fn text(self) -> Result<&'a str> {
        str::from_utf8(self.bytes()?).map_err(|_| damaged("a text is not UTF-8"))
    }

    pub(super) fn float(self) -> Result<f32> {
        match self {
            Self::Fixed32(bytes) => Ok(f32::from_le_bytes(bytes)),
            _ => Err(damaged("a field has no number of 32 bits where one is expected")),
        }
    }

    pub(super) fn number(self) -> Result<u64> {
        match self {
            Self::Varint(number) => Ok(number),
            _ => Err(damaged("a field has no whole number where one is expected")),
        }
    }

    pub(super) fn flag(self) -> Result<bool> {
        Ok(self.number()? != 0)
    }
}

/// The fields of a message, in the order of the file.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Returns the next field's number and value; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => {
                self.take(8)?;
                Value::Fixed64
            }
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| truncated())?;
                Value::Bytes(self.take(length)?)
            }
            5 => {
                let (bytes, rest) = self.rest.split_first_chunk::<4>().ok_or_else(truncated)?;
                self.rest = rest;
                Value::Fixed32(*bytes)
            }
            kind => return Err(damaged(&format!("a field has the unknown type {kind}"))),
        };
        Ok(Some((tag >> 3, value)))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Reads a number of up to ten groups of seven bits, the lowest first.
    fn varint(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or_else(truncated)?;
            self.rest = rest;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged("a number has more than 64 bits"))
    }
}

fn truncated() -> alloquy_core::Error {
    damaged("it ends within a field")
}

fn damaged(reason: &str) -> alloquy_core::Error {
    model(format!("the SentencePiece file is damaged: {reason}"))
}
