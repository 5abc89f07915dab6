//! Builds a candidate in the sandbox, vets the artefact, and seals it.
//!
//! Must not load an artefact, and must not build the same text twice.

use crate::errand::{self, Errand};
use crate::folder::{Folder, For};
use crate::memory;
use crate::recipe::{Recipe, Rustc, vet_rust_flags};
use crate::sandbox::{Confinement, SandboxError};
use crate::vet;
use model::{Digest, Language, Rule, Source, Stage, Verdict};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// What every C candidate is built with; recorded with every judgement.
pub const BASE_FLAGS: [&str; 11] = [
    "-std=gnu17",
    "-O3",
    "-march=native",
    "-fPIC",
    "-shared",
    "-nostartfiles",
    "-fno-stack-protector",
    "-Wl,-z,noexecstack",
    "-Wl,-z,defs",
    "-Wl,-z,relro,-z,now",
    "-w",
];
/// Wall-clock limit of one compilation.
const LIMIT: Duration = Duration::from_secs(30);

/// An artefact that can't change any more: vetted, or made for a prebuilt library.
pub struct Artefact {
    /// The sealed memory file.
    pub file: File,
    /// Its content's digest; the library's, where it is a shim.
    pub digest: Digest,
    /// What the compiler printed.
    pub log: String,
    /// The prebuilt library that it is the shim of, sealed as well.
    pub behind: Option<File>,
    /// The pool's own library, for a prebuilt library that may call it.
    pub pool: Option<File>,
}

/// The builder's end in the judge.
pub struct Builder {
    confinement: Confinement,
    /// The C compiler.
    pub compiler: PathBuf,
    /// Looked for when the first Rust candidate comes.
    rustc: Option<Rustc>,
    folder: Folder,
    cache: HashMap<Digest, Result<Rc<Artefact>, Verdict>>,
}

/// A build that gave a library.
struct Built {
    bytes: Vec<u8>,
    log: String,
}

impl Builder {
    /// Finds the compiler.
    ///
    /// # Errors
    /// When there is none, or no temporary folder can be made.
    pub fn new(confinement: Confinement) -> Result<Self, SandboxError> {
        let found = ["cc", "gcc", "clang"].iter().find_map(|name| {
            ["/usr/local/bin", "/usr/bin", "/bin"]
                .iter()
                .map(|dir| Path::new(dir).join(name))
                .find(|path| path.exists())
        });
        let compiler = found.ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, "no C compiler: install gcc or clang (looked for cc, gcc, clang)")
        })?;
        let folder = Folder::new(For::Builds)?;
        Ok(Self { confinement, compiler, rustc: None, folder, cache: HashMap::new() })
    }

    /// Builds and vets a candidate whose whole translation unit is `unit`.
    ///
    /// # Errors
    /// The inner result is the candidate's; the outer one the environment's.
    pub fn candidate(
        &mut self,
        source: &Source,
        unit: &str,
        prepare: Option<&str>,
    ) -> Result<Result<Rc<Artefact>, Verdict>, SandboxError> {
        let key = Digest::of(format!("{}\0{}\0{unit}", source.language, source.flags.join("\0")));
        if let Some(known) = self.cache.get(&key) {
            return Ok(known.clone());
        }
        let outcome = self.build_candidate(source, unit, prepare)?;
        // A handful of artefacts are asked for again and again (baselines, the champion); the rest once.
        if self.cache.len() > 256 {
            self.cache.clear();
        }
        self.cache.insert(key, outcome.clone());
        Ok(outcome)
    }

    fn build_candidate(
        &mut self,
        source: &Source,
        unit: &str,
        prepare: Option<&str>,
    ) -> Result<Result<Rc<Artefact>, Verdict>, SandboxError> {
        let flags = match source.language {
            Language::Rust => vet_rust_flags(source),
            _ => vet_flags(&source.flags),
        };
        if let Err(verdict) = flags {
            return Ok(Err(verdict));
        }
        let recipe = match source.language {
            Language::Rust => Recipe::rust(self.rustc()?, &source.flags),
            Language::Cpp => Recipe::cpp(self.compiler.clone(), &source.flags)?,
            _ => Recipe::c(self.compiler.clone(), &source.flags),
        };
        let built = match self.compile(unit, &recipe)? {
            Ok(built) => built,
            Err(verdict) => return Ok(Err(verdict)),
        };
        if let Err(verdict) = vet::vet(&built.bytes, prepare) {
            return Ok(Err(verdict));
        }
        let file = memory::sealed(&built.bytes)?;
        Ok(Ok(Rc::new(Artefact { file, digest: Digest::of(&built.bytes), log: built.log, behind: None, pool: None })))
    }

    /// A prebuilt library, as it is where it has the runner's own entry, else behind the shim whose text is `shim`; and
    /// the pool whose text is `pool`, where the problem has one. Nothing is vetted: it is its owner's.
    ///
    /// # Errors
    /// When one of ours does not build.
    pub fn prebuilt(
        &self,
        library: &[u8],
        shim: Option<&str>,
        pool: Option<&str>,
    ) -> Result<Rc<Artefact>, SandboxError> {
        let sealed = memory::sealed(library)?;
        let pool = pool.map(|text| self.own("pool of a library", text)).transpose()?;
        let (file, behind) = match shim {
            None => (sealed, None),
            Some(text) => (self.own("shim of a library", text)?, Some(sealed)),
        };
        Ok(Rc::new(Artefact { file, digest: Digest::of(library), log: String::new(), behind, pool }))
    }

    /// A text of our own, built and sealed.
    fn own(&self, what: &str, text: &str) -> Result<File, SandboxError> {
        let built = self.compile(text, &Recipe::c(self.compiler.clone(), &[]))?.map_err(|verdict| {
            io::Error::new(io::ErrorKind::InvalidData, format!("the {what} does not build: {verdict}"))
        })?;
        Ok(memory::sealed(&built.bytes)?)
    }

    fn rustc(&mut self) -> io::Result<&Rustc> {
        if self.rustc.is_none() {
            self.rustc = Some(Rustc::find()?);
        }
        Ok(self.rustc.as_ref().expect("found above"))
    }

    /// Builds code of the problem's author, trusted, into a file that this process can load.
    ///
    /// # Errors
    /// When it does not build: the problem is at fault, not a candidate.
    pub fn oracle(&self, unit: &str) -> Result<PathBuf, SandboxError> {
        let built = self.compile(unit, &Recipe::c(self.compiler.clone(), &[]))?.map_err(|verdict| {
            io::Error::new(io::ErrorKind::InvalidData, format!("the problem's oracle does not build: {verdict}"))
        })?;
        let path = self.folder.path().join("oracle.so");
        fs::write(&path, built.bytes)?;
        Ok(path)
    }

    fn compile(&self, unit: &str, recipe: &Recipe) -> Result<Result<Built, Verdict>, SandboxError> {
        let job = self.job()?;
        job.write(recipe.unit, unit)?;
        let (mut log, status) = self.run(&job, self.confinement.word(), recipe)?;
        let library = job.path().join("unit.so");
        if status != 0 || !library.exists() {
            if libc::WIFSIGNALED(status) {
                log.push_str("\nthe compiler was ended by a limit of time, memory or file size");
            }
            return Ok(Err(Verdict::Failed { stage: Stage::Build, cause: log.trim().to_owned() }));
        }
        let mut bytes = Vec::new();
        open_plain(&library)?.read_to_end(&mut bytes)?;
        Ok(Ok(Built { bytes, log }))
    }

    /// A folder for one job, which the builder's user may write in.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn job(&self) -> io::Result<Job> {
        let job = tempfile::Builder::new().prefix("unit-").tempdir_in(self.folder.path())?;
        // The builder is another user where the judge is root.
        fs::set_permissions(self.folder.path(), fs::Permissions::from_mode(0o711))?;
        fs::set_permissions(job.path(), fs::Permissions::from_mode(0o777))?;
        Ok(Job(job))
    }

    /// Runs a program in the builder's sandbox, with room for a sanitizer's shadow memory. What it said, and its wait
    /// status.
    ///
    /// # Errors
    /// When the sandbox can't be set up.
    pub fn tool(&self, job: &Job, program: &Path, arguments: &[String]) -> Result<(String, i32), SandboxError> {
        let word = match self.confinement {
            Confinement::Confined => protocol::CONFINED_WIDE,
            Confinement::Unconfined => protocol::UNCONFINED,
        };
        let (program, arguments) = (program.to_owned(), arguments.to_vec());
        self.run(job, word, &Recipe { program, arguments, unit: "", sees: Vec::new() })
    }

    fn run(&self, job: &Job, word: &str, recipe: &Recipe) -> Result<(String, i32), SandboxError> {
        let mut arguments = vec![
            protocol::BUILDER_ROLE.to_owned(),
            word.to_owned(),
            job.path().display().to_string(),
            protocol::folders(&recipe.sees),
            recipe.program.display().to_string(),
        ];
        arguments.extend_from_slice(&recipe.arguments);
        let errand = Errand { arguments: &arguments, writable: job.path(), sees: &recipe.sees, limit: LIMIT };
        errand::run(self.confinement, &errand)
    }
}

/// The folder of one job, removed when dropped.
pub struct Job(tempfile::TempDir);

impl Job {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file that the builder can read.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.path().join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644))
    }
}

/// Opens a regular file and no link: the builder's folder is written by the candidate's compiler.
pub fn open_plain(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("the compiler's output is no plain file")) }
}

fn vet_flags(flags: &[String]) -> Result<(), Verdict> {
    match flags.iter().find(|flag| !model::is_allowed_flag(flag)) {
        Some(flag) => Err(Verdict::Refused {
            rule: Rule::ForbiddenBuild,
            detail: format!("the flag `{flag}` is not on the allow-list"),
        }),
        None => Ok(()),
    }
}
