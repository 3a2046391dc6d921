//! Decision memory: what it knows, what it asks again, and what it survives.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use eog::machine::{Question, QuestionKind, Responder, Response};
use eog::memory::{DecisionKey, DecisionStore, MemoryError, command_identity};
use eog::{
    AbductivePolicy, Answer, BoxFuture, Config, ContextPacket, Decision, DecisionMemory, Engine,
    EntityId, Failure, Finished, Label, Remembering, Usage,
};
use eog_evidence::{Bundle, BundleContext, EvidencePolicy, open_case};
use eog_testkit::{
    Call, Faulty, Recorder, ask, entity, finding, healthy, origin, packet, policy_fn, try_policy_fn,
};
use tempfile::TempDir;

/// A folder in memory where there is such a thing: the disk would be asked to store each file.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .unwrap_or_else(|_| tempfile::tempdir().expect("there is a place for temporary files"))
}

fn open(folder: &TempDir) -> DecisionMemory {
    DecisionMemory::open(folder.path().join("memory")).expect("the folder is ours")
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("it is a folder");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let mut found: Vec<_> =
        paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    found.sort();
    found
}

/// The only file below a folder.
fn file(folder: &Path) -> PathBuf {
    match files(folder).as_slice() {
        [file] => file.clone(),
        other => panic!("expected one file, found {other:?}"),
    }
}

/// The shipped incident, and how often the policy was asked.
async fn flash_sale(config: Config, memory: &DecisionMemory, identity: &str) -> (Finished, usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/flash-sale");
    let bundle = Bundle::read(&folder).expect("the bundle ships with the project");
    let case = open_case(&bundle.incident(), None).expect("it has alerts");
    let asked = Recorder::new(EvidencePolicy::default());
    let policy = Remembering::new(&asked, memory.clone(), identity);
    let finished = Engine::new(BundleContext::new(bundle), policy).investigate(config, case).await;
    (finished, asked.packets().len())
}

#[tokio::test]
async fn a_second_run_asks_nothing_and_its_ledger_is_the_same() {
    let folder = folder();
    for config in [Config::default(), Config::paper()] {
        let name = format!("evidence for {:?}", config.change);
        let (bare, calls) = flash_sale(config.clone(), &open(&folder), &name).await;
        assert!(calls > 5, "{calls} calls");
        let memory = open(&folder);
        let (again, asked) = flash_sale(config.clone(), &memory, &name).await;
        assert_eq!(asked, 0);
        assert_eq!(again.ledger().to_json_lines(), bare.ledger().to_json_lines());
        assert_eq!(again.conclusion(), bare.conclusion());
        let figures = memory.figures();
        assert_eq!((figures.hits, figures.misses), (again.spent().hops, 0));
    }
}

#[tokio::test]
async fn going_on_asks_nothing_that_an_interrupted_run_was_answered() {
    let folder = folder();
    let (whole, calls) = flash_sale(Config::default(), &open(&folder), "evidence").await;
    // As if it had been killed before the last answer came.
    let lost = files(folder.path()).pop().expect("there are decisions");
    fs::remove_file(lost).expect("it is ours");
    let (again, asked) = flash_sale(Config::default(), &open(&folder), "evidence").await;
    assert_eq!((asked, again.ledger()), (1, whole.ledger()), "of {calls}");
}

#[test]
fn another_identity_or_packet_is_another_question() {
    let folder = folder();
    let memory = open(&folder);
    let calm = Remembering::new(policy_fn(healthy), memory.clone(), "model a");
    let grim = Remembering::new(policy_fn(origin), memory.clone(), "model b");
    let db = packet("db").build();
    let label = |policy: &dyn AbductivePolicy, packet| {
        ask(&policy, packet).map(|answer| (answer.decision.label, answer.remembered))
    };
    assert_eq!(label(&calm, &db), Ok((Label::Healthy, false)));
    assert_eq!(label(&grim, &db), Ok((Label::Origin, false)));
    assert_eq!(label(&grim, &db), Ok((Label::Origin, true)));
    assert_eq!(label(&calm, &db), Ok((Label::Healthy, true)));
    let more = packet("db").finding(finding("db")).build();
    assert_eq!(label(&calm, &more), Ok((Label::Healthy, false)));
    assert_eq!((memory.figures().hits, memory.figures().misses), (2, 3));
}

#[test]
fn a_known_decision_costs_nothing_and_says_what_it_had_cost() {
    let folder = folder();
    let usage = Usage { model_calls: 2, tokens_in: 900, tokens_out: 40, cost_micro_usd: 7 };
    let paid = Answer {
        usage,
        model: Some("judge-2".to_owned()),
        ..Decision::new(Label::Defer, "un\u{1f4a5}clear \"here\"").into()
    };
    let policy = try_policy_fn(|_| Ok(paid.clone()));
    let db = packet("db").build();
    let first = ask(&Remembering::new(&policy, open(&folder), "m"), &db);
    assert_eq!(first, Ok(paid.clone()));
    let memory = open(&folder);
    let again = ask(&Remembering::new(&policy, memory.clone(), "m"), &db);
    assert_eq!(again, Ok(Answer { usage: Usage::default(), remembered: true, ..paid.clone() }));
    assert_eq!(memory.figures().saved, usage);
}

#[test]
fn failures_are_never_remembered() {
    let folder = folder();
    let faulty = Faulty::new(policy_fn(healthy)).fail(Call::nth(1), Failure::policy("busy"));
    let policy = Remembering::new(faulty, open(&folder), "m");
    let db = packet("db").build();
    assert!(ask(&policy, &db).is_err());
    assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
    assert!(ask(&policy, &db).is_ok_and(|answer| !answer.remembered));
    assert!(ask(&policy, &db).is_ok_and(|answer| answer.remembered));
}

/// Answers after a while, and counts how often it began.
#[derive(Default)]
struct Slow(AtomicUsize);

impl AbductivePolicy for Slow {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
            tokio::time::sleep(Duration::from_secs(1)).await;
            match packet.entity.as_str() {
                "fails-once" if first => Err(Failure::policy("busy")),
                _ => Ok(healthy(packet).into()),
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_asked_twice_at_once_is_asked_once() {
    let folder = folder();
    let (memory, slow) = (open(&folder), Slow::default());
    // Two policies of one memory, as two investigations of one process have.
    let one = Remembering::new(&slow, memory.clone(), "m");
    let other = Remembering::new(&slow, memory.clone(), "m");
    let (db, web) = (packet("db").build(), packet("web").build());
    let (a, b, c) = tokio::join!(one.decide(&db), other.decide(&db), one.decide(&web));
    let (a, b, c) = (a.expect("it answers"), b.expect("it answers"), c.expect("it answers"));
    assert_eq!((a.remembered, b.remembered, c.remembered), (false, true, false));
    assert_eq!(a.decision, b.decision);
    assert_eq!(slow.0.load(Ordering::SeqCst), 2);

    // Even when the answer cannot be stored.
    fs::remove_dir_all(memory.path()).expect("it is ours");
    fs::write(memory.path(), "in the way").expect("its place is free");
    let (a, b) = tokio::join!(one.decide(&db), other.decide(&db));
    assert_eq!((a.map(|a| a.remembered), b.map(|b| b.remembered)), (Ok(false), Ok(true)));
    assert_eq!(slow.0.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn callers_that_waited_for_a_failure_or_an_abandoned_call_ask_themselves() {
    let folder = folder();
    let slow = Slow::default();
    let policy = Remembering::new(&slow, open(&folder), "m");
    let flaky = packet("fails-once").build();
    let (first, second) = tokio::join!(policy.decide(&flaky), policy.decide(&flaky));
    assert!(first.is_err());
    assert!(second.is_ok_and(|answer| !answer.remembered));

    let db = packet("db").build();
    let mut given_up = policy.decide(&db);
    let patience = tokio::time::timeout(Duration::from_millis(10), &mut given_up);
    assert!(patience.await.is_err());
    let waiting = policy.decide(&db);
    let (answer, ()) = tokio::join!(waiting, async { drop(given_up) });
    assert!(answer.is_ok_and(|answer| !answer.remembered));
}

#[test]
fn a_changed_file_is_never_used_and_is_replaced() {
    let folder = folder();
    let db = packet("db").build();
    let ask_once = || {
        let memory = open(&folder);
        let policy = Remembering::new(policy_fn(healthy), memory.clone(), "m");
        let answer = ask(&policy, &db).expect("it answers");
        assert_eq!(answer.decision, healthy(&db));
        (answer.remembered, memory.figures().damaged)
    };
    assert_eq!(ask_once(), (false, 0));
    let path = file(folder.path());
    let whole = fs::read(&path).expect("it was written");
    let assert_mended = |what: &str| {
        assert_eq!(ask_once(), (false, 1), "{what}");
        assert_eq!(fs::read(&path).expect("it is there again"), whole, "{what}");
        assert_eq!(ask_once(), (true, 0), "{what}");
    };
    for position in 0..whole.len() {
        let mut changed = whole.clone();
        changed[position] ^= 1;
        fs::write(&path, &changed).expect("it is ours");
        assert_mended(&format!("byte {position} changed"));
    }
    for kept in [0, 1, whole.len() / 2, whole.len() - 3] {
        fs::write(&path, &whole[..kept]).expect("it is ours");
        assert_mended(&format!("cut to {kept} bytes"));
    }
    let text = String::from_utf8(whole.clone()).expect("it is text");
    for (from, to) in [
        ("\"format\": 1", "\"format\": 2"),
        ("\"identity\": \"m\"", "\"identity\": \"n\""),
        ("\"model\": null", "\"model\": null, \"mood\": 1"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from} is not there");
        fs::write(&path, changed).expect("it is ours");
        assert_mended(to);
    }
    fs::write(&path, "").and_then(|()| grow(&path, (64 << 20) + 1)).expect("it is ours");
    assert_mended("too large");
    #[cfg(unix)]
    {
        fs::remove_file(&path).expect("it is ours");
        std::os::unix::fs::symlink("/dev/null", &path).expect("links can be made");
        assert_mended("a device");
    }
}

#[test]
fn a_file_is_replaced_whole() {
    let folder = folder();
    let policy = Remembering::new(policy_fn(healthy), open(&folder), "m");
    let db = packet("db").build();
    ask(&policy, &db).expect("it answers");
    let path = file(folder.path());
    fs::write(&path, "damaged").expect("it is ours");
    // A reader that has the old file open sees no other bytes in it.
    let held = folder.path().join("held");
    fs::hard_link(&path, &held).expect("links can be made");
    ask(&policy, &db).expect("it answers");
    assert_eq!(fs::read(&held).expect("it is there"), b"damaged");
    assert!(ask(&policy, &db).is_ok_and(|answer| answer.remembered));
}

fn grow(path: &Path, length: u64) -> std::io::Result<()> {
    fs::File::options().write(true).open(path)?.set_len(length)
}

#[test]
fn a_file_in_the_place_of_another_is_never_used() {
    let folder = folder();
    let memory = open(&folder);
    let policy = Remembering::new(policy_fn(healthy), memory.clone(), "m");
    ask(&policy, &packet("a").build()).expect("it answers");
    let a = file(folder.path());
    ask(&policy, &packet("b").build()).expect("it answers");
    let b = files(folder.path()).into_iter().find(|path| *path != a).expect("there are two");
    fs::copy(&a, &b).expect("they are ours");
    let answer = ask(&policy, &packet("b").build()).expect("it answers");
    assert_eq!(
        (answer.decision.summary.as_str(), answer.remembered),
        ("b operates normally", false)
    );
    assert_eq!(memory.figures().damaged, 1);
}

#[test]
fn files_are_for_people_and_their_names_are_digests_alone() {
    let folder = folder();
    let policy = Remembering::new(policy_fn(healthy), open(&folder), "../../m/../\u{0}x");
    let names = ["../../etc/passwd", "/absolute", "a\\b", "CON", "-rf"];
    for name in names {
        ask(&policy, &packet(name).build()).expect("it answers");
    }
    let memory = folder.path().join("memory");
    let all = files(folder.path());
    assert_eq!(all.len(), names.len());
    for path in &all {
        let inside = path.strip_prefix(&memory).expect("nothing is written elsewhere");
        let parts: Vec<_> = inside.iter().map(|part| part.to_str().expect("ASCII")).collect();
        let [identity, first, name] = parts[..] else { panic!("{parts:?}") };
        let digest = name.strip_suffix(".json").expect("it is JSON");
        assert_eq!((identity.len(), digest.len(), first), (16, 64, &digest[..2]));
        let hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(hex(identity) && hex(digest), "{parts:?}");
    }
    let texts: Vec<_> = all.iter().map(|path| fs::read_to_string(path).expect("text")).collect();
    assert!(texts.iter().any(|text| text.contains("  \"entity\": \"../../etc/passwd\",\n")));
}

#[test]
fn an_answer_that_cannot_be_stored_is_still_an_answer() {
    let folder = folder();
    let memory = open(&folder);
    let policy = Remembering::new(policy_fn(healthy), memory.clone(), "m");
    fs::remove_dir(memory.path()).expect("it is empty");
    fs::write(memory.path(), "in the way").expect("its place is free");
    for entity in ["a", "b"] {
        let answer = ask(&policy, &packet(entity).build());
        assert!(answer.is_ok_and(|answer| !answer.remembered));
    }
    let figures = memory.figures();
    assert_eq!((figures.misses, figures.unstored), (2, 2));
    let error = memory.first_write_error().expect("there was one");
    assert!(error.contains("cannot write") && error.contains(".json"), "{error}");
}

#[test]
fn a_folder_that_cannot_be_used_is_an_error_at_once() {
    let folder = folder();
    let taken = folder.path().join("file");
    fs::write(&taken, "mine").expect("it is ours");
    let error = DecisionMemory::open(&taken).expect_err("it is a file");
    assert!(matches!(error, MemoryError::NotAFolder { .. }), "{error}");
    let error = DecisionMemory::open(taken.join("below")).expect_err("there is a file");
    assert!(matches!(error, MemoryError::Unusable { operation: "create", .. }), "{error}");
    assert!(error.to_string().contains("below"), "{error}");
    assert!(DecisionMemory::open("").is_err());
    assert_eq!(fs::read(&taken).expect("it is ours"), b"mine");
}

#[test]
#[cfg(unix)]
fn a_read_only_folder_is_an_error_at_once() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).expect("it is ours");
    if fs::write(folder.path().join("probe"), "").is_ok() {
        eprintln!("skipped: this user may write anywhere");
        return;
    }
    let error = DecisionMemory::open(folder.path()).expect_err("it is read-only");
    assert!(matches!(error, MemoryError::Unusable { operation: "write", .. }), "{error}");
}

#[test]
fn several_who_share_a_folder_never_find_half_a_file() {
    const ENTITIES: usize = 20;
    let folder = folder();
    // Each opens the folder itself, so they share no more than processes do.
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let folder = &folder;
            scope.spawn(move || {
                let memory = open(folder);
                let policy = Remembering::new(policy_fn(origin), memory.clone(), "m");
                for number in 0..ENTITIES {
                    let packet = packet(&format!("e{number}")).build();
                    let answer = ask(&policy, &packet).expect("it answers");
                    assert_eq!(answer.decision, origin(&packet));
                }
                let figures = memory.figures();
                assert_eq!((figures.damaged, figures.unstored), (0, 0), "worker {worker}");
            });
        }
    });
    assert_eq!(files(folder.path()).len(), ENTITIES, "nothing temporary is left");
}

#[test]
#[cfg(unix)]
fn a_program_is_known_by_its_content_and_that_of_named_files() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let folder = folder();
    let script = folder.path().join("triage.sh");
    let rules = folder.path().join("rules.txt");
    let write = |path: &Path, text: &str| fs::write(path, text).expect("it is ours");
    write(&script, "echo 1");
    write(&rules, "strict");
    let identity = |arguments: &[OsString]| {
        command_identity(script.as_os_str(), arguments).expect("it can be read")
    };
    let with_rules = [rules.clone().into_os_string()];
    let (plain, ruled) = (identity(&[]), identity(&with_rules));
    assert_eq!(plain, identity(&[]));
    assert_ne!(plain, ruled);
    write(&rules, "lax");
    assert_eq!(plain, identity(&[]));
    assert_ne!(ruled, identity(&with_rules));
    write(&script, "echo 2");
    assert_ne!(plain, identity(&[]));
    assert_ne!(identity(&["a b".into()]), identity(&["a".into(), "b".into()]));
    let strange = |byte| identity(&[OsString::from_vec(vec![byte])]);
    assert_ne!(strange(0xfe), strange(0xff), "they are alike as text");

    let missing = folder.path().join("none");
    let error = command_identity(missing.as_os_str(), &[]).expect_err("it is not there");
    assert!(matches!(&error, MemoryError::Program { path, .. } if *path == missing), "{error}");
    assert!(command_identity("no-such-program".as_ref(), &[]).is_err());
    assert!(command_identity(folder.path().as_os_str(), &[]).is_err());
}

/// A question of a machine of one's own.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
struct Riddle {
    about: EntityId,
    kind: QuestionKind,
    words: String,
}

impl Question for Riddle {
    type Answer = u64;

    fn key(&self) -> &EntityId {
        &self.about
    }

    fn kind(&self) -> QuestionKind {
        self.kind
    }

    fn digest(&self) -> eog::Digest {
        eog::Digest::of(self)
    }
}

/// Answers with how often it was asked.
struct Counting(AtomicU64);

impl Responder<Riddle> for Counting {
    fn respond<'a>(&'a self, _: &'a Riddle) -> BoxFuture<'a, Result<Response<u64>, Failure>> {
        Box::pin(async { Ok((self.0.fetch_add(1, Ordering::Relaxed) + 1).into()) })
    }
}

#[tokio::test]
async fn questions_of_any_machine_are_remembered_but_not_those_for_evidence() {
    let folder = folder();
    let riddle = |kind, words: &str| Riddle { about: entity("db"), kind, words: words.to_owned() };
    let asked = |kind, words| {
        let memory = open(&folder);
        async move {
            // Each in a run of its own: what is known, the folder knows.
            let counting = Remembering::new(Counting(AtomicU64::new(40)), memory, "sphinx");
            let first = counting.respond(&riddle(kind, words)).await.expect("it answers");
            let second = counting.respond(&riddle(kind, words)).await.expect("it answers");
            [(first.answer, first.remembered), (second.answer, second.remembered)]
        }
    };
    assert_eq!(asked(QuestionKind::Policy, "legs").await, [(41, false), (41, true)]);
    assert_eq!(asked(QuestionKind::Policy, "legs").await, [(41, true), (41, true)]);
    assert_eq!(asked(QuestionKind::Policy, "wings").await, [(41, false), (41, true)]);
    assert_eq!(asked(QuestionKind::Context, "legs").await, [(41, false), (42, false)]);
}

/// A store of its own kind, which fails on demand.
#[derive(Debug, Default)]
struct Shelf {
    kept: Mutex<BTreeMap<(String, String), Vec<u8>>>,
    fails: AtomicBool,
}

impl Shelf {
    fn usable(&self, operation: &'static str) -> Result<(), MemoryError> {
        match self.fails.load(Ordering::SeqCst) {
            true => {
                let (entry, source) = ("shelf/1".to_owned(), "it fell over".into());
                Err(MemoryError::Elsewhere { entry, operation, source })
            }
            false => Ok(()),
        }
    }
}

fn place(key: &DecisionKey) -> (String, String) {
    (key.identity(), key.question())
}

impl DecisionStore for &'static Shelf {
    fn path(&self) -> &Path {
        Path::new("shelf")
    }

    fn read(&self, key: &DecisionKey) -> Result<Option<Vec<u8>>, MemoryError> {
        self.usable("read")?;
        Ok(self.kept.lock().expect("whole").get(&place(key)).cloned())
    }

    fn write(&self, key: &DecisionKey, bytes: &[u8]) -> Result<(), MemoryError> {
        self.usable("write")?;
        self.kept.lock().expect("whole").insert(place(key), bytes.to_owned());
        Ok(())
    }
}

#[test]
fn another_store_keeps_the_bytes_of_a_file() {
    let folder = folder();
    let shelf: &'static Shelf = Box::leak(Box::default());
    let question = packet("db").build();
    for memory in [open(&folder), DecisionMemory::on(shelf)] {
        let policy = Remembering::new(policy_fn(healthy), memory, "m");
        assert!(ask(&policy, &question).is_ok_and(|answer| !answer.remembered));
        assert!(ask(&policy, &question).is_ok_and(|answer| answer.remembered));
    }
    let file = files(folder.path()).remove(0);
    let ((identity, name), bytes) =
        shelf.kept.lock().expect("whole").pop_first().expect("it was kept");
    assert!(file.ends_with(format!("{identity}/{}/{name}.json", &name[..2])));
    assert_eq!(fs::read(file).expect("it is there"), bytes);

    // One that fails is said, and everything goes on.
    shelf.fails.store(true, Ordering::SeqCst);
    let memory = DecisionMemory::on(shelf);
    let policy = Remembering::new(policy_fn(healthy), memory.clone(), "m");
    assert!(ask(&policy, &question).is_ok_and(|answer| !answer.remembered));
    assert_eq!((memory.figures().damaged, memory.figures().unstored), (1, 1));
    let said = "shelf/1 of the decision memory: it fell over";
    assert_eq!(memory.first_damage(), Some(format!("cannot read {said}")));
    assert_eq!(memory.first_write_error(), Some(format!("cannot write {said}")));
}
