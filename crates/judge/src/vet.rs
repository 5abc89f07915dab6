//! Vets an artefact before anything loads it: no code at load, no writable code, no foreign library, no import that
//! is not on the list.
//!
//! Must not load or run what it reads.

use model::{Rule, Verdict};
use object::elf;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, StringTable};
use std::collections::BTreeSet;

type Elf = elf::FileHeader64<Endianness>;

/// Imports that are not arithmetic on memory or floats, and yet harmless: the compiler emits them itself.
const RUNTIME: [&str; 9] = [
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "bcmp",
    "__stack_chk_fail",
    "__memcpy_chk",
    "__memset_chk",
    "__tls_get_addr",
];

/// libm by stem; `f` and `l` suffixes and glibc's vector variants (`_ZGV...`) and `__..._finite` aliases count too.
const MATH: [&str; 42] = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "erf",
    "erfc", "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "frexp", "hypot", "ldexp",
    "log", "log10", "log1p", "log2", "lrint", "lround", "modf", "pow", "rint", "round", "sin", "sqrt", "tan", "tanh",
    "trunc",
];

/// Libraries that an artefact may name.
const LIBRARIES: [&str; 4] = ["libm.so.6", "libmvec.so.1", "libc.so.6", "libgcc_s.so.1"];

/// Dynamic tags whose mere presence is code that runs at load.
const LOAD_TAGS: [elf::DynamicTag; 5] =
    [elf::DT_INIT, elf::DT_FINI, elf::DT_INIT_ARRAY, elf::DT_FINI_ARRAY, elf::DT_PREINIT_ARRAY];

fn refused(rule: Rule, detail: impl Into<String>) -> Verdict {
    Verdict::Refused { rule, detail: detail.into() }
}

/// Whether the artefact may be loaded.
///
/// # Errors
/// The verdict, with the rule that it breaks.
pub fn vet(bytes: &[u8], prepare: Option<&str>) -> Result<(), Verdict> {
    let unreadable = |e: object::Error| refused(Rule::WritableCode, format!("the artefact can't be read: {e}"));
    let header = Elf::parse(bytes).map_err(unreadable)?;
    let endian = header.endian().map_err(unreadable)?;
    let segments = header.program_headers(endian, bytes).map_err(unreadable)?;
    vet_segments(segments, endian)?;
    let sections = header.sections(endian, bytes).map_err(unreadable)?;
    let mut strings = StringTable::default();
    let symbols = symbols(&sections, endian, bytes);
    if let Some(symbols) = &symbols {
        strings = symbols.strings();
        vet_symbols(symbols, endian, prepare)?;
    }
    let mut tables = 0;
    for segment in segments {
        if let Some(dynamic) = segment.dynamic(endian, bytes).map_err(unreadable)? {
            vet_dynamic(dynamic, endian, &strings)?;
            vet_places(dynamic, &sections, symbols.as_ref(), endian)?;
            tables += 1;
        }
    }
    if tables > 1 {
        return Err(refused(Rule::CodeAtLoad, "two dynamic tables"));
    }
    for section in sections.iter() {
        if let Ok(Some((relocations, _))) = object::read::elf::SectionHeader::rela(section, endian, bytes) {
            let irelative = relocations.iter().any(|rela| {
                let kind = rela.r_type(endian, false);
                kind == elf::R_X86_64_IRELATIVE || kind == elf::R_AARCH64_IRELATIVE
            });
            if irelative {
                return Err(refused(Rule::CodeAtLoad, "an IRELATIVE relocation"));
            }
        }
    }
    Ok(())
}

type Symbols<'data> = object::read::elf::SymbolTable<'data, Elf>;

fn symbols<'data>(
    sections: &object::read::elf::SectionTable<'data, Elf>,
    endian: Endianness,
    bytes: &'data [u8],
) -> Option<Symbols<'data>> {
    let table = sections.symbols(endian, bytes, elf::SHT_DYNSYM).ok()?;
    (!table.is_empty()).then_some(table)
}

fn vet_segments(segments: &[elf::ProgramHeader64<Endianness>], endian: Endianness) -> Result<(), Verdict> {
    let mut stack_known = false;
    for segment in segments {
        let flags = segment.p_flags(endian);
        let executable = flags.contains(elf::PF_X);
        match segment.p_type(endian) {
            elf::PT_LOAD if executable && flags.contains(elf::PF_W) => {
                return Err(refused(Rule::WritableCode, "a segment that is writable and executable"));
            }
            elf::PT_GNU_STACK if executable => return Err(refused(Rule::WritableCode, "an executable stack")),
            elf::PT_GNU_STACK => stack_known = true,
            elf::PT_INTERP => return Err(refused(Rule::CodeAtLoad, "an interpreter")),
            _ => {}
        }
    }
    if stack_known { Ok(()) } else { Err(refused(Rule::WritableCode, "no word on the stack: it would be executable")) }
}

fn vet_dynamic(
    dynamic: &[elf::Dyn64<Endianness>],
    endian: Endianness,
    strings: &StringTable<'_>,
) -> Result<(), Verdict> {
    for entry in dynamic {
        let (tag, value) = (entry.d_tag(endian), entry.d_val(endian));
        if tag == elf::DT_NULL {
            break;
        }
        if LOAD_TAGS.contains(&tag) {
            return Err(refused(
                Rule::CodeAtLoad,
                format!("dynamic tag {:#x}: code that runs at load or unload", tag.0),
            ));
        }
        if tag == elf::DT_TEXTREL || (tag == elf::DT_FLAGS && value & elf::DF_TEXTREL.0 != 0) {
            return Err(refused(Rule::WritableCode, "a text relocation"));
        }
        if matches!(tag, elf::DT_RPATH | elf::DT_RUNPATH | elf::DT_AUXILIARY | elf::DT_FILTER) {
            return Err(refused(Rule::ForbiddenImport, "a search path of its own"));
        }
        if tag == elf::DT_NEEDED {
            let name = strings.get(value as u32).map(String::from_utf8_lossy).unwrap_or_default();
            if !LIBRARIES.contains(&&*name) {
                return Err(refused(Rule::ForbiddenImport, format!("the library `{name}`")));
            }
        }
    }
    Ok(())
}

/// The loader finds its tables by the dynamic one's addresses, this judge by sections: each address is given once, and
/// is the very section's that was read.
fn vet_places(
    dynamic: &[elf::Dyn64<Endianness>],
    sections: &object::read::elf::SectionTable<'_, Elf>,
    symbols: Option<&Symbols<'_>>,
    endian: Endianness,
) -> Result<(), Verdict> {
    let entries = || dynamic.iter().map(|entry| (entry.d_tag(endian), entry.d_val(endian)));
    let entries = || entries().take_while(|(tag, _)| *tag != elf::DT_NULL);
    let value = |wanted| entries().find(|(tag, _)| *tag == wanted).map(|(_, value)| value);
    let other = |what: &str| {
        Err(refused(Rule::CodeAtLoad, format!("the loader would go by another table than the judge: {what}")))
    };
    let mut seen = BTreeSet::new();
    if let Some((tag, _)) = entries().find(|(tag, _)| *tag != elf::DT_NEEDED && !seen.insert(tag.0)) {
        return other(&format!("dynamic tag {:#x} twice", tag.0));
    }
    let address = |index| sections.section(index).ok().map(|section| section.sh_addr(endian));
    for (tag, read) in [
        (elf::DT_SYMTAB, symbols.and_then(|symbols| address(symbols.section()))),
        (elf::DT_STRTAB, symbols.and_then(|symbols| address(symbols.string_section()))),
    ] {
        if value(tag).is_some() && value(tag) != read {
            return other("symbols");
        }
    }
    let is_section = |kind, at: u64, bytes: Option<u64>| {
        sections.iter().any(|section| {
            section.sh_type(endian) == kind && section.sh_addr(endian) == at && Some(section.sh_size(endian)) == bytes
        })
    };
    for (at, bytes, kind) in [
        (elf::DT_RELA, elf::DT_RELASZ, elf::SHT_RELA),
        (elf::DT_JMPREL, elf::DT_PLTRELSZ, elf::SHT_RELA),
        (elf::DT_RELR, elf::DT_RELRSZ, elf::SHT_RELR),
        (elf::DT_REL, elf::DT_RELSZ, elf::SHT_REL),
    ] {
        if value(at).is_some_and(|place| !is_section(kind, place, value(bytes))) {
            return other("relocations");
        }
    }
    Ok(())
}

fn vet_symbols(symbols: &Symbols<'_>, endian: Endianness, prepare: Option<&str>) -> Result<(), Verdict> {
    for (index, symbol) in symbols.enumerate() {
        let name = String::from_utf8_lossy(symbols.symbol_name(endian, symbol).unwrap_or_default());
        if symbol.st_type() == elf::STT_GNU_IFUNC {
            return Err(refused(Rule::CodeAtLoad, format!("`{name}` is an IFUNC: it runs at load")));
        }
        let imported = index.0 != 0 && symbol.is_undefined(endian);
        if imported && !is_allowed(&name) && Some(&*name) != prepare {
            return Err(refused(Rule::ForbiddenImport, format!("`{name}`")));
        }
    }
    Ok(())
}

fn is_allowed(name: &str) -> bool {
    if RUNTIME.contains(&name) || MATH.contains(&name) {
        return true;
    }
    let stem = name.strip_prefix("__").and_then(|name| name.strip_suffix("_finite")).unwrap_or(name);
    let stem = match stem.strip_prefix("_ZGV").and_then(|vector| vector.split_once('_')) {
        Some((_, scalar)) => scalar,
        None => stem,
    };
    MATH.contains(&stem) || stem.strip_suffix(['f', 'l']).is_some_and(|stem| MATH.contains(&stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports() {
        let check = |name: &str, allowed: bool| assert_eq!(is_allowed(name), allowed, "{name}");
        for name in ["memcpy", "expf", "exp", "_ZGVeN16v_expf", "__expf_finite", "sqrtl", "fmaf", "lrintf"] {
            check(name, true);
        }
        for name in ["fork", "syscall", "mmap", "dlsym", "malloc", "write", "pthread_create", "clock_gettime", "f", ""]
        {
            check(name, false);
        }
    }

    #[test]
    fn rubbish_is_refused() {
        assert!(vet(b"not an artefact", None).is_err());
        assert!(vet(&[], None).is_err());
    }
}
