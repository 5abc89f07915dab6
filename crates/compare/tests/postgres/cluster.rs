//! A private PostgreSQL cluster: made, started and stopped by one test.
//!
//! Listens on a socket in its own folder and nowhere else. As root it runs as somebody else, since PostgreSQL refuses.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A cluster that ends with the test.
pub struct Cluster {
    folder: tempfile::TempDir,
    server: Child,
}

impl Cluster {
    /// None, after saying so, where there is no PostgreSQL.
    pub fn start(test: &str) -> Option<Self> {
        let Some(programs) = programs() else {
            println!("skipped: no PostgreSQL (initdb) here; on Debian `apt-get install postgresql`");
            return None;
        };
        let folder = tempfile::Builder::new().prefix(&format!("pg-{test}-")).tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let identity = identity();
        if let Some((user, group)) = identity {
            std::os::unix::fs::chown(folder.path(), Some(user), Some(group)).unwrap();
        }
        let data = folder.path().join("data");
        let made = as_user(&programs.join("initdb"), identity)
            .arg("-D")
            .arg(&data)
            .args(["-U", "owner", "--auth=trust", "--no-sync", "--no-locale", "-E", "UTF8"])
            .current_dir(folder.path())
            .output()
            .expect("initdb starts");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let who =
            "local all owner trust\nlocal all ghost trust\nlocal all locked scram-sha-256\nlocal all all reject\n";
        std::fs::write(data.join("pg_hba.conf"), who).unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let server = as_user(&programs.join("postgres"), identity)
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(folder.path())
            .args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off", "-c", "jit=off"])
            // One plan for one statement, whatever the machine has.
            .args(["-c", "max_parallel_workers_per_gather=0", "-c", "shared_buffers=32MB"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("postgres starts");
        let cluster = Self { folder, server };
        cluster.await_ready();
        Some(cluster)
    }

    /// What psql is given to reach it.
    pub fn connection(&self, user: &str) -> String {
        format!("host={} dbname=postgres user={user}", self.folder.path().display())
    }

    /// Rows of a statement, as text.
    pub fn sql(&self, statement: &str) -> String {
        let output = self.psql(statement);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn psql(&self, statement: &str) -> std::process::Output {
        let arguments = ["-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1", "-d"];
        // Through its input and not by -c, which would make one transaction of it all.
        let mut child = Command::new("psql")
            .args(arguments)
            .arg(self.connection("owner"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("psql starts");
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), statement.as_bytes()).ok();
        child.wait_with_output().unwrap()
    }

    fn await_ready(&self) {
        let begun = Instant::now();
        while !self.psql("SELECT 1").status.success() {
            let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(120), "the server does not come up:\n{log}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends at once, as after a crash.
    pub fn die(&mut self) {
        if matches!(self.server.try_wait(), Ok(None)) {
            // SAFETY: kill has no memory effects; the server is our child and has not been reaped.
            unsafe { libc::kill(self.server.id() as i32, libc::SIGQUIT) };
            self.server.wait().unwrap();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.die();
    }
}

/// The folder with `initdb` and `postgres`: on the path, or where Debian puts the newest.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut debian: Vec<PathBuf> =
        std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|e| e.path()).collect();
    debian.sort_by_key(|folder| folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()));
    folders.extend(debian.into_iter().rev().map(|folder| folder.join("bin")));
    folders.into_iter().find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
}

/// As root: `postgres` where that user exists, else `nobody`. None for everybody else.
fn identity() -> Option<(u32, u32)> {
    // SAFETY: geteuid cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").expect("a system has users");
    let find = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    Some(find("postgres").or_else(|| find("nobody")).expect("a system has a user `nobody`"))
}

fn as_user(program: &Path, identity: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = identity {
        std::os::unix::process::CommandExt::gid(&mut command, group);
        std::os::unix::process::CommandExt::uid(&mut command, user);
    }
    command
}
