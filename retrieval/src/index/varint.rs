//! Small numbers in few bytes: seven bits in each, the lowest first, and the highest bit says that another byte follows.

/// Appends a number.
pub(super) fn write(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number from the front.
pub(super) fn read(bytes: &mut &[u8]) -> Option<u32> {
    let mut number: u32 = 0;
    for shift in (0..32).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u32::from(byte & 0x7f);
        number |= bits.checked_shl(shift).filter(|shifted| shifted >> shift == bits)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Takes this many bytes from the front.
pub(super) fn take<'a>(bytes: &mut &'a [u8], number: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(number)?;
    *bytes = rest;
    Some(taken)
}
