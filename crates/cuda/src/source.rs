//! The probes' sources and the architecture that they are compiled for. Text alone.

/// What every source begins with.
const PRELUDE: &str = include_str!("kernels/prelude.cu");

/// The sources, by name.
const MODULES: [(&str, &str); 7] = [
    ("memory", include_str!("kernels/memory.cu")),
    ("latency", include_str!("kernels/latency.cu")),
    ("alu", include_str!("kernels/alu.cu")),
    ("mma", include_str!("kernels/mma.cu")),
    ("floors", include_str!("kernels/floors.cu")),
    ("bulk", include_str!("kernels/bulk.cu")),
    ("wgmma", include_str!("kernels/wgmma.cu")),
];

/// The least compute capability that has bf16, tf32 and asynchronous copies.
pub(crate) const LEAST: [u32; 2] = [8, 0];

/// The device's own architecture. From 9.0 on with an `a`: its own instructions, for no other device.
pub(crate) fn architecture([major, minor]: [u32; 2]) -> String {
    let own = if major >= 9 { "a" } else { "" };
    format!("sm_{major}{minor}{own}")
}

/// Whether `module` can be compiled for a compute capability.
pub(crate) fn has(module: &str, capability: [u32; 2]) -> bool {
    match module {
        "bulk" => capability >= [9, 0],
        // Later devices have another instruction in its place.
        "wgmma" => capability == [9, 0],
        _ => capability >= LEAST,
    }
}

/// Whether the tensor cores of `mma` take 8-bit floats.
pub(crate) fn has_f8(capability: [u32; 2]) -> bool {
    capability >= [8, 9]
}

/// The modules that a compute capability has.
pub(crate) fn modules(capability: [u32; 2]) -> impl Iterator<Item = &'static str> {
    MODULES.into_iter().map(|(name, _)| name).filter(move |name| has(name, capability))
}

/// A module's whole source; empty for an unknown name.
pub(crate) fn text(module: &str, capability: [u32; 2]) -> String {
    let Some((_, body)) = MODULES.iter().find(|(name, _)| *name == module) else { return String::new() };
    let f8 = if has_f8(capability) { "#define HAS_F8\n" } else { "" };
    format!("{f8}{PRELUDE}\n{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_gets_what_it_has() {
        let check = |capability, name: &str, expected: &[&str]| {
            assert_eq!(architecture(capability), name);
            assert_eq!(modules(capability).collect::<Vec<_>>(), expected);
        };
        let all = ["memory", "latency", "alu", "mma", "floors"];
        check([7, 5], "sm_75", &[]);
        check([8, 0], "sm_80", &all);
        check([9, 0], "sm_90a", &[&all[..], &["bulk", "wgmma"]].concat());
        check([10, 0], "sm_100a", &[&all[..], &["bulk"]].concat());
    }

    #[test]
    fn sources_include_nothing_and_time_themselves() {
        for module in modules([9, 0]) {
            let text = text(module, [9, 0]);
            assert!(!text.contains("#include"), "{module}");
            assert!(text.contains("%%clock64") && text.contains("KERNEL("), "{module}");
        }
        assert!(text("mma", [8, 0]).lines().all(|line| line != "#define HAS_F8"));
        assert!(text("mma", [8, 9]).lines().any(|line| line == "#define HAS_F8"));
    }

    /// The one long instruction: 128 accumulators, named once each and in order, then two descriptors and a predicate.
    #[test]
    fn the_matrix_instruction_names_every_accumulator_once() {
        let text = text("wgmma", [9, 0]);
        let start = text.find("#define REGISTERS").unwrap();
        let end = text[start..].find("#define D4").unwrap() + start;
        let names = text[start..end]
            .split('%')
            .skip(1)
            .map(|part| part.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u32>().unwrap());
        assert!(names.eq(0..128));
        assert!(text.contains("%128, %129, p"));
        for instruction in
            ["k16.f32.f16.f16", "k16.f32.bf16.bf16", "k8.f32.tf32.tf32", "k32.f32.e4m3.e4m3", "k32.s32.s8.s8"]
        {
            assert!(text.contains(&format!("wgmma.mma_async.sync.aligned.m64n256{instruction}")), "{instruction}");
        }
    }
}
