//! Identifies the processor, for graphs that must not be used on another one.

use std::env::consts::{ARCH, OS};

/// The lines of `/proc/cpuinfo` that identify a processor, on x86 and on ARM. The other lines differ between cores
/// or change over time.
const LINES: [&str; 12] = [
    "vendor_id",
    "cpu family",
    "model",
    "model name",
    "stepping",
    "flags",
    "Features",
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "CPU revision",
];

/// Returns a text that differs between processors for which graphs may be optimised differently: the architecture, the
/// instruction sets, and the model where the system reports it.
pub(crate) fn processor() -> String {
    format!("{ARCH} {OS}\n{}\n{}", features().join(" "), model())
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    detected([
        ("sse4.1", std::arch::is_x86_feature_detected!("sse4.1")),
        ("avx", std::arch::is_x86_feature_detected!("avx")),
        ("avx2", std::arch::is_x86_feature_detected!("avx2")),
        ("fma", std::arch::is_x86_feature_detected!("fma")),
        ("f16c", std::arch::is_x86_feature_detected!("f16c")),
        ("avxvnni", std::arch::is_x86_feature_detected!("avxvnni")),
        ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
        ("avx512bw", std::arch::is_x86_feature_detected!("avx512bw")),
        ("avx512cd", std::arch::is_x86_feature_detected!("avx512cd")),
        ("avx512dq", std::arch::is_x86_feature_detected!("avx512dq")),
        ("avx512vl", std::arch::is_x86_feature_detected!("avx512vl")),
        ("avx512vnni", std::arch::is_x86_feature_detected!("avx512vnni")),
        ("avx512bf16", std::arch::is_x86_feature_detected!("avx512bf16")),
    ])
}

#[cfg(target_arch = "aarch64")]
fn features() -> Vec<&'static str> {
    detected([
        ("neon", std::arch::is_aarch64_feature_detected!("neon")),
        ("fp16", std::arch::is_aarch64_feature_detected!("fp16")),
        ("dotprod", std::arch::is_aarch64_feature_detected!("dotprod")),
        ("i8mm", std::arch::is_aarch64_feature_detected!("i8mm")),
        ("bf16", std::arch::is_aarch64_feature_detected!("bf16")),
        ("sve", std::arch::is_aarch64_feature_detected!("sve")),
        ("sve2", std::arch::is_aarch64_feature_detected!("sve2")),
    ])
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn features() -> Vec<&'static str> {
    Vec::new()
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn detected<const N: usize>(features: [(&'static str, bool); N]) -> Vec<&'static str> {
    features.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect()
}

#[cfg(target_os = "linux")]
fn model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    described(&text)
}

#[cfg(not(target_os = "linux"))]
fn model() -> String {
    std::env::var("PROCESSOR_IDENTIFIER").unwrap_or_default()
}

/// Returns the identifying lines of the first core in `/proc/cpuinfo`.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn described(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines().take_while(|line| !line.is_empty()) {
        if line.split(':').next().is_some_and(|key| LINES.contains(&key.trim())) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_the_same_from_one_moment_to_the_next() {
        let at = |megahertz: &str| {
            format!("processor\t: 0\nmodel name\t: Z80\ncpu MHz\t: {megahertz}\nflags\t: a b\n\nflags\t: c")
        };
        assert_eq!(described(&at("4.0")), "model name\t: Z80\nflags\t: a b");
        assert_eq!(described(&at("4.0")), described(&at("3.5")));
        assert!(processor().starts_with(ARCH));
        assert_eq!(processor(), processor());
    }
}
