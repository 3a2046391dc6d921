//! A node that is cut off from the others: three servers in network namespaces of their own, which the test
//! makes and removes. For root alone, since others may not make any; started by `.ci/nats`.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as tests may")]

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use eog::controller::EntryBody;
use eog::{Digest, Entry, Journal};
use eog_nats::{Cluster, NatsError, Options, Part};

use support::{bytes_on, file_of, id, next, opening};

/// Runs `ip`. What it says, where it fails.
fn ip(arguments: &str) -> Result<String, String> {
    let ran = Command::new("ip").args(arguments.split(' ')).output();
    let ran = ran.map_err(|error| format!("ip cannot be run: {error}"))?;
    match ran.status.success() {
        true => Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
        false => Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&ran.stderr).trim())),
    }
}

/// Three servers, each in a namespace behind a bridge. All of it ends with the test.
struct Network {
    /// What names begin with: names of interfaces have at most 15 characters.
    name: String,
    /// The first three numbers of addresses.
    net: String,
    folder: tempfile::TempDir,
    servers: Vec<Child>,
}

impl Network {
    /// None, with a message, where no namespaces can be made.
    fn make() -> Option<Self> {
        support::options()?;
        let pid = std::process::id();
        let mut network = Self {
            name: format!("eog{}", pid % 100_000),
            net: format!("10.{}.{}", 200 + pid % 50, pid / 50 % 250),
            folder: tempfile::tempdir().unwrap(),
            servers: Vec::new(),
        };
        match network.connect() {
            Ok(()) => {
                (1..=3).for_each(|node| network.start(node));
                Some(network)
            }
            Err(reason) => {
                eprintln!("skipped: no network namespaces can be made here: {reason}");
                None
            }
        }
    }

    fn connect(&self) -> Result<(), String> {
        let (bridge, net) = (self.bridge(), &self.net);
        ip(&format!("link add {bridge} type bridge"))?;
        ip(&format!("addr add {net}.254/24 dev {bridge}"))?;
        ip(&format!("link set {bridge} up"))?;
        for node in 1..=3 {
            let (space, outer, inner) = (self.space(node), self.cable(node), self.card(node));
            ip(&format!("netns add {space}"))?;
            ip(&format!("link add {outer} type veth peer name {inner} netns {space}"))?;
            ip(&format!("link set {outer} master {bridge} up"))?;
            ip(&format!("-n {space} addr add {net}.{node}/24 dev {inner}"))?;
            ip(&format!("-n {space} link set {inner} up"))?;
            ip(&format!("-n {space} link set lo up"))?;
        }
        Ok(())
    }

    fn start(&mut self, node: u32) {
        let (net, folder) = (&self.net, self.folder.path().display());
        let config = format!(
            "server_name: n{node}\nhost: {net}.{node}\nport: 4222\n\
             jetstream {{ store_dir: \"{folder}/{node}\", max_mem: 64MB, max_file: 1GB }}\n\
             cluster {{ name: eog, host: {net}.{node}, port: 6222, routes: [\
             nats://{net}.1:6222, nats://{net}.2:6222, nats://{net}.3:6222] }}\n"
        );
        let file = self.folder.path().join(format!("{node}.conf"));
        std::fs::write(&file, config).unwrap();
        let server = self
            .within(node, Path::new("nats-server"))
            .arg("-c")
            .arg(file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.servers.push(server.unwrap());
    }

    /// A program in the namespace of a node, which it replaces `ip` by.
    fn within(&self, node: u32, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.space(node)]).arg(program);
        command
    }

    fn url(&self, nodes: impl IntoIterator<Item = u32>) -> String {
        let urls = nodes.into_iter().map(|node| format!("nats://{}.{node}:4222", self.net));
        urls.collect::<Vec<_>>().join(",")
    }

    fn cut_off(&self, node: u32) {
        ip(&format!("link set {} down", self.cable(node))).unwrap();
    }

    fn heal(&self, node: u32) {
        ip(&format!("link set {} up", self.cable(node))).unwrap();
    }

    fn bridge(&self) -> String {
        format!("{}b", self.name)
    }

    fn space(&self, node: u32) -> String {
        format!("{}n{node}", self.name)
    }

    fn cable(&self, node: u32) -> String {
        format!("{}v{node}", self.name)
    }

    fn card(&self, node: u32) -> String {
        format!("{}w{node}", self.name)
    }

    fn remove(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        for node in 1..=3 {
            // Where the other end was not moved into the namespace, it goes with this one.
            let _ = ip(&format!("link del {}", self.cable(node)));
            let _ = ip(&format!("netns del {}", self.space(node)));
        }
        let _ = ip(&format!("link del {}", self.bridge()));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.remove();
    }
}

fn options(url: String) -> Options {
    let mut options = Options::new(url);
    options.timeout = Duration::from_secs(2);
    // A minute and more, which elections and a healed network take at most.
    options.retries = 40;
    options
}

/// A cluster that is still starting is asked again.
fn prepared(options: &Options) -> Cluster {
    for _ in 0..120 {
        match Cluster::prepare(options, 3) {
            Ok(cluster) => return cluster,
            Err(error) => eprintln!("not yet: {error}"),
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    panic!("the cluster does not start")
}

/// The node that leads the stream of ledgers.
fn leader(options: &Options) -> u32 {
    let named = support::behind(options, async |context| {
        let stream = context.get_stream("eog-ledgers").await.unwrap();
        stream.cached_info().cluster.as_ref().unwrap().leader.clone().unwrap()
    });
    named.trim_start_matches('n').parse().unwrap()
}

/// A server before 2.10 was seen to keep a message of its own in place of an acknowledged one when it had led while
/// it was cut off, for any client (docs/many-machines.md). It is found then, and never hidden.
fn may_lose() -> bool {
    let said = Command::new("nats-server").arg("--version").output().unwrap();
    // `nats-server: v2.9.10`
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = said.rsplit('v').next().unwrap_or_default();
    let mut numbers = version.split('.').map(|number| number.trim().parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < (2, 10)
}

const WRITER: &str = "EOG_NATS_TEST_WRITER";

/// Writes entries one by one, and notes in a file what was acknowledged, until it may write no more.
///
/// No test by itself: the next one starts it, in a namespace, with variables that say what to do.
#[test]
fn writer() {
    let Ok(settings) = std::env::var(WRITER) else { return };
    let (url, file) = settings.split_once(' ').unwrap();
    let mut file = std::fs::File::options().create(true).append(true).open(file).unwrap();
    let cluster = Cluster::connect(&options(url.to_owned())).unwrap();
    let medium = cluster.create(Part::Ledger, &id("run")).unwrap();
    let (mut journal, _) = Journal::on::<EntryBody>(medium).unwrap();
    let mut entry = opening();
    for number in 0.. {
        match journal.append(std::slice::from_ref(&entry)) {
            Ok(()) => writeln!(file, "{} {}", entry.seq, entry.hash).unwrap(),
            Err(error) => {
                writeln!(file, "ended: {error}").unwrap();
                return;
            }
        }
        entry = next(&entry, &format!("first-{number}"));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a writer noted: what was acknowledged, and why it ended.
fn noted(file: &Path) -> (Vec<(u64, String)>, Option<String>) {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut acknowledged = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("ended: ") {
            Some(reason) => return (acknowledged, Some(reason.to_owned())),
            None => {
                let Some((seq, hash)) = line.split_once(' ') else { continue };
                acknowledged.push((seq.parse().unwrap(), hash.to_owned()));
            }
        }
    }
    (acknowledged, None)
}

fn holds(entries: &[Arc<Entry>], acknowledged: &[(u64, String)]) {
    for (seq, hash) in acknowledged {
        let found: Option<Digest> = entries.get(*seq as usize).map(|entry| entry.hash);
        assert_eq!(found.map(|found| found.to_string()).as_ref(), Some(hash), "entry {seq}");
    }
}

#[test]
fn a_node_that_is_cut_off_loses_nothing_and_its_writer_writes_no_more() {
    let Some(mut network) = Network::make() else { return };
    let all_nodes = options(network.url(1..=3));
    drop(prepared(&all_nodes));
    let cut = leader(&all_nodes);
    let others = options(network.url((1..=3).filter(|node| *node != cut)));

    // The writer stands with the leader, and is cut off with it.
    let file: PathBuf = network.folder.path().join("noted");
    let mut writer = network
        .within(cut, &std::env::current_exe().unwrap())
        .args(["--exact", "writer"])
        .env(WRITER, format!("{} {}", network.url([cut]), file.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while noted(&file).0.len() < 10 {
        assert!(writer.try_wait().unwrap().is_none(), "the writer has ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    eprintln!("node {cut} leads, and is cut off");
    network.cut_off(cut);

    let cluster = Cluster::connect(&others).unwrap();
    eprintln!("another worker is connected");
    let medium = cluster.take_over(Part::Ledger, &id("run")).unwrap();
    let (mut journal, recovered) = Journal::on::<EntryBody>(medium).unwrap();
    let mut entries = recovered.ledger.entries().to_vec();
    let (acknowledged, ended) = noted(&file);
    assert!(acknowledged.len() >= 10 && ended.is_none(), "it waits: {ended:?}");
    holds(&entries, &acknowledged);
    let mut append = |journal: &mut Journal, words: &[String]| {
        for word in words {
            let entry = next(&entries[entries.len() - 1], word);
            journal.append(std::slice::from_ref(&entry)).unwrap();
            entries.push(entry);
        }
        entries.clone()
    };
    let words = |from: &str| (0..10).map(|number| format!("{from}-{number}")).collect::<Vec<_>>();
    append(&mut journal, &words("second"));

    eprintln!("another worker has gone on; the network heals");
    network.heal(cut);
    writer.wait().unwrap();
    let (acknowledged, ended) = noted(&file);
    let ended = ended.expect("it says why it ended");
    assert!(ended.contains("was taken over by another writer"), "{ended}");
    let entries_so_far = append(&mut journal, &words("healed"));
    holds(&entries_so_far, &acknowledged);

    // A node that does not lead, too.
    let follower = (1..=3).find(|node| *node != cut && *node != leader(&all_nodes)).unwrap();
    eprintln!("node {follower} does not lead, and is cut off");
    network.cut_off(follower);
    append(&mut journal, &words("without-follower"));
    eprintln!("the network heals");
    network.heal(follower);
    let whole = append(&mut journal, &words("in-the-end"));
    for node in 1..=3 {
        let there = Cluster::connect(&options(network.url([node]))).unwrap();
        match there.read(Part::Ledger, &id("run")) {
            Ok(medium) => assert_eq!(bytes_on(&medium), file_of(&whole), "by way of node {node}"),
            Err(error @ NatsError::Damaged { .. }) if may_lose() => {
                eprintln!(
                    "by way of node {node}: {error}; servers before 2.10 were seen to do that"
                );
            }
            Err(error) => panic!("by way of node {node}: {error}"),
        }
    }

    // Nothing is left behind.
    network.remove();
    let spaces = ip("netns list").unwrap();
    let links = ip("-o link").unwrap();
    assert!(!spaces.contains(&network.name) && !links.contains(&network.name), "{spaces}{links}");
}
