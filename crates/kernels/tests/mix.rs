//! What the probes are made of, read from the machine code that runs: a compiler or an assembler that dropped an
//! instruction, folded an operand or picked another width would be seen here and nowhere else.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use object::{Object, ObjectSymbol};

/// The instructions of the function whose mangled name ends so (each part with its length in front).
fn code(parts: &[&str]) -> Vec<Instruction> {
    let path = std::env::current_exe().expect("a running test has a file");
    let bytes = std::fs::read(path).expect("readable");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let wanted = parts.iter().map(|part| format!("{}{part}", part.len())).collect::<Vec<_>>().concat();
    let is_it = |name: &str| {
        name.find(&wanted).is_some_and(|at| {
            // What follows is the hash or the end, not a longer path.
            let rest = &name[at + wanted.len()..];
            rest.starts_with("17h") || rest.starts_with('E') || rest.starts_with('.') || rest.is_empty()
        })
    };
    let symbol = file.symbols().find(|symbol| symbol.name().is_ok_and(is_it) && symbol.size() > 0);
    let symbol = symbol.unwrap_or_else(|| panic!("no symbol ends with {wanted}"));
    let section = symbol.section_index().expect("a function lies in a section");
    let section = object::Object::section_by_index(&file, section).expect("there is such a section");
    let data = object::ObjectSection::data_range(&section, symbol.address(), symbol.size());
    let data = data.expect("readable").expect("inside the section");
    Decoder::with_ip(64, data, symbol.address(), DecoderOptions::NONE).into_iter().collect()
}

fn count(code: &[Instruction], mnemonic: Mnemonic) -> usize {
    code.iter().filter(|instruction| instruction.mnemonic() == mnemonic).count()
}

fn of(code: &[Instruction], mnemonic: Mnemonic) -> impl Iterator<Item = &Instruction> {
    code.iter().filter(move |instruction| instruction.mnemonic() == mnemonic)
}

fn is_wide(register: Register) -> bool {
    register.is_zmm() || register.is_ymm()
}

/// Calls into the table of kernels, so that the linker keeps them.
fn keeps_the_linker_from_dropping_them() {
    for name in kernels::names() {
        std::hint::black_box(kernels::find(name).is_some());
    }
    std::hint::black_box(kernels::instructions().count());
}

#[test]
fn products_have_three_different_operands_of_the_full_width() {
    keeps_the_linker_from_dropping_them();
    let check = |parts: &[&str], mnemonic: Mnemonic, products: usize, is_wide: fn(Register) -> bool| {
        let code = code(parts);
        assert_eq!(count(&code, mnemonic), products, "{parts:?}");
        for product in of(&code, mnemonic) {
            let registers = [0, 1, 2].map(|i| product.op_register(i));
            assert!(registers.iter().all(|&register| is_wide(register)), "{parts:?}: {registers:?}");
            let [a, b, c] = registers;
            assert!(a != b && b != c && a != c, "{parts:?} feeds one register twice: {registers:?}");
        }
    };
    check(&["fma", "f32_avx512"], Mnemonic::Vfmadd231ps, 128, Register::is_zmm);
    check(&["fma", "f64_avx512"], Mnemonic::Vfmadd231pd, 128, Register::is_zmm);
    check(&["fma", "f32_avx2"], Mnemonic::Vfmadd231ps, 30, Register::is_ymm);
    check(&["fma", "f64_avx2"], Mnemonic::Vfmadd231pd, 30, Register::is_ymm);
    check(&["units", "x86", "f32_scalar_fma"], Mnemonic::Vfmadd231ss, 30, Register::is_xmm);
    check(&["units", "x86", "i8_avx512_vnni"], Mnemonic::Vpdpbusd, 128, Register::is_zmm);
    check(&["units", "x86", "i8_avx_vnni"], Mnemonic::Vpdpbusd, 30, Register::is_ymm);
    check(&["units", "x86", "bf16_dot"], Mnemonic::Vdpbf16ps, 128, Register::is_zmm);
    check(&["units", "x86", "f16_avx512"], Mnemonic::Vfmadd231ph, 128, Register::is_zmm);
}

#[test]
fn every_operand_changes_from_one_product_to_the_next() {
    keeps_the_linker_from_dropping_them();
    for parts in [&["fma", "f32_avx512"][..], &["units", "x86", "i8_avx512_vnni"]] {
        let code = code(parts);
        let products: Vec<&Instruction> =
            of(&code, Mnemonic::Vfmadd231ps).chain(of(&code, Mnemonic::Vpdpbusd)).collect();
        for pair in products.windows(2) {
            for operand in 0..3 {
                assert_ne!(pair[0].op_register(operand), pair[1].op_register(operand), "{parts:?}");
            }
        }
        // As many accumulators as latency times ports, and some more.
        let accumulators: std::collections::BTreeSet<u32> =
            products.iter().map(|product| product.op_register(0) as u32).collect();
        assert_eq!(accumulators.len(), 16, "{parts:?}");
    }
}

#[test]
fn tiles_are_loaded_for_every_product() {
    keeps_the_linker_from_dropping_them();
    for (name, mnemonic) in [
        ("ceiling_bf16_matrix", Mnemonic::Tdpbf16ps),
        ("ceiling_bf16_matrix_l2", Mnemonic::Tdpbf16ps),
        ("ceiling_i8_matrix", Mnemonic::Tdpbssd),
        ("ceiling_i8_matrix_l2", Mnemonic::Tdpbssd),
    ] {
        let code = code(&["amx", "linux", name]);
        assert_eq!((count(&code, mnemonic), count(&code, Mnemonic::Tileloadd)), (4, 4), "{name}");
        let first = code.iter().position(|i| i.mnemonic() == mnemonic).expect("a product");
        let back = code.iter().find(|i| i.is_jcc_short_or_near() && i.ip() > code[first].ip()).expect("a loop");
        let loaded = of(&code, Mnemonic::Tileloadd).filter(|load| load.ip() >= back.near_branch_target()).count();
        assert_eq!(loaded, 4, "{name} loads its tiles outside the loop");
    }
    let resident = code(&["amx", "linux", "ceiling_bf16_matrix_resident"]);
    assert_eq!((count(&resident, Mnemonic::Tdpbf16ps), count(&resident, Mnemonic::Tileloadd)), (4, 4));
}

#[test]
fn streams_load_and_store_what_they_say() {
    keeps_the_linker_from_dropping_them();
    let stores = |code: &[Instruction], mnemonic: Mnemonic| {
        of(code, mnemonic).filter(|i| i.op0_kind() == OpKind::Memory).count()
    };
    let check = |parts: &[&str], loads: usize, ordinary: usize, past: usize| {
        let code = code(parts);
        let is_vector = |i: &Instruction| (0..i.op_count()).any(|n| is_wide(i.op_register(n)));
        let reads = |i: &Instruction| (1..i.op_count()).any(|n| i.op_kind(n) == OpKind::Memory);
        let loaded = code.iter().filter(|i| is_vector(i) && reads(i)).count();
        // The triad's and the scale's factor is one load more.
        assert!((loads..=loads + 1).contains(&loaded), "{parts:?}: {loaded} loads");
        assert_eq!(stores(&code, Mnemonic::Vmovups), ordinary, "{parts:?}");
        assert_eq!(stores(&code, Mnemonic::Vmovntps), past, "{parts:?}");
    };
    check(&["memory", "copy_avx512"], 8, 8, 0);
    check(&["memory", "copy_stream_avx512"], 8, 0, 8);
    check(&["memory", "triad_avx512"], 16, 8, 0);
    check(&["memory", "triad_stream_avx512"], 16, 0, 8);
    check(&["stores", "write_avx512"], 0, 8, 0);
    check(&["stores", "write_stream_avx512"], 0, 0, 8);
    check(&["stores", "scale_avx512"], 8, 8, 0);
    check(&["stores", "scale_avx2"], 16, 16, 0);
    // Reading: eight loads, four of them as operands, and what they fold to stored once.
    check(&["memory", "read_avx512"], 8, 8, 0);
}

#[test]
fn sweeps_have_the_accumulators_and_operands_that_they_name() {
    keeps_the_linker_from_dropping_them();
    for (name, accumulators) in [
        ("accumulators_1", 1),
        ("accumulators_2", 2),
        ("accumulators_4", 4),
        ("accumulators_8", 8),
        ("accumulators_12", 12),
    ] {
        let code = code(&["sweep", name, "wide"]);
        let products: Vec<&Instruction> = of(&code, Mnemonic::Vfmadd231ps).collect();
        let used: std::collections::BTreeSet<u32> = products.iter().map(|p| p.op_register(0) as u32).collect();
        assert_eq!((products.len(), used.len()), (48, accumulators), "{name}");
    }
    let one = code(&["sweep", "operands_1", "wide"]);
    assert!(of(&one, Mnemonic::Vfmadd213ps).all(|i| i.op_register(0) == i.op_register(2)));
    assert_eq!(count(&one, Mnemonic::Vfmadd213ps), 48);
}
