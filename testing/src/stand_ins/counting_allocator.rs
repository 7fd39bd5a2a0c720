//! An allocator that counts: how much memory something takes at most.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, and how much it has given away: for a test that is alone in its process, as what other threads
/// allocate is counted too.
///
/// ```
/// use alloquy_testing::CountingAllocator;
///
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator = CountingAllocator::new();
///
/// let (length, most) = ALLOCATOR.most_during(|| vec![1_u8; 1 << 20].len());
/// assert!(most >= length);
/// ```
#[derive(Debug, Default)]
pub struct CountingAllocator {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl CountingAllocator {
    /// Creates one that has given nothing away.
    #[must_use]
    pub const fn new() -> Self {
        Self { now: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }

    /// Does something, and returns with it the most bytes that were taken at a time beside those that were taken before.
    pub fn most_during<T>(&self, work: impl FnOnce() -> T) -> (T, usize) {
        let before = self.now.load(Ordering::Relaxed);
        self.most.store(before, Ordering::Relaxed);
        let done = work();
        (done, self.most.load(Ordering::Relaxed).saturating_sub(before))
    }

    fn count(&self, more: usize, less: usize) {
        let before = self.now.fetch_add(more, Ordering::Relaxed);
        self.most.fetch_max(before + more, Ordering::Relaxed);
        self.now.fetch_sub(less, Ordering::Relaxed);
    }
}

// SAFETY: each call is handed on to the system's allocator as it came, and numbers are added up beside it.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of this function, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may be there for a moment, while what is in them is copied.
        self.count(size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        self.count(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }
}
