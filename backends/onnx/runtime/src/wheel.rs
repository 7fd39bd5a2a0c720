//! The pinned wheels, as data.

use std::env::consts::{ARCH, OS};

use crate::error::{LocateError, Result};
use crate::gpu::Gpu;

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
    /// The platform tag that is passed to `pip`.
    pub platform: &'static str,
    /// SHA-256 of the wheel, 64 hexadecimal digits.
    pub sha256: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
    /// The library.
    pub library: WheelFile,
    /// The files that the library needs beside it.
    pub companions: &'static [WheelFile],
}

/// A file of a wheel's `onnxruntime/capi`.
///
/// ```
/// use alloquy_onnx_runtime::PINNED;
///
/// for wheel in PINNED {
///     let library = wheel.library;
///     println!("{} {}: {} has {} bytes", wheel.os, wheel.arch, library.name, library.bytes);
///     assert_eq!(library.sha256.len(), 64);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WheelFile {
    /// Its name.
    pub name: &'static str,
    /// SHA-256 of the file, 64 hexadecimal digits, as the wheel's own list of files has it.
    pub sha256: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
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
        let mut known = Vec::new();
        for wheel in PINNED.iter().filter(|wheel| wheel.gpu == gpu) {
            if wheel.os == os && wheel.arch == arch {
                return Ok(wheel);
            }
            known.push(format!("{} {}", wheel.os, wheel.arch));
        }
        Err(LocateError::UnknownMachine { machine: format!("{os} {arch}"), gpu, known })
    }

    /// Returns the library and the files that it needs beside it.
    pub(crate) fn files(&self) -> impl Iterator<Item = &WheelFile> {
        std::iter::once(&self.library).chain(self.companions)
    }

    /// Returns the name of the wheel's folder in the cache, such as `1.31.1` or `1.31.1-cuda`.
    pub(crate) fn folder(&self) -> String {
        match self.gpu {
            Gpu::None => self.version.to_owned(),
            Gpu::Cuda => format!("{}-cuda", self.version),
        }
    }

    /// Returns the package and the version, for messages.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.package, self.version)
    }

    /// Returns the command that installs it where the search finds it.
    pub(crate) fn command(&self) -> String {
        format!("pip install {}=={}", self.package, self.version)
    }
}

/// The oldest version that can be used: the interface this workspace is built against (`ort`'s feature `api-23`).
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
        library: WheelFile {
            name: "libonnxruntime.so.1.31.1",
            sha256: "fc44112fbe06d7d689c57e11d3862031f64711007e4ee020f8eed5185fd2c1d3",
            bytes: 29_352_200,
        },
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
        library: WheelFile {
            name: "libonnxruntime.so.1.31.1",
            sha256: "8aa3b76b28c778a2b1dd660d34161adb1d508c9ccd04ff9dc80e26eca5df8467",
            bytes: 25_265_040,
        },
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
        library: WheelFile {
            name: "libonnxruntime.1.31.1.dylib",
            sha256: "f8b06155feece624e55e49124340eea279da812529ae6fbc46a9f2be9c9cad2e",
            bytes: 33_037_336,
        },
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
        library: WheelFile {
            name: "libonnxruntime.1.23.2.dylib",
            sha256: "8330f6d9d53f81d564c88de6520113b25db9537872e70a0fb7942fea202f08b1",
            bytes: 30_819_512,
        },
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
        library: WheelFile {
            name: "onnxruntime.dll",
            sha256: "8482d2ee174e28504f99730fb01d6861575870283de4ed3a897ad39170d9a9b9",
            bytes: 19_288_888,
        },
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
        library: WheelFile {
            name: "onnxruntime.dll",
            sha256: "f4f7729bf4aa0c78b6ab5253747f3593bb9a28b4c4275a0a9f59f04ea580d61f",
            bytes: 19_171_640,
        },
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
        library: WheelFile {
            name: "libonnxruntime.so.1.31.1",
            sha256: "5104254339ecadae808da771bd0b63b240f0dbd466514234905e54372435c303",
            bytes: 29_421_832,
        },
        companions: &[
            WheelFile {
                name: "libonnxruntime_providers_shared.so",
                sha256: "086ec1d5388f64153d9c63470d126693db9a182c8ce236d3a1119068471b8a0d",
                bytes: 14_632,
            },
            WheelFile {
                name: "libonnxruntime_providers_cuda.so",
                sha256: "d5290158115fa5569a3fe8f1f4037ee9b0e86658a96e52f852bbb7039aa88137",
                bytes: 284_014_752,
            },
        ],
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
        library: WheelFile {
            name: "libonnxruntime.so.1.31.1",
            sha256: "25430c15445a74ea480116a0da41533d83e59bceb1a18004c97e4873334afc90",
            bytes: 25_002_552,
        },
        companions: &[
            WheelFile {
                name: "libonnxruntime_providers_shared.so",
                sha256: "1fc9a38c51a15164ae7d126f4e89447e718e47bd0a934eaa1a86bb60a6ec4955",
                bytes: 198_792,
            },
            WheelFile {
                name: "libonnxruntime_providers_cuda.so",
                sha256: "c515e5d79bb863595e2892048bc82441ebd23c67f09059f9c7b966e7d7b953f8",
                bytes: 237_922_800,
            },
        ],
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
        library: WheelFile {
            name: "onnxruntime.dll",
            sha256: "e07ca50bd2abf864ea5d6f9501d611c99508583d3f75f56348f36e2a67a04d16",
            bytes: 18_881_336,
        },
        companions: &[
            WheelFile {
                name: "onnxruntime_providers_shared.dll",
                sha256: "573c69a95204dc0fa6227b84412f99257305eab1f03493945b7bcb744bc0b3a4",
                bytes: 21_816,
            },
            WheelFile {
                name: "onnxruntime_providers_cuda.dll",
                sha256: "b40447663dfedfd13d9a1f243d68e15184d06c81b59aff677d505982b00f7aa1",
                bytes: 194_397_496,
            },
        ],
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
            for digest in wheel.files().map(|file| file.sha256).chain([wheel.sha256]) {
                assert!(
                    digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()),
                    "{wheel:?}"
                );
            }
        }
    }

    #[test]
    fn the_error_for_an_unknown_machine_lists_the_known_ones() {
        let error = Wheel::for_machine("plan9", "mips", Gpu::Cuda).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no ONNX Runtime wheel with CUDA is known for \"plan9 mips\", only for linux x86_64, linux aarch64, \
             windows x86_64"
        );
    }
}
