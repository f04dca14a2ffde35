//! Runs PostgreSQL, Redis and NATS for the tests of `ecosystem`: each on its own loopback port,
//! with its data in a temporary folder.

use std::env;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::cargo::Cargo;
use crate::repo;

/// The running servers and their folder. Dropping it stops the servers and removes the folder.
pub struct Servers {
    running: Vec<Server>,
    folder: Folder,
}

struct Server {
    /// The environment variable that has the server's address in the tests.
    variable: &'static str,
    port: u16,
    process: Child,
}

struct Folder(PathBuf);

/// Runs only the tests that need servers, for `cargo xtask servers`.
pub fn run() -> Result<(), String> {
    let tests =
        "test --workspace --features ecosystem/servers --test nats --test postgres --test redis";
    Servers::start()?.with_addresses(Cargo::new(&repo::root(), tests)).run()
}

impl Servers {
    pub fn start() -> Result<Servers, String> {
        let folder = env::temp_dir().join(format!("wakeful-servers-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
        let mut servers = Servers { running: Vec::new(), folder: Folder(folder) };
        servers.start_postgres()?;
        servers.start_redis()?;
        servers.start_nats()?;
        Ok(servers)
    }

    /// Sets environment variables with the servers' addresses.
    pub fn with_addresses(&self, cargo: Cargo) -> Cargo {
        self.running.iter().fold(cargo, |cargo, server| {
            cargo.env(server.variable, &format!("127.0.0.1:{}", server.port))
        })
    }

    fn start_postgres(&mut self) -> Result<(), String> {
        let programs = postgres_programs()?;
        let data = self.subfolder("postgres")?;
        let user = unprivileged()?;
        if let Some((uid, gid)) = user {
            chown(&data, Some(uid), Some(gid)).map_err(|e| format!("cannot chown: {e}"))?;
        }
        let as_user = |program: &str| {
            let mut command = Command::new(programs.join(program));
            if let Some((uid, gid)) = user {
                command.uid(uid).gid(gid);
            }
            // That user may not have access to the current folder.
            command.current_dir(&data).env("LC_ALL", "C");
            command
        };
        let mut initdb = as_user("initdb");
        initdb.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync", "-D"]);
        let output = initdb.arg(&data).output().map_err(|e| format!("initdb: {e}"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("initdb failed: {}\n{why}", output.status));
        }
        let port = free_port()?;
        let mut postgres = as_user("postgres");
        postgres.arg("-D").arg(&data).args(["-p", &port.to_string(), "-h", "127.0.0.1", "-F"]);
        postgres.arg("-k").arg(&data).args(["-c", "max_connections=200"]);
        self.launch("WAKEFUL_POSTGRES", port, postgres, "database system is ready to accept")
    }

    fn start_redis(&mut self) -> Result<(), String> {
        let data = self.subfolder("redis")?;
        let port = free_port()?;
        let mut redis = Command::new(find_program("redis-server")?);
        redis.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        redis.arg("--dir").arg(data);
        self.launch("WAKEFUL_REDIS", port, redis, "Ready to accept connections")
    }

    fn start_nats(&mut self) -> Result<(), String> {
        let data = self.subfolder("nats")?;
        let port = free_port()?;
        let mut nats = Command::new(find_program("nats-server")?);
        nats.args([
            "--addr",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--jetstream",
            "--store_dir",
        ]);
        nats.arg(data);
        self.launch("WAKEFUL_NATS", port, nats, "Server is ready")
    }

    /// Starts a server and waits until its log says that it is ready.
    fn launch(
        &mut self,
        variable: &'static str,
        port: u16,
        mut command: Command,
        ready: &str,
    ) -> Result<(), String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let log = self.folder.0.join(format!("{variable}.log"));
        let open = || File::options().create(true).append(true).open(&log);
        let (out, err) = open().and_then(|out| Ok((out, open()?))).map_err(|e| e.to_string())?;
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        let process = command.spawn().map_err(|e| format!("could not start {name}: {e}"))?;
        self.running.push(Server { variable, port, process });
        let server = self.running.last_mut().expect("it was just added");
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let said = fs::read_to_string(&log).unwrap_or_default();
            if said.contains(ready) {
                println!("    {name} on port {port}");
                return Ok(());
            }
            let ended = server.process.try_wait().map_err(|e| e.to_string())?;
            if ended.is_some() || Instant::now() > deadline {
                return Err(format!("{name} did not start ({ended:?}); its log:\n{said}"));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn subfolder(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.folder.0.join(name);
        fs::create_dir(&path).map_err(|e| format!("cannot create {}: {e}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGINT makes all three shut down immediately and cleanly, even with clients connected.
        let pid = self.process.id().to_string();
        let signalled = Command::new("kill").args(["-INT", &pid]).status();
        let deadline = Instant::now() + Duration::from_secs(10);
        while signalled.as_ref().is_ok_and(|signalled| signalled.success())
            && Instant::now() < deadline
        {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns a port that is free at the moment.
fn free_port() -> Result<u16, String> {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|e| format!("no free port: {e}"))
}

/// Returns the user and group to run PostgreSQL as, which refuses to run as root. `None` if this
/// process does not run as root.
fn unprivileged() -> Result<Option<(u32, u32)>, String> {
    let me = fs::metadata("/proc/self").map_err(|e| format!("/proc/self: {e}"))?;
    if me.uid() != 0 {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd").map_err(|e| format!("/etc/passwd: {e}"))?;
    let ids_of = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut ids = line.split(':').skip(2).map(str::parse);
        Some((ids.next()?.ok()?, ids.next()?.ok()?))
    };
    let ids = ids_of("postgres").or_else(|| ids_of("nobody"));
    ids.map(Some).ok_or_else(|| "neither `postgres` nor `nobody` is in /etc/passwd".to_owned())
}

/// Returns the folder of PostgreSQL's programs. Debian has one for each version, which is not in
/// the search path.
fn postgres_programs() -> Result<PathBuf, String> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|version| version.file_name().to_str()?.parse::<u32>().ok())
        .max()
        .map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin")));
    match newest {
        Some(folder) if folder.join("initdb").exists() => Ok(folder),
        _ => Ok(find_program("initdb")?.parent().expect("it was found in a folder").to_owned()),
    }
}

fn find_program(program: &str) -> Result<PathBuf, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    // A user's search path may not contain these folders.
    let also = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let mut folders = env::split_paths(&path).chain(also);
    let found = folders.find(|folder| folder.join(program).exists());
    found.map(|folder| folder.join(program)).ok_or_else(|| not_installed(program))
}

fn not_installed(program: &str) -> String {
    format!(
        "{program} is not installed. On Debian and similar systems, `bash .ci/install-servers` installs it; \
         `cargo xtask ci --without-servers` skips the tests that need it"
    )
}
