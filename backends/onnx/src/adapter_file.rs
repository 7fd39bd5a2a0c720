//! Reads the parameters of an adapter's file: FlatBuffers with the schema `adapter_schema.fbs` of ONNX Runtime, format
//! version 1.
//!
//! A file may come from strangers, so every offset is checked against its length.

use ort::value::TensorElementType;

/// The bytes after the first offset, the same in every adapter.
const MAGIC: &[u8] = b"TORT";

/// The only version of the format that is supported.
const FORMAT: u32 = 1;

/// One tensor of an adapter.
#[derive(Debug, PartialEq)]
pub(crate) struct Parameter<'a> {
    pub(crate) name: &'a str,
    pub(crate) element: TensorElementType,
    pub(crate) shape: Vec<i64>,
    /// The elements, little-endian, as many as the shape has.
    pub(crate) bytes: &'a [u8],
}

/// Why a file is not an adapter.
pub(crate) type Damage = &'static str;

const SHORT: Damage = "it ends too early";

/// Reads an adapter's parameters.
pub(crate) fn parameters(bytes: &[u8]) -> Result<Vec<Parameter<'_>>, Damage> {
    if bytes.get(4..8) != Some(MAGIC) {
        return Err("it does not begin as one");
    }
    let adapter = Table { bytes, at: follow(bytes, 0)? };
    if adapter.scalar(0)? != FORMAT {
        return Err("its format is of another version than 1");
    }
    let (first, count) = adapter.vector(3, 4)?.ok_or("it holds no parameters")?;
    // Not `with_capacity`: a damaged count may be huge, and the loop ends at the first element outside of the file.
    let mut parameters = Vec::new();
    for index in 0..count {
        let at = follow(bytes, first + 4 * index)?;
        parameters.push(parameter(&Table { bytes, at })?);
    }
    Ok(parameters)
}

fn parameter<'a>(table: &Table<'a>) -> Result<Parameter<'a>, Damage> {
    let bytes = table.bytes;
    let name = match table.vector(0, 1)? {
        Some((at, length)) => str::from_utf8(slice(bytes, at, length)?).map_err(|_| "a name is not UTF-8")?,
        None => return Err("a parameter has no name"),
    };
    let shape: Vec<i64> = match table.vector(1, 8)? {
        Some((at, count)) => {
            slice(bytes, at, count * 8)?.as_chunks().0.iter().map(|size| i64::from_le_bytes(*size)).collect()
        }
        None => Vec::new(),
    };
    let element = element(table.scalar(2)?).ok_or("a parameter has elements of an unknown type")?;
    let data = match table.vector(3, 1)? {
        Some((at, length)) => slice(bytes, at, length)?,
        None => &[],
    };
    if size(&shape, element) != Some(data.len()) {
        return Err("a parameter has more or fewer elements than its shape says");
    }
    Ok(Parameter { name, element, shape, bytes: data })
}

/// Returns how many bytes a tensor takes; `None` for an impossible shape.
fn size(shape: &[i64], element: TensorElementType) -> Option<usize> {
    let mut sizes = shape.iter().map(|&size| usize::try_from(size).ok());
    let count = sizes.try_fold(1_usize, |product, size| product.checked_mul(size?))?;
    count.checked_mul(element.byte_size(1)?)
}

/// Returns the element type with a number of ONNX (`TensorProto.DataType`).
fn element(number: u32) -> Option<TensorElementType> {
    Some(match number {
        1 => TensorElementType::Float32,
        2 => TensorElementType::Uint8,
        3 => TensorElementType::Int8,
        4 => TensorElementType::Uint16,
        5 => TensorElementType::Int16,
        6 => TensorElementType::Int32,
        7 => TensorElementType::Int64,
        10 => TensorElementType::Float16,
        11 => TensorElementType::Float64,
        12 => TensorElementType::Uint32,
        13 => TensorElementType::Uint64,
        16 => TensorElementType::Bfloat16,
        _ => return None,
    })
}

/// A table of FlatBuffers: the offsets of its fields are in a vtable, which precedes or follows it.
struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Table<'_> {
    /// Returns the place of a field; `None` for a field that is not set.
    fn field(&self, index: usize) -> Result<Option<usize>, Damage> {
        // The table begins with the signed distance back to its vtable: `vtable = table - distance`.
        let distance = i64::from(number(self.bytes, self.at)?.cast_signed());
        let vtable = (self.at as i64).checked_sub(distance).and_then(|at| usize::try_from(at).ok());
        let vtable = vtable.ok_or(SHORT)?;
        // The vtable: its own length, the table's length, then an offset for each field, two bytes each.
        let length = usize::from(short(self.bytes, vtable)?);
        let entry = 4 + 2 * index;
        if entry + 2 > length {
            return Ok(None);
        }
        let offset = usize::from(short(self.bytes, vtable + entry)?);
        if offset == 0 { Ok(None) } else { Ok(Some(self.at + offset)) }
    }

    /// Returns a number of four bytes; a field that is not set is zero.
    fn scalar(&self, index: usize) -> Result<u32, Damage> {
        self.field(index)?.map_or(Ok(0), |at| number(self.bytes, at))
    }

    /// Returns the place of the first element of a vector or a text, and the number of elements, of `size` bytes each.
    fn vector(&self, index: usize, size: usize) -> Result<Option<(usize, usize)>, Damage> {
        let Some(at) = self.field(index)? else { return Ok(None) };
        let at = follow(self.bytes, at)?;
        let count = number(self.bytes, at)? as usize;
        let length = count.checked_mul(size).ok_or(SHORT)?;
        slice(self.bytes, at + 4, length).map(|_| Some((at + 4, count)))
    }
}

/// Returns the place that the offset at `at` points to, counted from `at`.
fn follow(bytes: &[u8], at: usize) -> Result<usize, Damage> {
    at.checked_add(number(bytes, at)? as usize).ok_or(SHORT)
}

fn number(bytes: &[u8], at: usize) -> Result<u32, Damage> {
    let taken = slice(bytes, at, 4)?.first_chunk().ok_or(SHORT)?;
    Ok(u32::from_le_bytes(*taken))
}

fn short(bytes: &[u8], at: usize) -> Result<u16, Damage> {
    let taken = slice(bytes, at, 2)?.first_chunk().ok_or(SHORT)?;
    Ok(u16::from_le_bytes(*taken))
}

fn slice(bytes: &[u8], at: usize, length: usize) -> Result<&[u8], Damage> {
    at.checked_add(length).and_then(|end| bytes.get(at..end)).ok_or(SHORT)
}
