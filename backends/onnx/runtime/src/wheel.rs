//! The pinned wheels, as data. Knows no files.

use std::env::consts::{ARCH, OS};

use crate::error::{LocateError, Result};

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

/// One pinned wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wheel {
    /// Operating system, as [`std::env::consts::OS`] calls it.
    pub os: &'static str,
    /// Processor, as [`std::env::consts::ARCH`] calls it.
    pub arch: &'static str,
    /// The accelerator it supports.
    pub gpu: Gpu,
    /// The package's name.
    pub package: &'static str,
    /// The package's version, which is ONNX Runtime's.
    pub version: &'static str,
    /// The platform tag that `pip` is asked for.
    pub platform: &'static str,
    /// SHA-256 of the wheel, 64 hexadecimal digits.
    pub sha256: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
    /// The library, a file of the wheel's `onnxruntime/capi`.
    pub library: &'static str,
    /// What must lie beside the library.
    pub companions: &'static [&'static str],
}

impl Wheel {
    /// Returns the wheel pinned for this machine.
    ///
    /// # Errors
    /// [`LocateError::UnknownMachine`], listing the machines for which one is pinned.
    ///
    /// ```
    /// use alloquy_onnx_runtime::{Gpu, Wheel};
    ///
    /// let wheel = Wheel::pinned(Gpu::None)?;
    /// assert_eq!(wheel.sha256.len(), 64);
    /// # Ok::<(), alloquy_onnx_runtime::LocateError>(())
    /// ```
    pub fn pinned(gpu: Gpu) -> std::result::Result<&'static Wheel, LocateError> {
        Self::for_machine(OS, ARCH, gpu)
    }

    fn for_machine(os: &str, arch: &str, gpu: Gpu) -> Result<&'static Wheel> {
        let fits = |wheel: &&Wheel| wheel.os == os && wheel.arch == arch && wheel.gpu == gpu;
        PINNED.iter().find(fits).ok_or_else(|| LocateError::UnknownMachine {
            machine: format!("{os} {arch}"),
            gpu,
            known: PINNED
                .iter()
                .filter(|wheel| wheel.gpu == gpu)
                .map(|wheel| format!("{} {}", wheel.os, wheel.arch))
                .collect(),
        })
    }

    /// Returns the name of its folder in the cache, such as `1.31.1` or `1.31.1-cuda`.
    pub(crate) fn folder(&self) -> String {
        match self.gpu {
            Gpu::None => self.version.to_owned(),
            Gpu::Cuda => format!("{}-cuda", self.version),
        }
    }

    /// Returns package and version, for people.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.package, self.version)
    }

    /// Returns the command that sets it up.
    pub(crate) fn command(&self) -> &'static str {
        match self.gpu {
            Gpu::None => "cargo xtask setup",
            Gpu::Cuda => "cargo xtask setup --gpu cuda",
        }
    }
}

/// The oldest version that serves: the interface this workspace is built against (`ort`'s feature `api-23`).
pub(crate) const OLDEST: (u32, u32) = (1, 23);

/// Every pinned wheel. Intel Macs stay at 1.23.2: it is the last version that was published for them.
pub static PINNED: &[Wheel] = &[
    Wheel {
        os: "linux",
        arch: "x86_64",
        gpu: Gpu::None,
        package: "onnxruntime",
        version: "1.31.1",
        platform: "manylinux_2_28_x86_64",
        sha256: "5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f",
        bytes: 23_750_000,
        library: "libonnxruntime.so.1.31.1",
        companions: &[],
    },
    Wheel {
        os: "linux",
        arch: "aarch64",
        gpu: Gpu::None,
        package: "onnxruntime",
        version: "1.31.1",
        platform: "manylinux_2_28_aarch64",
        sha256: "da05378364c44d4407e463982d2bf8d5e4cfea873283757e48beeb41df97b7f3",
        bytes: 21_410_000,
        library: "libonnxruntime.so.1.31.1",
        companions: &[],
    },
    Wheel {
        os: "macos",
        arch: "aarch64",
        gpu: Gpu::None,
        package: "onnxruntime",
        version: "1.31.1",
        platform: "macosx_14_0_arm64",
        sha256: "60b6b69bfe580eab576cacc5d132a0e9cf2a37fcfd18d46dd191042b1d1ed0d7",
        bytes: 20_870_000,
        library: "libonnxruntime.1.31.1.dylib",
        companions: &[],
    },
    Wheel {
        os: "macos",
        arch: "x86_64",
        gpu: Gpu::None,
        package: "onnxruntime",
        version: "1.23.2",
        platform: "macosx_13_0_x86_64",
        sha256: "87d8b6eaf0fbeb6835a60a4265fde7a3b60157cf1b2764773ac47237b4d48612",
        bytes: 19_150_000,
        library: "libonnxruntime.1.23.2.dylib",
        companions: &[],
    },
    Wheel {
        os: "windows",
        arch: "x86_64",
        gpu: Gpu::None,
        package: "onnxruntime",
        version: "1.31.1",
        platform: "win_amd64",
        sha256: "c3d91b5de31e2fc82d71bd65b2b22bddee8b49057a3a36338e9a868e0ea90c05",
        bytes: 14_890_000,
        library: "onnxruntime.dll",
        companions: &[],
    },
    Wheel {
        os: "windows",
        arch: "aarch64",
        gpu: Gpu::None,
        package: "onnxruntime",
        version: "1.31.1",
        platform: "win_arm64",
        sha256: "93800007a7023b3ab26ad72e6463d0d57d84ead49a2f6341954d91438e046bc0",
        bytes: 14_740_000,
        library: "onnxruntime.dll",
        companions: &[],
    },
    Wheel {
        os: "linux",
        arch: "x86_64",
        gpu: Gpu::Cuda,
        package: "onnxruntime-gpu",
        version: "1.31.1",
        platform: "manylinux_2_28_x86_64",
        sha256: "e26c475fe361b2015f45b4b824bd13f0bb20204e59b62814e6f0acd5f3d491a6",
        bytes: 255_600_000,
        library: "libonnxruntime.so.1.31.1",
        companions: &["libonnxruntime_providers_shared.so", "libonnxruntime_providers_cuda.so"],
    },
    Wheel {
        os: "linux",
        arch: "aarch64",
        gpu: Gpu::Cuda,
        package: "onnxruntime-gpu",
        version: "1.31.1",
        platform: "manylinux_2_34_aarch64",
        sha256: "dc878916611b8a816000ffedacc5f5988f77bb93bf9655ad20144ee3acb08e55",
        bytes: 212_300_000,
        library: "libonnxruntime.so.1.31.1",
        companions: &["libonnxruntime_providers_shared.so", "libonnxruntime_providers_cuda.so"],
    },
    Wheel {
        os: "windows",
        arch: "x86_64",
        gpu: Gpu::Cuda,
        package: "onnxruntime-gpu",
        version: "1.31.1",
        platform: "win_amd64",
        sha256: "fd98341ba71c093153f0dcfc53eb69d57f706866fb45e94e5b0cde5d97a50dbf",
        bytes: 168_100_000,
        library: "onnxruntime.dll",
        companions: &["onnxruntime_providers_shared.dll", "onnxruntime_providers_cuda.dll"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_is_pinned_once_with_a_whole_digest() {
        for wheel in PINNED {
            let same = PINNED
                .iter()
                .filter(|other| (other.os, other.arch, other.gpu) == (wheel.os, wheel.arch, wheel.gpu));
            assert_eq!(same.count(), 1, "{wheel:?}");
            assert!(wheel.sha256.len() == 64 && wheel.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()));
        }
    }

    #[test]
    fn an_unknown_machine_is_told_the_known_ones() {
        let error = Wheel::for_machine("plan9", "mips", Gpu::Cuda).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no onnx runtime wheel with CUDA is known for \"plan9 mips\", only for linux x86_64, linux aarch64, \
             windows x86_64"
        );
    }
}
