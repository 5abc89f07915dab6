//! Looks at a prebuilt library before anything loads it: what it exports of a problem's interface, or why it can't be an
//! arm and what to do about that.
//!
//! Must not load it, and must not vet it: it is its owner's, and `compare` measures it. The app looks as well as the judge,
//! so that a mistake is told before anything starts.

use object::elf;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use object::{Endianness, StringTable};
use problems::Problem;
use protocol::ENTRY;
use std::collections::BTreeSet;

type Elf = elf::FileHeader64<Endianness>;

/// Larger ones don't fit beside the arguments in a runner's address space.
pub const LARGEST: u64 = 1 << 30;
/// Names that are shown where the right one is missing.
const SHOWN: usize = 5;
/// What every ELF file begins with.
pub const MAGIC: [u8; 4] = elf::ELFMAG;

/// What a library exports of a problem's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exports {
    /// The problem's function.
    Function,
    /// The problem's function, and the one that packs its weights.
    FunctionAndPrepare,
    /// The runner's own entry, as libraries of `rooflab export` have it.
    Entry,
}

/// Why a file can't be an arm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Something else, in words.
    #[error("it is no ELF shared library but {0}")]
    NotShared(String),
    /// It is for another machine.
    #[error("it is built for {is}, and this machine is {here}")]
    OtherMachine {
        /// What it is for.
        is: String,
        /// What this is.
        here: &'static str,
    },
    /// It is damaged.
    #[error("it can't be read: {0}")]
    Unreadable(String),
    /// It does not export the function.
    #[error("it exports neither `{entry}` nor `{}`{}", ENTRY, among(near))]
    Missing {
        /// The problem's function.
        entry: String,
        /// Its prototype, without a semicolon.
        prototype: String,
        /// Exported names that look like it.
        near: Vec<String>,
        /// Whether it has the function and does not export it.
        is_hidden: bool,
    },
}

fn among(near: &[String]) -> String {
    if near.is_empty() {
        return ", and nothing of a similar name".to_owned();
    }
    let names: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    format!("; names that look like it: {}", names.join(", "))
}

impl Unfit {
    /// What to do about it.
    pub fn fix(&self) -> String {
        match self {
            Self::NotShared(_) => "build one with `cc -O3 -shared -fPIC A.c -o A.so -lm`".to_owned(),
            Self::OtherMachine { .. } => "build it on this machine, or with a compiler for it".to_owned(),
            Self::Unreadable(_) => "build it again; tools that strip section headers leave nothing to read".to_owned(),
            Self::Missing { entry, prototype, near, is_hidden } => {
                let how = if *is_hidden {
                    "it is in there, but not exported: leave out `static` and -fvisibility=hidden"
                } else if near.iter().any(|name| name.starts_with("_Z") && name.contains(entry.as_str())) {
                    "it is there under its C++ name: declare it extern \"C\""
                } else {
                    "export the problem's function"
                };
                format!("{how}; it has to be `{prototype}`")
            }
        }
    }
}

/// What the library in `bytes` exports of the problem's interface.
///
/// # Errors
/// Why it can't be an arm.
pub fn exports(bytes: &[u8], problem: &Problem) -> Result<Exports, Unfit> {
    is_for_here(bytes)?;
    let unreadable = |error: object::Error| Unfit::Unreadable(error.to_string());
    let header = Elf::parse(bytes).map_err(unreadable)?;
    let endian = header.endian().map_err(unreadable)?;
    let sections = header.sections(endian, bytes).map_err(unreadable)?;
    if sections.is_empty() {
        return Err(Unfit::Unreadable("it has no section headers".to_owned()));
    }
    let table = |kind| sections.symbols(endian, bytes, kind).map_err(unreadable);
    for segment in header.program_headers(endian, bytes).map_err(unreadable)? {
        let dynamic = segment.dynamic(endian, bytes).map_err(unreadable)?.unwrap_or_default();
        let is_program = |entry: &elf::Dyn64<Endianness>| {
            entry.d_tag(endian) == elf::DT_FLAGS_1 && entry.d_val(endian) & elf::DF_1_PIE.0 != 0
        };
        if dynamic.iter().any(is_program) {
            return Err(Unfit::NotShared("a program".to_owned()));
        }
    }
    let dynamic = table(elf::SHT_DYNSYM)?;
    let exported = functions(dynamic.symbols(), dynamic.strings(), endian, |symbol| {
        let is_seen = matches!(symbol.st_visibility(), elf::STV_DEFAULT | elf::STV_PROTECTED);
        is_seen && symbol.st_bind() != elf::STB_LOCAL
    });
    let has = |name: &str| exported.contains(name);
    let entry = &problem.entry;
    match (has(entry), problem.prepare_symbol()) {
        (true, Some(prepare)) if has(&prepare) => Ok(Exports::FunctionAndPrepare),
        (true, _) => Ok(Exports::Function),
        (false, _) if has(ENTRY) => Ok(Exports::Entry),
        _ => {
            let all = table(elf::SHT_SYMTAB)?;
            Err(Unfit::Missing {
                entry: entry.clone(),
                prototype: problem.prototype(entry).trim_end_matches(';').to_owned(),
                near: near(entry, &exported),
                is_hidden: functions(all.symbols(), all.strings(), endian, |_| true).contains(entry),
            })
        }
    }
}

/// Names of the functions that are defined in a table of symbols.
fn functions(
    symbols: &[elf::Sym64<Endianness>],
    strings: StringTable<'_>,
    endian: Endianness,
    is_wanted: impl Fn(&elf::Sym64<Endianness>) -> bool,
) -> BTreeSet<String> {
    let is_function = |symbol: &elf::Sym64<Endianness>| {
        matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC | elf::STT_NOTYPE)
    };
    let found =
        symbols.iter().filter(|symbol| !symbol.is_undefined(endian) && is_function(symbol) && is_wanted(symbol));
    let name = |symbol: &elf::Sym64<Endianness>| {
        strings.get(symbol.st_name(endian)).ok().map(|name| String::from_utf8_lossy(name).into_owned())
    };
    found.filter_map(name).filter(|name| !name.is_empty()).collect()
}

/// Whether it is an ELF shared library of this machine, by the first bytes alone: what parses the rest is for 64 bits.
fn is_for_here(bytes: &[u8]) -> Result<(), Unfit> {
    let other = |what: &str| Err(Unfit::NotShared(what.to_owned()));
    let &[a, b, c, d, class, order, ..] = bytes else { return other("an empty file or nearly so") };
    if [a, b, c, d] != MAGIC {
        return other(match bytes {
            [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => "an archive of object files",
            [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] => "a Mach-O file",
            [b'M', b'Z', ..] => "a file for Windows",
            _ if bytes.iter().take(256).all(|byte| byte.is_ascii() && *byte != 0) => "a text",
            _ => "something else",
        });
    }
    let Some(&[k0, k1, m0, m1]) = bytes.get(16..20) else { return other("the beginning of one") };
    let word = |bytes: [u8; 2]| if order == 2 { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
    let bits = if class == 1 { ", 32 bits" } else { "" };
    let end = if order == 2 { ", big-endian" } else { "" };
    let machine = format!("{}{bits}{end}", machine(word([m0, m1])));
    let here = if cfg!(target_arch = "x86_64") { "x86-64" } else { "aarch64" };
    if machine != here {
        return Err(Unfit::OtherMachine { is: machine, here });
    }
    match word([k0, k1]) {
        kind if kind == elf::ET_DYN.0 => Ok(()),
        kind if kind == elf::ET_REL.0 => other("an object file"),
        kind if kind == elf::ET_EXEC.0 => other("a program"),
        _ => other("another kind of ELF file"),
    }
}

fn machine(number: u16) -> String {
    let known = [
        (elf::EM_X86_64, "x86-64"),
        (elf::EM_AARCH64, "aarch64"),
        (elf::EM_386, "x86"),
        (elf::EM_ARM, "Arm"),
        (elf::EM_RISCV, "RISC-V"),
        (elf::EM_PPC64, "PowerPC"),
    ];
    let found = known.iter().find(|(machine, _)| machine.0 == number);
    found.map_or_else(|| format!("machine {number} of ELF's list"), |(_, name)| (*name).to_owned())
}

/// Exported names that someone may have meant: one inside the other, or few letters apart. The nearest first.
fn near(wanted: &str, exported: &BTreeSet<String>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let rank = |name: &String| {
        let lower = name.to_lowercase();
        let is_inside = lower.contains(&wanted) || (lower.len() > 3 && wanted.contains(&lower));
        // Only what is about as long can be few letters apart.
        let is_alike = lower.len().abs_diff(wanted.len()) <= wanted.len() / 3;
        let apart = if is_alike { letters_apart(&wanted, &lower) } else { usize::MAX };
        (is_inside || apart <= wanted.len() / 3).then_some((apart, name.len(), name.clone()))
    };
    let mut found: Vec<_> = exported.iter().filter_map(rank).collect();
    found.sort();
    found.into_iter().take(SHOWN).map(|(_, _, name)| name).collect()
}

/// Levenshtein's distance, in bytes.
fn letters_apart(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The dynamic loader's words with what to do about them.
pub(crate) fn explained(note: &str) -> String {
    let fix = [
        (
            "cannot open shared object file",
            "a runner sees the system's libraries alone (ldconfig -p lists them): install it there, or link it in statically",
        ),
        ("undefined symbol", "link it with the library that defines this"),
        ("version `", "build it on this machine"),
    ];
    let note =
        note.strip_prefix("/proc/self/fd/").and_then(|rest| rest.split_once(": ")).map_or(note, |(_, rest)| rest);
    match fix.iter().find(|(part, _)| note.contains(part)) {
        Some((_, fix)) => format!("{note}; {fix}"),
        None => note.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    fn problem(name: &str) -> Problem {
        Problem::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../problems").join(name)).unwrap()
    }

    /// What the C compiler makes of a text.
    fn built(text: &str, flags: &[&str]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a.c"), text).unwrap();
        let done = Command::new("cc").args(flags).arg(at("a.c")).arg("-o").arg(at("a")).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        std::fs::read(at("a")).unwrap()
    }

    const SHARED: &[&str] = &["-shared", "-fPIC"];

    #[test]
    fn what_is_exported() {
        let check = |name: &str, text: &str, expected: Exports| {
            assert_eq!(exports(&built(text, SHARED), &problem(name)), Ok(expected), "{text}");
        };
        check("rms-norm-silu", "void rms_norm_silu(void) {}", Exports::Function);
        check("rms-norm-silu", "void rms_norm_silu(void) {} void rooflab_entry(void) {}", Exports::Function);
        check("rms-norm-silu", "static void rms_norm_silu(void) {} void rooflab_entry(void) {}", Exports::Entry);
        check("matmul-small-m", "void matmul_small_m(void) {}", Exports::Function);
        let prepares = "void matmul_small_m(void) {} void matmul_small_m_prepare(void) {}";
        check("matmul-small-m", prepares, Exports::FunctionAndPrepare);
    }

    #[test]
    fn what_is_no_library_for_here() {
        let problem = problem("rms-norm-silu");
        let right = built("void rms_norm_silu(void) {}", SHARED);
        let changed = |at: usize, byte: u8| {
            let mut bytes = right.clone();
            bytes[at] = byte;
            bytes
        };
        let check = |bytes: &[u8], said: &str, fix: &str| {
            let unfit = exports(bytes, &problem).unwrap_err();
            let (words, mended) = (unfit.to_string(), unfit.fix());
            assert!(words.contains(said) && mended.contains(fix), "{words}: {mended}");
        };
        check(b"", "but an empty file", "-shared -fPIC");
        check(b"GROUP ( libm.so.6 )\n", "but a text", "-shared -fPIC");
        check(b"!<arch>\n/       ", "but an archive", "-shared -fPIC");
        check(&right[..18], "but the beginning of one", "-shared -fPIC");
        check(&built("int f(void) { return 1; }", &["-c"]), "but an object file", "-shared -fPIC");
        check(&built("int main(void) { return 0; }", &["-pie", "-fPIE"]), "but a program", "-shared -fPIC");
        check(&changed(16, 2), "but a program", "-shared -fPIC");
        check(&changed(18, elf::EM_RISCV.0 as u8), "built for RISC-V", "on this machine");
        check(&changed(18, elf::EM_386.0 as u8), "built for x86, and", "on this machine");
        check(&changed(4, 1), ", 32 bits, and", "on this machine");
        check(&right[..right.len() / 2], "it can't be read", "build it again");
    }

    #[test]
    fn a_missing_function_and_what_was_meant() {
        let check = |text: &str, flags: &[&str], near: &[&str], fix: &str| {
            let unfit = exports(&built(text, &[SHARED, flags].concat()), &problem("rms-norm-silu")).unwrap_err();
            let Unfit::Missing { near: found, .. } = &unfit else { panic!("{unfit}") };
            assert_eq!(found, near, "{text}");
            let fix_given = unfit.fix();
            assert!(fix_given.contains(fix) && fix_given.ends_with("float *out, int64_t rows)`"), "{fix_given}");
        };
        check("void rms_norm_sliu(void) {} void other(void) {}", &[], &["rms_norm_sliu"], "export the problem's");
        check("void rms_norm_silu_avx2(void) {}", &[], &["rms_norm_silu_avx2"], "export the problem's");
        check("void f(void) {}", &[], &[], "export the problem's");
        check("int rms_norm_silu = 1;", &[], &[], "export the problem's");
        check("void _Z13rms_norm_siluPKf(void) {}", &[], &["_Z13rms_norm_siluPKf"], "extern \"C\"");
        check("void rms_norm_silu(void) {}", &["-fvisibility=hidden"], &[], "not exported: leave out");
        check("extern void rms_norm_silu(void); void f(void) { rms_norm_silu(); }", &[], &[], "export the problem's");
    }

    #[test]
    fn letters() {
        let check = |a: &str, b: &str, expected: usize| assert_eq!(letters_apart(a, b), expected, "{a} {b}");
        check("kitten", "sitting", 3);
        check("", "abc", 3);
        check("abc", "", 3);
        check("same", "same", 0);
    }

    #[test]
    fn the_loaders_words() {
        let check = |note: &str, expected: &str| {
            assert!(explained(note).starts_with(expected), "{}", explained(note));
        };
        check(
            "libx.so: cannot open shared object file: No such file",
            "libx.so: cannot open shared object file: No such file; a runner sees",
        );
        check("/proc/self/fd/5: undefined symbol: f", "undefined symbol: f; link it with");
        check(
            "/lib/libc.so.6: version `GLIBC_9.9' not found",
            "/lib/libc.so.6: version `GLIBC_9.9' not found; build it on",
        );
        check("something new", "something new");
    }
}
