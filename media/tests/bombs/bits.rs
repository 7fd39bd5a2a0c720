//! Bits in the order of formats, and zeros as compressors write them.

/// Bits that become bytes.
#[derive(Default)]
pub(crate) struct Bits {
    bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl Bits {
    /// Appends the low bits of a number, the lowest first, from the low end of each byte.
    pub(crate) fn low(&mut self, value: u64, count: u32) {
        self.held |= value << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// Appends the low bits of a number, the highest first, from the high end of each byte.
    pub(crate) fn high(&mut self, value: u64, count: u32) {
        self.held = (self.held << count) | value;
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.held >> self.count) as u8);
            self.held &= (1 << self.count) - 1;
        }
    }

    pub(crate) fn low_end(mut self) -> Vec<u8> {
        self.low(0, 7);
        self.bytes
    }

    pub(crate) fn high_end(mut self) -> Vec<u8> {
        self.high(0, 7);
        self.bytes
    }
}

/// So many zeros as a zlib stream: one literal, and copies of it.
pub(crate) fn zlib(zeros: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.low(0x0178, 16);
    bits.low(0b011, 3); // the last block, with the codes that are fixed
    let mut left = zeros;
    let literal = 0b0000_1100;
    if left > 0 {
        bits.low(literal, 8);
        left -= 1;
    }
    while left >= 258 {
        bits.low(0b1010_0011, 8); // 285: a copy of 258
        bits.low(0, 5); // from one byte before
        left -= 258;
    }
    for _ in 0..left {
        bits.low(literal, 8);
    }
    bits.low(0, 7); // the end of the block
    let mut bytes = bits.low_end();
    let sum = ((zeros % 65_521) as u32) << 16 | 1;
    bytes.extend(sum.to_be_bytes());
    bytes
}

/// So many zeros as LZW: each code is the one before and another zero. `early` says that codes grow one code sooner, as in TIFF.
pub(crate) fn lzw(zeros: usize, least: u32, early: bool) -> Vec<u8> {
    let clear = 1_u64 << least;
    let end = (1_u64 << least) + 1;
    let mut bits = Bits::default();
    let put =
        |bits: &mut Bits, code, width| if early { bits.high(code, width) } else { bits.low(code, width) };
    let mut left = zeros;
    let mut width = least + 1;
    put(&mut bits, clear, width);
    while left > 0 {
        (width, _) = (least + 1, ());
        put(&mut bits, 0, width);
        left -= 1;
        // The decoder has an entry more after each code but the first.
        let mut next = end + 1;
        let mut run = 2;
        while left >= run && next < 4_000 {
            put(&mut bits, next, width);
            left -= run;
            run += 1;
            next += 1;
            if next + u64::from(early) >= 1 << width && width < 12 {
                width += 1;
            }
        }
        if left > 0 {
            put(&mut bits, clear, width);
        }
    }
    put(&mut bits, end, width);
    if early { bits.high_end() } else { bits.low_end() }
}
