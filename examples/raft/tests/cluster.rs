//! Runs three nodes as processes, kills them and cuts them off under writes, and checks that nothing
//! is lost that a client was told to be written.
//!
//! The same file is a test of `raft`, whose nodes run on Wakeful, and of `raft-on-tokio`. The clients
//! here are plain threads and sockets of `std`, so that they share no bug with the nodes.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs, process};

const ON_WAKEFUL: bool = matches!(env!("CARGO_PKG_NAME").as_bytes(), b"raft");

/// No step of a test takes as long, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Three nodes, some of which may be down. All are killed at the end of the test.
struct Cluster {
    folder: PathBuf,
    addresses: Vec<SocketAddr>,
    nodes: Vec<Option<Child>>,
}

impl Cluster {
    fn start(name: &str) -> Cluster {
        let name = format!("wakeful-raft-{name}-{ON_WAKEFUL}-{}", process::id());
        let folder = env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        // All are bound at once, so that they differ.
        let listeners: Vec<_> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let addresses = listeners.iter().map(|it| it.local_addr().unwrap()).collect();
        drop(listeners);
        let mut cluster = Cluster { folder, addresses, nodes: vec![None, None, None] };
        (0..3).for_each(|node| cluster.start_node(node));
        cluster
    }

    fn start_node(&mut self, node: usize) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_raft"))
            .arg((node + 1).to_string())
            .arg(self.folder.join((node + 1).to_string()))
            .args(self.addresses.iter().map(SocketAddr::to_string))
            .env("WAKEFUL_VERSION", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, format!("listening on {}\n", self.addresses[node]));
        if ON_WAKEFUL {
            let mut line = String::new();
            BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
            assert!(line.contains("runs on Wakeful"), "{line}");
        }
        self.nodes[node] = Some(child);
    }

    /// Kills a node in the middle of whatever it does.
    fn kill(&mut self, node: usize) {
        let mut child = self.nodes[node].take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn signal(&self, node: usize, number: i32) {
        let child = self.nodes[node].as_ref().unwrap();
        // SAFETY: `kill` accesses no memory of this process. The child has not been waited for, so
        // the id is still its own.
        assert_eq!(unsafe { libc::kill(child.id() as i32, number) }, 0);
    }

    fn status(&self, node: usize) -> io::Result<Status> {
        let (_, text) = request(self.addresses[node], "GET", "/status", "")?;
        Ok(Status(text.lines().filter_map(|line| line.split_once(' ')).map(owned).collect()))
    }

    /// Waits until one of these nodes is the leader of a majority, and returns it.
    fn leader(&self, among: &[usize]) -> usize {
        eventually("a leader", || {
            let is_leader = |node: &&usize| {
                self.status(**node).is_ok_and(|status| status.0["state"] == "Leader")
            };
            let leader = *among.iter().find(is_leader)?;
            // A leader that no majority follows any more refuses reads.
            let (status, _) = request(self.addresses[leader], "GET", "/keys/none", "").ok()?;
            (status == 404).then_some(leader)
        })
    }

    /// Waits until all nodes have applied the same, and returns what that is.
    fn agreed(&self) -> BTreeMap<String, String> {
        eventually("agreement", || {
            let maps: Vec<_> =
                (0..3).map(|node| self.local(node)).collect::<Result<_, _>>().ok()?;
            let applied: Vec<String> = (0..3)
                .map(|node| Some(self.status(node).ok()?.0["applied"].clone()))
                .collect::<Option<_>>()?;
            let agree = maps.iter().all(|map| *map == maps[0])
                && applied.iter().all(|it| *it == applied[0]);
            agree.then(|| maps.into_iter().next())?
        })
    }

    fn local(&self, node: usize) -> io::Result<BTreeMap<String, String>> {
        let (_, text) = request(self.addresses[node], "GET", "/local", "")?;
        Ok(text.lines().filter_map(|line| line.split_once(' ')).map(owned).collect())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.nodes.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What a node says of itself, by name.
struct Status(BTreeMap<String, String>);

impl Status {
    fn number(&self, name: &str) -> u64 {
        self.0[name].parse().unwrap()
    }
}

fn owned((key, value): (&str, &str)) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

/// Repeats `attempt` until it returns something.
fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(start.elapsed() < LIMIT, "{what}: not after {LIMIT:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Sends an HTTP request on a connection of its own, and returns the status and the body.
fn request(address: SocketAddr, method: &str, path: &str, body: &str) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(4)))?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}"
    );
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or(io::ErrorKind::InvalidData)?, body.to_owned()))
}

/// Clients that write one new key after the other, and keep those that were acknowledged.
struct Writers<'a> {
    addresses: &'a [SocketAddr],
    acknowledged: Mutex<BTreeMap<String, String>>,
    attempts: AtomicUsize,
    must_stop: AtomicBool,
}

impl<'a> Writers<'a> {
    fn new(addresses: &'a [SocketAddr]) -> Writers<'a> {
        let (acknowledged, attempts) = (Mutex::default(), AtomicUsize::new(0));
        Writers { addresses, acknowledged, attempts, must_stop: AtomicBool::new(false) }
    }

    /// Writes until the end. A key is never written twice: if its outcome is unknown, it stays so.
    fn write(&self, writer: usize) {
        let mut target = self.addresses[writer % self.addresses.len()];
        for number in 0.. {
            if self.must_stop.load(SeqCst) {
                return;
            }
            let (key, value) = (format!("{writer}-{number}"), format!("value-{number}"));
            self.attempts.fetch_add(1, SeqCst);
            match request(target, "PUT", &format!("/keys/{key}"), &value) {
                Ok((200, _)) => drop(self.acknowledged.lock().unwrap().insert(key, value)),
                Ok((421, leader)) => target = leader.parse().unwrap(),
                _ => {
                    let next = self.addresses.iter().position(|it| *it == target).unwrap() + 1;
                    target = self.addresses[next % self.addresses.len()];
                    thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }

    fn count(&self) -> usize {
        self.acknowledged.lock().unwrap().len()
    }

    /// Waits until so many more writes were acknowledged.
    fn wait_for(&self, more: usize) {
        let enough = self.count() + more;
        eventually("acknowledged writes", || (self.count() >= enough).then_some(()));
    }
}

/// Runs four writers while `act` runs, and returns what was acknowledged to them.
fn under_writes(
    cluster: &mut Cluster,
    act: impl FnOnce(&mut Cluster, &Writers),
) -> BTreeMap<String, String> {
    let addresses = cluster.addresses.clone();
    let writers = Writers::new(&addresses);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|writer| {
                let writers = &writers;
                scope.spawn(move || writers.write(writer))
            })
            .collect();
        // The writers end even if `act` panics.
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(cluster, &writers)));
        writers.must_stop.store(true, SeqCst);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        outcome.unwrap_or_else(|why| std::panic::resume_unwind(why));
    });
    writers.acknowledged.into_inner().unwrap()
}

/// Asserts that the nodes agree, and that nothing acknowledged is missing or wrong.
#[track_caller]
fn check_nothing_is_lost(cluster: &Cluster, acknowledged: &BTreeMap<String, String>) {
    let map = cluster.agreed();
    let lost: Vec<_> =
        acknowledged.iter().filter(|(key, value)| map.get(*key) != Some(value)).collect();
    assert!(lost.is_empty(), "{} of {} lost: {lost:?}", lost.len(), acknowledged.len());
}

/// Runs a test with a time limit, in which the processes of a hanging test are left to the system.
fn within_limit(test: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel::<()>();
    let test = thread::spawn(move || {
        let _done_even_if_it_panics = done;
        test();
    });
    match is_done.recv_timeout(5 * LIMIT) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("not finished after {:?}", 5 * LIMIT),
        _ => test.join().unwrap_or_else(|why| std::panic::resume_unwind(why)),
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_nodes_are_killed_under_writes() {
    within_limit(|| {
        let mut cluster = Cluster::start("killed");
        let leader = cluster.leader(&[0, 1, 2]);
        let follower = (leader + 1) % 3;
        let acknowledged = under_writes(&mut cluster, |cluster, writers| {
            writers.wait_for(100);
            cluster.kill(follower);
            // More than the leader keeps in its log, so that the follower needs a snapshot.
            writers.wait_for(400);
            cluster.start_node(follower);
            eventually("a snapshot for the follower", || {
                (cluster.status(follower).ok()?.number("snapshot") > 0).then_some(())
            });
            cluster.kill(leader);
            writers.wait_for(200);
            cluster.start_node(leader);
            writers.wait_for(200);
        });
        assert!(acknowledged.len() >= 900);
        check_nothing_is_lost(&cluster, &acknowledged);
        for node in 0..3 {
            let status = cluster.status(node).unwrap();
            assert!(status.number("purged") > 0, "node {node} never purged its log");
        }
        // All at once: what is left is what is on the disks.
        (0..3).for_each(|node| cluster.kill(node));
        (0..3).for_each(|node| cluster.start_node(node));
        cluster.leader(&[0, 1, 2]);
        check_nothing_is_lost(&cluster, &acknowledged);
    });
}

#[test]
fn a_leader_that_is_cut_off_acknowledges_nothing() {
    within_limit(|| {
        let mut cluster = Cluster::start("cut-off");
        let old = cluster.leader(&[0, 1, 2]);
        let others: Vec<usize> = (0..3).filter(|node| *node != old).collect();
        let acknowledged = under_writes(&mut cluster, |cluster, writers| {
            writers.wait_for(50);
            let address = cluster.addresses[old];
            assert_eq!(request(address, "PUT", "/isolated", "yes").unwrap().0, 200);
            let (status, why) = request(address, "PUT", "/keys/lost", "while cut off").unwrap();
            assert_eq!(status, 503, "{why}");
            // Its own copy may be old by now, so it does not read from it.
            let (status, _) = request(address, "GET", "/keys/0-0", "").unwrap();
            assert_eq!(status, 503);
            cluster.leader(&others);
            writers.wait_for(100);
            assert_eq!(request(address, "PUT", "/isolated", "no").unwrap().0, 200);
            eventually("the old leader follows", || {
                let status = cluster.status(old).ok()?;
                (status.0["state"] == "Follower" && status.0["leader"] != "0").then_some(())
            });
            writers.wait_for(50);
        });
        check_nothing_is_lost(&cluster, &acknowledged);
        // No majority ever had it, and the old leader has dropped it.
        assert_eq!(cluster.agreed().get("lost"), None);
    });
}

#[test]
fn a_leader_that_was_stopped_follows_when_it_continues() {
    within_limit(|| {
        let mut cluster = Cluster::start("stopped");
        let old = cluster.leader(&[0, 1, 2]);
        let term = cluster.status(old).unwrap().number("term");
        let others: Vec<usize> = (0..3).filter(|node| *node != old).collect();
        let acknowledged = under_writes(&mut cluster, |cluster, writers| {
            writers.wait_for(50);
            cluster.signal(old, libc::SIGSTOP);
            cluster.leader(&others);
            writers.wait_for(100);
            cluster.signal(old, libc::SIGCONT);
            eventually("the old leader follows", || {
                let status = cluster.status(old).ok()?;
                (status.0["leader"] != "0" && status.number("term") > term).then_some(())
            });
            writers.wait_for(50);
        });
        check_nothing_is_lost(&cluster, &acknowledged);
    });
}

#[test]
fn the_package_on_tokio_has_the_same_dependencies() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = if ON_WAKEFUL { folder } else { folder.parent().unwrap() };
    let dependencies = |manifest: &str| -> Vec<String> {
        let text = fs::read_to_string(folder.join(manifest)).unwrap();
        let lines = text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
        lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    assert_eq!(dependencies("Cargo.toml").len(), 6);
    assert_eq!(dependencies("Cargo.toml"), dependencies("on-tokio/Cargo.toml"));
}
