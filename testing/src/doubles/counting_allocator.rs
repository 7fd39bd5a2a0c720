//! An allocator that counts how much memory a piece of work takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The allocator of the system, with a count of the allocated bytes.
///
/// It counts the allocations of all threads, so the test that uses it must be alone in its process.
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
    /// Creates an allocator that has allocated nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { now: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }

    /// Runs some work, and returns its result with the largest number of bytes that it had allocated at any time.
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

// SAFETY: each call is passed unchanged to the allocator of the system, and only counted beside that.
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
        // Both blocks may exist while the content is copied.
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
