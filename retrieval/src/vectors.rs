//! Vectors of one length in one piece of memory, or in a file, and their similarities to another one.

use std::io::Write;
use std::path::Path;

use alloquy_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::mapped::Bytes;

/// The first bytes of a file: what it is, and the version of its layout.
const MAGIC: &[u8; 8] = b"ALQVEC\x00\x01";
/// The header: [`MAGIC`], the format, the dimensions, the number of rows, zeros.
const HEADER: usize = 64;
/// More numbers have no model of embeddings, and sums of products of integers would not fit 32 bits.
const MOST_DIMENSIONS: usize = 65_536;
/// How many products are summed at once: enough for the widest registers of today.
const LANES: usize = 16;

/// How the numbers of vectors are stored.
///
/// [`Vectors`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VectorFormat {
    /// As they are, 4 bytes a number.
    #[default]
    F32,
    /// As integers of one byte, and one factor a vector: a quarter of the memory and of the time; similarities of unit vectors
    /// differ by less than 0.01.
    Int8,
}

/// Vectors of one length, compared with another one by reading all of them.
///
/// That takes about 10 ms for 100,000 vectors of 384 numbers. In a file the numbers are little-endian, after a header of 64 bytes.
///
/// ```
/// use alloquy_retrieval::{VectorFormat, Vectors};
///
/// let mut vectors = Vectors::new(2, VectorFormat::Int8)?;
/// vectors.push(&[1.0, 0.0])?;
/// vectors.push(&[0.6, 0.8])?;
/// let similarities = vectors.similarities(&[0.0, 1.0])?;
/// assert!(similarities[0].abs() < 0.01 && (similarities[1] - 0.8).abs() < 0.01);
/// assert!(vectors.push(&[f32::NAN, 0.0]).is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Vectors {
    dimensions: usize,
    format: VectorFormat,
    rows: usize,
    /// The header, then the rows. A row of integers begins with its factor.
    bytes: Bytes,
}

impl Vectors {
    /// Creates an empty list of vectors with `dimensions` numbers.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] unless there are 1 to 65,536 dimensions.
    pub fn new(dimensions: usize, format: VectorFormat) -> Result<Self> {
        check_dimensions(dimensions, ErrorKind::Invalid)?;
        Ok(Self { dimensions, format, rows: 0, bytes: Bytes::Owned(vec![0; HEADER]) })
    }

    /// Opens a file that [`Vectors::write`] wrote. Its numbers are read when they are needed, and may exceed the memory.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] if it cannot be read, [`ErrorKind::Corrupt`] if it is another file or has another length.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = Bytes::open(path)?;
        let damaged = |what: &str| {
            let message = format!("{} {what}: restore it, or make the index again", path.display());
            Error::new(ErrorKind::Corrupt, message)
        };
        let header = Header::read(bytes.as_slice()).ok_or_else(|| damaged("is no file of vectors"))?;
        let dimensions =
            usize::try_from(header.dimensions).map_err(|_| damaged("has too many dimensions"))?;
        check_dimensions(dimensions, ErrorKind::Corrupt)?;
        let format = match header.format {
            0 => VectorFormat::F32,
            1 => VectorFormat::Int8,
            _ => return Err(damaged("has numbers of an unknown format")),
        };
        let rows = usize::try_from(header.rows).map_err(|_| damaged("has too many rows"))?;
        let length =
            rows.checked_mul(row_bytes(dimensions, format)).and_then(|length| length.checked_add(HEADER));
        if length != Some(bytes.as_slice().len()) {
            return Err(damaged("has another length than its header says"));
        }
        Ok(Self { dimensions, format, rows, bytes })
    }

    /// Writes the vectors as a file has them.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when writing fails.
    pub fn write(&self, writer: &mut dyn Write) -> Result<()> {
        let header = Header {
            format: match self.format {
                VectorFormat::F32 => 0,
                VectorFormat::Int8 => 1,
            },
            dimensions: self.dimensions as u64,
            rows: self.rows as u64,
        };
        let written = writer.write_all(&header.bytes()).and_then(|()| writer.write_all(self.data()));
        written.map_err(|error| Error::new(ErrorKind::Store, "vectors cannot be written").with_source(error))
    }

    /// Returns how many numbers a vector has.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns how the numbers are stored.
    pub fn format(&self) -> VectorFormat {
        self.format
    }

    /// Returns how many vectors there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns whether there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds a vector. Vectors of a file are copied into memory first; the file does not change.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a vector of another length, or with a number that is not finite.
    pub fn push(&mut self, vector: &[f32]) -> Result<()> {
        self.check(vector)?;
        let bytes = self.bytes.to_mut();
        match self.format {
            VectorFormat::F32 => bytes.extend(vector.iter().flat_map(|number| number.to_le_bytes())),
            VectorFormat::Int8 => {
                let (factor, integers) = quantized(vector, 127.0);
                bytes.extend(factor.to_le_bytes());
                // Rounded numbers from -127 to 127.
                #[allow(clippy::cast_possible_truncation)]
                bytes.extend(integers.map(|number| (number as i8).to_le_bytes()[0]));
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Adds a vector of another list with the same dimensions and format, without computing it again. It returns whether there is
    /// such a vector.
    pub(crate) fn push_row(&mut self, other: &Self, row: usize) -> bool {
        let size = row_bytes(self.dimensions, self.format);
        let is_alike = (self.dimensions, self.format) == (other.dimensions, other.format);
        let Some(bytes) = other.data().chunks_exact(size).nth(row).filter(|_| is_alike) else { return false };
        self.bytes.to_mut().extend(bytes);
        self.rows += 1;
        true
    }

    /// Returns the bytes of a vector, as a file has them; `None` if there are fewer vectors.
    ///
    /// ```
    /// use alloquy_retrieval::{VectorFormat, Vectors};
    ///
    /// let mut vectors = Vectors::new(2, VectorFormat::F32)?;
    /// vectors.push(&[1.0, 0.0])?;
    /// let bytes = vectors.row_bytes(0).unwrap().to_vec();
    /// vectors.push_bytes(&bytes)?;
    /// assert_eq!(vectors.row_bytes(1), Some(&bytes[..]));
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn row_bytes(&self, row: usize) -> Option<&[u8]> {
        self.data().chunks_exact(row_bytes(self.dimensions, self.format)).nth(row)
    }

    /// Adds a vector by the bytes that [`Vectors::row_bytes`] returned.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] for another number of bytes.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let expected = row_bytes(self.dimensions, self.format);
        if bytes.len() != expected {
            let message = format!(
                "a vector has {} bytes, and one of {} numbers as {:?} has {expected}: compute it again",
                bytes.len(),
                self.dimensions,
                self.format
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        self.bytes.to_mut().extend(bytes);
        self.rows += 1;
        Ok(())
    }

    /// Returns the dot product of `query` with each vector: of vectors of length 1, the cosine.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a query of another length, or with a number that is not finite.
    pub fn similarities(&self, query: &[f32]) -> Result<Vec<f32>> {
        self.check(query)?;
        let rows = self.data().chunks_exact(row_bytes(self.dimensions, self.format));
        match self.format {
            VectorFormat::F32 => Ok(rows.map(|row| dot_f32(query, row)).collect()),
            VectorFormat::Int8 => {
                let query = IntegerQuery::new(query);
                Ok(rows.map(|row| query.dot(row)).collect())
            }
        }
    }

    fn data(&self) -> &[u8] {
        self.bytes.as_slice().get(HEADER..).unwrap_or_default()
    }

    fn check(&self, vector: &[f32]) -> Result<()> {
        if vector.len() != self.dimensions {
            let message = format!(
                "a vector of {} numbers does not fit an index of {} dimensions: use the embedder of the index",
                vector.len(),
                self.dimensions
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if let Some(place) = vector.iter().position(|number| !number.is_finite()) {
            let number = vector.get(place).copied().unwrap_or_default();
            let message = format!(
                "a vector has {number} at {place}: its numbers must be finite; is the model damaged?"
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(())
    }
}

fn check_dimensions(dimensions: usize, kind: ErrorKind) -> Result<()> {
    if dimensions == 0 || dimensions > MOST_DIMENSIONS {
        let message =
            format!("vectors of {dimensions} numbers are not possible: they have 1 to {MOST_DIMENSIONS}");
        return Err(Error::new(kind, message));
    }
    Ok(())
}

fn row_bytes(dimensions: usize, format: VectorFormat) -> usize {
    match format {
        VectorFormat::F32 => 4 * dimensions,
        VectorFormat::Int8 => 4 + dimensions,
    }
}

/// What the first bytes of a file say.
struct Header {
    format: u64,
    dimensions: u64,
    rows: u64,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..HEADER)?;
        let (fields, _) = header.strip_prefix(MAGIC)?.as_chunks::<8>();
        let [format, dimensions, rows, ..] = fields else { return None };
        Some(Self {
            format: u64::from_le_bytes(*format),
            dimensions: u64::from_le_bytes(*dimensions),
            rows: u64::from_le_bytes(*rows),
        })
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for field in [self.format, self.dimensions, self.rows] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.resize(HEADER, 0);
        bytes
    }
}

/// Returns numbers as a factor and integers up to `largest`.
fn quantized(vector: &[f32], largest: f32) -> (f32, impl Iterator<Item = f32>) {
    let greatest = vector.iter().fold(0.0_f32, |greatest, number| greatest.max(number.abs()));
    let factor = greatest / largest;
    // A factor that is too small to divide by is that of zeros.
    let inverse = if factor.is_normal() { 1.0 / factor } else { 0.0 };
    (factor, vector.iter().map(move |number| (number * inverse).round().clamp(-largest, largest)))
}

/// Sums the products of numbers, several at once: the compiler turns the inner loop into a few instructions on whole registers.
fn dot_f32(query: &[f32], row: &[u8]) -> f32 {
    let (queries, query_rest) = query.as_chunks::<LANES>();
    let (rows, row_rest) = row.as_chunks::<{ 4 * LANES }>();
    let mut sums = [0.0_f32; LANES];
    for (query, row) in queries.iter().zip(rows) {
        let (numbers, _) = row.as_chunks::<4>();
        for ((sum, query), number) in sums.iter_mut().zip(query).zip(numbers) {
            *sum += query * f32::from_le_bytes(*number);
        }
    }
    let (numbers, _) = row_rest.as_chunks::<4>();
    let mut sum: f32 = sums.iter().sum();
    for (query, number) in query_rest.iter().zip(numbers) {
        sum += query * f32::from_le_bytes(*number);
    }
    sum
}

/// A query as integers, which products with integers of one byte are exact with.
struct IntegerQuery {
    factor: f32,
    integers: Vec<i16>,
}

impl IntegerQuery {
    fn new(query: &[f32]) -> Self {
        // So large that a sum of products fits 32 bits: 384 dimensions allow 32,767, 65,536 allow 257.
        let most = i32::MAX as usize / 128 / query.len().max(1);
        let largest = i16::try_from(most).unwrap_or(i16::MAX);
        let (factor, integers) = quantized(query, f32::from(largest));
        // Rounded numbers up to `largest`.
        #[allow(clippy::cast_possible_truncation)]
        let integers = integers.map(|number| number as i16).collect();
        Self { factor, integers }
    }

    fn dot(&self, row: &[u8]) -> f32 {
        let Some((factor, row)) = row.split_first_chunk::<4>() else { return 0.0 };
        // Sums without checks, which fit by the choice of the integers: the compiler computes several products at once.
        let products = self.integers.iter().zip(row).map(|(query, byte)| product(*query, *byte));
        let sum = products.fold(0_i32, i32::wrapping_add);
        // Sums of more than 24 bits lose digits that the rounding of numbers has lost before.
        #[allow(clippy::cast_precision_loss)]
        let sum = sum as f32;
        sum * self.factor * f32::from_le_bytes(*factor)
    }
}

/// Multiplies two integers, without a check for overflow: the product has at most 23 bits.
fn product(query: i16, byte: u8) -> i32 {
    i32::from(query).wrapping_mul(i32::from(i8::from_le_bytes([byte])))
}
