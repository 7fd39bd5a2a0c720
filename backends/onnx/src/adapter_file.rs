//! What stands in an adapter's file. Knows the wire format of FlatBuffers, and of adapters where parameters stand
//! (`adapter_schema.fbs` of ONNX Runtime, format version 1).
//!
//! A file comes from strangers: nothing is read that does not lie inside of it.

use ort::value::TensorElementType;

/// What the bytes behind the first offset are in every adapter.
const MAGIC: &[u8] = b"TORT";

/// The version of the format that is read here.
const FORMAT: u32 = 1;

/// A tensor that an adapter holds.
#[derive(Debug, PartialEq)]
pub(crate) struct Parameter<'a> {
    pub(crate) name: &'a str,
    pub(crate) element: TensorElementType,
    pub(crate) shape: Vec<i64>,
    /// The elements, little-endian; as many as the shape says.
    pub(crate) bytes: &'a [u8],
}

/// Why a file is no adapter.
pub(crate) type Damage = &'static str;

const SHORT: Damage = "it ends too early";

/// Reads an adapter's parameters.
pub(crate) fn parameters(bytes: &[u8]) -> Result<Vec<Parameter<'_>>, Damage> {
    if bytes.get(4..8) != Some(MAGIC) {
        return Err("it does not begin as one");
    }
    let adapter = Table { bytes, at: follow(bytes, 0)? };
    match adapter.scalar(0)? {
        FORMAT => {}
        _ => return Err("its format is of another version than 1"),
    }
    let (first, count) = adapter.vector(3, 4)?.ok_or("it holds no parameters")?;
    // A vector that is too long ends at the first element that is not there.
    let places = (0..count).map(|index| follow(bytes, first + 4 * index));
    places.map(|at| parameter(&Table { bytes, at: at? })).collect()
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
    match size(&shape, element) == Some(data.len()) {
        true => Ok(Parameter { name, element, shape, bytes: data }),
        false => Err("a parameter has more or fewer elements than its shape says"),
    }
}

/// Returns how many bytes a tensor takes; `None` for a shape that there cannot be.
fn size(shape: &[i64], element: TensorElementType) -> Option<usize> {
    let mut sizes = shape.iter().map(|&size| usize::try_from(size).ok());
    let count = sizes.try_fold(1_usize, |product, size| product.checked_mul(size?))?;
    count.checked_mul(element.byte_size(1)?)
}

/// The numbers of element types are those of ONNX (`TensorProto.DataType`).
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

/// A table: fields, where its own table of places says that they are.
struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Table<'_> {
    /// Returns where a field stands; `None` where it is not set.
    fn field(&self, index: usize) -> Result<Option<usize>, Damage> {
        let back = i64::from(number(self.bytes, self.at)?.cast_signed());
        let places =
            (self.at as i64).checked_sub(back).and_then(|at| usize::try_from(at).ok()).ok_or(SHORT)?;
        let length = usize::from(short(self.bytes, places)?);
        let entry = 4 + 2 * index;
        if entry + 2 > length {
            return Ok(None);
        }
        let offset = usize::from(short(self.bytes, places + entry)?);
        Ok(Some(self.at + offset).filter(|_| offset > 0))
    }

    /// Returns a number of four bytes; one that is not set is zero.
    fn scalar(&self, index: usize) -> Result<u32, Damage> {
        self.field(index)?.map_or(Ok(0), |at| number(self.bytes, at))
    }

    /// Returns where the elements of a vector or a text begin, and how many there are, of `size` bytes each.
    fn vector(&self, index: usize, size: usize) -> Result<Option<(usize, usize)>, Damage> {
        let Some(at) = self.field(index)? else { return Ok(None) };
        let at = follow(self.bytes, at)?;
        let count = number(self.bytes, at)? as usize;
        let length = count.checked_mul(size).ok_or(SHORT)?;
        slice(self.bytes, at + 4, length).map(|_| Some((at + 4, count)))
    }
}

/// Returns the place that stands at `at`, as a distance from there.
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
