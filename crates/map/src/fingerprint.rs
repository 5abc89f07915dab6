//! What identifies a machine for its map. Cheap: a few small reads, no measurement.

use crate::{PROBES, system};
use model::Fingerprint;

/// This machine's fingerprint. A stored map is used again while it is equal.
pub fn fingerprint() -> Fingerprint {
    let tiles = kernels::find("ceiling-bf16-matrix").map(|_| "amx-bf16");
    let mut features: Vec<String> =
        [Some(kernels::isa().name()), tiles].into_iter().flatten().map(str::to_owned).collect();
    features.sort();
    Fingerprint {
        cpu: system::cpu_name(),
        cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        features,
        kernel: system::kernel_release(),
        platform: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
        probes: PROBES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_agrees_with_itself() {
        let fingerprint = fingerprint();
        assert_eq!(fingerprint, super::fingerprint());
        assert!(!fingerprint.cpu.is_empty() && fingerprint.cores > 0 && !fingerprint.features.is_empty());
    }
}
