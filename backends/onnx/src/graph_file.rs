//! Checks a graph's file before ONNX Runtime loads it. Reads protocol buffers, and in them only the tensors and
//! attributes (`onnx.proto`, field numbers as of ONNX 1.23).
//!
//! ONNX Runtime opens any file that a graph names for its weights. A graph may come from strangers, so the names are checked
//! first: a path must go downwards, and must end inside the model's folder after every link is followed.

use std::collections::BTreeSet;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

use alloquy_core::{Error, Result};
use alloquy_model_files::bounded;

use crate::error::{model, unreadable};
use crate::runtime::require_version;

/// The file name of an optimised graph's weights, beside the graph.
pub(crate) const WEIGHTS: &str = "weights.bin";

/// How deep graphs may be nested. Branches are graphs in graphs; no exporter nests them this deep.
const DEEPEST: usize = 100;

/// The facts read from a graph's file.
#[derive(Debug, Default)]
pub(crate) struct GraphFile {
    /// Every file that the graph takes weights from.
    locations: BTreeSet<String>,
    /// Whether an attention in it is limited to a window of tokens.
    is_windowed: bool,
    /// Whether a node computes the scale of its integers from the numbers of all rows.
    scales_all_rows: bool,
    has_graph: bool,
}

impl GraphFile {
    /// Returns the files that the graph takes weights from, relative to its own folder.
    pub(crate) fn weights(&self) -> impl Iterator<Item = &str> {
        self.locations.iter().map(String::as_str)
    }

    /// Returns whether the rows of a batch change each other's results: activations are quantized while the graph runs, with one scale
    /// for all rows.
    #[cfg(feature = "retrieval")]
    pub(crate) fn scales_all_rows(&self) -> bool {
        self.scales_all_rows
    }

    /// Requires version 1.24 for a graph with a sliding window. Before it, `GroupQueryAttention` computed windows that are one token too
    /// long (microsoft/onnxruntime, pull request 25927). Once a text is longer than the window, every logit is wrong.
    pub(crate) fn check_windows(&self) -> Result<()> {
        if self.is_windowed {
            require_version((1, 24), "sliding windows are computed wrongly before")?;
        }
        Ok(())
    }

    /// Reads the file at `path`, and checks that every file it names lies inside `fence`.
    pub(crate) fn read(path: &Path, fence: &Path) -> Result<Self> {
        let (file, length) = bounded::open(path)?;
        let graph = Self::walked(BufReader::new(file), length, path)?;
        let folder = path.parent().unwrap_or(path);
        let fence = fence.canonicalize().map_err(|source| unreadable(fence, source))?;
        for location in &graph.locations {
            let named = folder.join(location);
            if !bounded::goes_downwards(Path::new(location)) {
                return Err(outside(path, location));
            }
            let real = named.canonicalize().map_err(|source| unreadable(&named, source))?;
            if !real.starts_with(&fence) {
                return Err(outside(path, location));
            }
            bounded::open(&named)?;
        }
        Ok(graph)
    }

    /// Reads a graph that is in memory, and checks that it needs no files.
    pub(crate) fn of_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        let graph = Self::walked(Cursor::new(bytes), bytes.len() as u64, Path::new(name))?;
        if let Some(location) = graph.locations.first() {
            return Err(model(format!(
                "{name:?} takes weights from {location:?}; in memory a graph must hold its weights itself"
            )));
        }
        Ok(graph)
    }

    fn walked(reader: impl Read + Seek, length: u64, path: &Path) -> Result<Self> {
        let mut walk = Walk { reader, at: 0, found: Self::default() };
        walk.message(Message::Model, length, 0).map_err(|error| match error {
            Damage::Reason(reason) => damaged(path, reason),
            Damage::Io(source) => unreadable(path, source),
        })?;
        if !walk.found.has_graph {
            return Err(damaged(path, "it holds no graph"));
        }
        Ok(walk.found)
    }
}

fn outside(graph: &Path, location: &str) -> Error {
    model(format!("{graph:?} takes weights from {location:?}, which is outside of the model folder"))
}

fn damaged(graph: &Path, reason: &str) -> Error {
    model(format!("{graph:?} is not a whole ONNX file: {reason}"))
}

/// The messages that can contain tensors.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Message {
    Model,
    Training,
    Function,
    Graph,
    Node,
    Attribute,
    SparseTensor,
    Tensor,
    /// One entry of a tensor's `external_data`.
    Entry,
}

impl Message {
    /// Returns the message in a field; `None` for a field that cannot contain tensors.
    fn field(self, number: u64) -> Option<Message> {
        use Message::{Attribute, Entry, Function, Graph, Model, Node, SparseTensor, Tensor, Training};
        Some(match (self, number) {
            (Model, 7) => Graph,
            (Model, 20) => Training,
            (Model, 25) => Function,
            (Training, 1 | 2) => Graph,
            (Function, 7) => Node,
            (Function, 11) => Attribute,
            (Graph, 1) => Node,
            (Graph, 5) => Tensor,
            (Graph, 15) => SparseTensor,
            (Node, 5) => Attribute,
            (Attribute, 5 | 10) => Tensor,
            (Attribute, 6 | 11) => Graph,
            (Attribute, 22 | 23) => SparseTensor,
            (SparseTensor, 1 | 2) => Tensor,
            (Tensor, 13) => Entry,
            _ => return None,
        })
    }
}

#[derive(Debug)]
enum Damage {
    Reason(&'static str),
    Io(std::io::Error),
}

impl From<std::io::Error> for Damage {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Damage::Reason("it ends too early"),
            _ => Damage::Io(error),
        }
    }
}

struct Walk<R> {
    reader: R,
    at: u64,
    found: GraphFile,
}

/// The attribute of `GroupQueryAttention` with the length of its window, in tokens.
const WINDOW: &[u8] = b"local_window_size";

/// How the names of operators begin that quantize activations while the graph runs.
const DYNAMIC: &[u8] = b"DynamicQuantize";

/// The field of a node's operator.
const OPERATOR: u64 = 4;

/// The fields of an attribute's name and of its integer.
const ATTRIBUTE_NAME: u64 = 1;
const ATTRIBUTE_NUMBER: u64 = 3;

impl<R: Read + Seek> Walk<R> {
    /// Reads a message up to `end`, and the messages in it. The low three bits of a tag are the type of the field's value:
    /// 0 a varint, 1 eight bytes, 2 a length and that many bytes, 5 four bytes.
    fn message(&mut self, message: Message, end: u64, depth: usize) -> Result<(), Damage> {
        if depth > DEEPEST {
            return Err(Damage::Reason("its graphs are nested too deep"));
        }
        self.found.has_graph |= message == Message::Graph;
        let mut name = Vec::new();
        let mut number = 0;
        while self.at < end {
            let tag = self.varint()?;
            match (tag & 7, message, tag >> 3) {
                (0, Message::Attribute, ATTRIBUTE_NUMBER) => number = self.varint()?.cast_signed(),
                (0, ..) => {
                    self.varint()?;
                }
                (1, ..) => self.skip(8, end)?,
                (2, Message::Attribute, ATTRIBUTE_NAME) => name = self.bytes(end)?,
                (2, Message::Node, OPERATOR) => {
                    let operator = self.bytes(end)?;
                    self.found.scales_all_rows |= operator.starts_with(DYNAMIC);
                }
                (2, message, field) => self.nested(message.field(field), end, depth)?,
                (5, ..) => self.skip(4, end)?,
                _ => return Err(Damage::Reason("it has a field of an unknown type")),
            }
        }
        // A window of -1 means no window.
        self.found.is_windowed |= name == WINDOW && number > 0;
        if self.at != end {
            return Err(Damage::Reason("a field is longer than the message that contains it"));
        }
        Ok(())
    }

    fn nested(&mut self, message: Option<Message>, end: u64, depth: usize) -> Result<(), Damage> {
        if message == Some(Message::Entry) {
            return self.entry(end);
        }
        let length = self.varint()?;
        let inner = self.at.checked_add(length).filter(|&inner| inner <= end);
        let inner = inner.ok_or(Damage::Reason("it ends too early"))?;
        match message {
            Some(message) => self.message(message, inner, depth + 1),
            None => self.skip(length, end),
        }
    }

    /// Reads a key and a value, and keeps the value of the key `location`.
    fn entry(&mut self, end: u64) -> Result<(), Damage> {
        let bytes = self.bytes(end)?;
        let mut pair = Pair::default();
        pair.read(&bytes)?;
        if pair.key == b"location" {
            let location = String::from_utf8(pair.value);
            let location =
                location.map_err(|_| Damage::Reason("the name of a file of weights is not UTF-8"))?;
            self.found.locations.insert(location);
        }
        Ok(())
    }

    /// Reads a field that is a name or a small message.
    fn bytes(&mut self, end: u64) -> Result<Vec<u8>, Damage> {
        let length = self.varint()?;
        if self.at.checked_add(length).is_none_or(|inner| inner > end) {
            return Err(Damage::Reason("it ends too early"));
        }
        if length > 1 << 16 {
            return Err(Damage::Reason("a name in it is too long"));
        }
        let mut bytes = vec![0; length as usize];
        self.reader.read_exact(&mut bytes)?;
        self.at += length;
        Ok(bytes)
    }

    fn varint(&mut self) -> Result<u64, Damage> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.reader.read_exact(&mut byte)?;
            self.at += 1;
            let [byte] = byte;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Damage::Reason("a number is too long"))
    }

    fn skip(&mut self, bytes: u64, end: u64) -> Result<(), Damage> {
        let next = self.at.checked_add(bytes).filter(|&next| next <= end);
        self.at = next.ok_or(Damage::Reason("it ends too early"))?;
        let bytes = i64::try_from(bytes).map_err(|_| Damage::Reason("it ends too early"))?;
        self.reader.seek_relative(bytes)?;
        Ok(())
    }
}

/// A key and its value.
#[derive(Default)]
struct Pair {
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Pair {
    fn read(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        let end = bytes.len() as u64;
        let mut walk = Walk { reader: Cursor::new(bytes), at: 0, found: GraphFile::default() };
        while walk.at < end {
            let tag = walk.varint()?;
            if tag & 7 != 2 {
                return Err(Damage::Reason("the name of a file of weights has a field of an unknown type"));
            }
            let field = walk.bytes(end)?;
            match tag >> 3 {
                1 => self.key = field,
                2 => self.value = field,
                _ => {}
            }
        }
        Ok(())
    }
}
