//! Chunks of RIFF files, which WAV and WebP are. Knows no chunk by name.

/// A chunk of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'a> {
    pub(crate) name: [u8; 4],
    /// How many bytes it says that it has.
    pub(crate) length: usize,
    /// Those of them that are there.
    pub(crate) content: &'a [u8],
    /// These, and whatever comes after them in the file.
    #[cfg(feature = "audio")]
    pub(crate) rest: &'a [u8],
}

/// Chunks that lie behind each other; the last one may be cut short.
pub(crate) struct Chunks<'a>(&'a [u8]);

impl<'a> Chunks<'a> {
    /// Those of a whole file, behind its head: `RIFF`, a length, and what it is.
    pub(crate) fn of_file(file: &'a [u8]) -> Self {
        Self::of(file.get(12..).unwrap_or_default())
    }

    /// Those that bytes consist of.
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        let (name, behind) = self.0.split_first_chunk::<4>()?;
        let (length, all) = behind.split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        // Each begins at an even place.
        self.0 = length.checked_next_multiple_of(2).and_then(|end| all.get(end..)).unwrap_or_default();
        Some(Chunk {
            name: *name,
            length,
            content: all.get(..length).unwrap_or(all),
            #[cfg(feature = "audio")]
            rest: all,
        })
    }
}
