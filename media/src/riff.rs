//! Reads the chunks of RIFF files, such as WAV and WebP.

/// A chunk of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'a> {
    pub(crate) name: [u8; 4],
    /// The declared length.
    pub(crate) length: usize,
    /// The content, which is shorter where the file ends too early.
    pub(crate) content: &'a [u8],
    /// The content, and the rest of the file after it.
    #[cfg(feature = "audio")]
    pub(crate) rest: &'a [u8],
}

/// Chunks that follow each other; the last one may be incomplete.
pub(crate) struct Chunks<'a>(&'a [u8]);

impl<'a> Chunks<'a> {
    /// The chunks of a whole file, after its head: `RIFF`, a length, and the file type.
    pub(crate) fn of_file(file: &'a [u8]) -> Self {
        Self::of(file.get(12..).unwrap_or_default())
    }

    /// The chunks in bytes.
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        let (name, rest) = self.0.split_first_chunk::<4>()?;
        let (length, all) = rest.split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        // Each chunk begins at an even offset.
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
