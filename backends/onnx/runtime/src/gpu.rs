//! The accelerators that a library may support.

/// Which accelerator the library is to support beyond the processor (and, on macOS, CoreML).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gpu {
    /// None.
    #[default]
    None,
    /// NVIDIA's CUDA 13. CUDA and cuDNN themselves are the machine's business.
    Cuda,
}
