//! The candidate under the compiler's sanitizers: a program that calls it on buffers of the exact size.
//!
//! Must not time anything. The program runs in the builder's sandbox, which a sanitizer's runtime can live in and the seal
//! is none; what it prints is believed only where it speaks against the candidate.

use crate::builder::Job as Folder;
use crate::judge::{EnvError, Judge};
use crate::sandbox::SandboxError;
use model::{Language, Source, Workload};
use problems::Role;
use rand::RngExt;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Flags of the pass. -O1 keeps accesses where the source has them.
const FLAGS: [&str; 8] = [
    "-std=gnu17",
    "-O1",
    "-g",
    "-march=native",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
    "-w",
];
/// What the runtime is told. Leaks would be looked for with ptrace, and a candidate can't allocate anyway.
const OPTIONS: &str = "const char *__asan_default_options(void) { return \"detect_leaks=0:exitcode=66\"; }\n";

/// What the pass found.
pub enum Sanitized {
    /// Nothing.
    Clean,
    /// A report, in its first line.
    Dirty(String),
    /// It could not be run.
    NotRun(String),
}

impl Judge {
    /// Runs the candidate twice on `workload` under AddressSanitizer and UndefinedBehaviorSanitizer.
    ///
    /// # Errors
    /// The environment's failures.
    pub fn sanitize(&mut self, source: &Source, workload: &Workload) -> Result<Sanitized, EnvError> {
        if source.language != Language::C {
            return Ok(Sanitized::NotRun(format!("they are the C compiler's, and this is {}", source.language)));
        }
        let trial = self.builder.job().map_err(SandboxError::Os)?;
        trial.write("unit.c", &format!("{OPTIONS}int main(void) {{ return 0; }}\n")).map_err(SandboxError::Os)?;
        let runs = self.builder.tool(&trial, &self.builder.compiler, &words(&[], "unit.c"))?;
        let runs = if runs.1 == 0 { self.builder.tool(&trial, Path::new("./unit"), &[])? } else { runs };
        if runs.1 != 0 {
            let why = runs.0.lines().last().unwrap_or("it ended at once").to_owned();
            return Ok(Sanitized::NotRun(format!("this compiler has no sanitizer that runs here: {why}")));
        }
        let job = self.builder.job().map_err(SandboxError::Os)?;
        job.write("unit.c", &self.problem.unit(source)).map_err(SandboxError::Os)?;
        job.write("main.c", &self.program(workload)).map_err(SandboxError::Os)?;
        self.write_inputs(&job, workload)?;
        let built = self.builder.tool(&job, &self.builder.compiler, &words(&source.flags, "main.c unit.c"))?;
        if built.1 != 0 {
            return Ok(Sanitized::Dirty(format!("it does not build under the sanitizers: {}", first(&built.0))));
        }
        let (log, status) = self.builder.tool(&job, Path::new("./unit"), &[])?;
        Ok(if status == 0 { Sanitized::Clean } else { Sanitized::Dirty(first(&log)) })
    }

    fn write_inputs(&mut self, job: &Folder, workload: &Workload) -> Result<(), EnvError> {
        let bytes = self.problem.workload_bytes(workload);
        for i in self.problem.inputs() {
            let mut input = vec![0; bytes[i]];
            self.problem.draw(i, self.coins.random(), &mut input);
            fs::write(job.path().join(format!("{i}.bin")), input).map_err(SandboxError::Os)?;
        }
        Ok(())
    }

    /// A program that reads the inputs, lays each buffer out between red zones, and calls the candidate twice.
    fn program(&self, workload: &Workload) -> String {
        let bytes = self.problem.workload_bytes(workload);
        let sizes: Vec<String> = self.problem.sizes(workload).iter().map(ToString::to_string).collect();
        let mut text = format!(
            "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n{OPTIONS}\
             void rooflab_entry(void *const *b, const int64_t *s);\n\
             void rooflab_prepare(void *const *b, const int64_t *s);\n\
             static void *buffer(size_t bytes, const char *file) {{\n    void *at = 0;\n    \
             if (posix_memalign(&at, 64, bytes)) exit(3);\n    if (!file) return at;\n    \
             FILE *input = fopen(file, \"rb\");\n    \
             if (!input || fread(at, 1, bytes, input) != bytes) exit(3);\n    fclose(input);\n    return at;\n}}\n\
             int main(void) {{\n    const int64_t s[] = {{{}}};\n    void *b[{}];\n",
            sizes.join(", "),
            bytes.len()
        );
        for (i, (argument, bytes)) in self.problem.arguments.iter().zip(&bytes).enumerate() {
            let file = if argument.role.is_input() { format!("\"{i}.bin\"") } else { "0".to_owned() };
            let _ = writeln!(text, "    b[{i}] = buffer({bytes}, {file});");
        }
        // As the runner does: the matrix unit's state is handed out on request only.
        text.push_str("#ifdef __x86_64__\n    syscall(SYS_arch_prctl, 0x1023, 18);\n#endif\n");
        if self.problem.arguments.iter().any(|argument| argument.role == Role::Packed) {
            text.push_str("    rooflab_prepare(b, s);\n");
        }
        text.push_str("    rooflab_entry(b, s);\n    rooflab_entry(b, s);\n    return 0;\n}\n");
        text
    }
}

fn words(flags: &[String], files: &str) -> Vec<String> {
    let ours = FLAGS.iter().map(ToString::to_string);
    let own = flags.iter().filter(|flag| !flag.starts_with("-O")).cloned();
    let files = files.split(' ').map(str::to_owned);
    ours.chain(own).chain(files).chain(["-o", "unit", "-lm"].map(str::to_owned)).collect()
}

/// The line of a report that says what happened.
fn first(log: &str) -> String {
    let says = |line: &&str| {
        line.contains("ERROR: AddressSanitizer") || line.contains("runtime error:") || line.contains("error:")
    };
    let line = log.lines().find(says).or(log.lines().next()).unwrap_or("it ended without a word");
    line.trim_start_matches('=').chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_found() {
        let check = |log: &str, expected: &str| assert_eq!(first(log), expected);
        check(
            "a\n==1==ERROR: AddressSanitizer: heap-buffer-overflow on x\n#0",
            "1==ERROR: AddressSanitizer: heap-buffer-overflow on x",
        );
        check(
            "candidate.c:3:1: runtime error: load of misaligned address\n",
            "candidate.c:3:1: runtime error: load of misaligned address",
        );
        check("", "it ended without a word");
    }
}
