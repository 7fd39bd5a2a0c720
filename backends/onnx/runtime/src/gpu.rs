//! The accelerators that a library may support.

/// The accelerator that a library must support, in addition to the processor (and, on macOS, CoreML).
///
/// It is set with [`Locator::gpu`](crate::Locator::gpu).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gpu {
    /// No accelerator.
    #[default]
    None,
    /// NVIDIA's CUDA 13. CUDA and cuDNN themselves must be installed on the machine.
    Cuda,
}
