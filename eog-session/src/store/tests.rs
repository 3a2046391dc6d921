use std::fs::File;
use std::sync::{Arc, Mutex};

use eog::Journal;

use super::*;

#[test]
fn ids_are_counted_and_read_back_exactly() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (Store::open(folder.path(), &[]), Store::open(folder.path(), &[]));
    let (one, two) = (one.expect("opens"), two.expect("opens twice"));
    let began = Began::new("x".to_owned(), "/x".into(), None);
    let ids = [&one, &two, &one].map(|store| store.create(&began).expect("stores").to_string());
    assert_eq!(ids, ["inv-000001", "inv-000002", "inv-000003"]);
    assert!(one.find("inv-000002").is_ok());
    for wrong in ["inv-2", "inv-0000002", "inv-000009", "../inv-000001", "", "inv-+00001"] {
        let problem = one.find(wrong).expect_err(wrong).to_string();
        assert!(problem.contains("inv-000003"), "{problem}");
    }
}

#[test]
fn the_oldest_that_do_not_run_make_room() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path(), &[]).expect("opens");
    let began = Began::new("x".to_owned(), "/x".into(), None);
    let journals: Vec<Journal> = (0..5)
        .map(|_| {
            let id = store.create(&began).expect("stores");
            Journal::create(store.journal(&id)).expect("a journal")
        })
        .collect();
    let ids = || store.ids().iter().map(InvestigationId::number).collect::<Vec<_>>();
    store.prune(1, |_| false);
    assert_eq!(ids(), [1, 2, 3, 4, 5], "other servers work on all of them");
    drop(journals);
    store.prune(3, |id| id.number() == 1);
    assert_eq!(ids(), [1, 4, 5], "the first one runs here");
    std::fs::write(store.journal(&InvestigationId::numbered(1)), "damaged").expect("writes");
    std::fs::remove_file(store.journal(&InvestigationId::numbered(4))).expect("removes");
    store.prune(1, |_| false);
    assert_eq!(ids(), [4], "one without a journal may be about to get it");
    assert_eq!(folder.path().read_dir().expect("reads").count(), 1, "nothing else is left");

    std::fs::create_dir(folder.path().join(".gone-inv-000009")).expect("a folder");
    Store::open(folder.path(), &[]).expect("opens");
    assert_eq!(folder.path().read_dir().expect("reads").count(), 1, "remains are cleared");
    assert_eq!(store.create(&began).expect("stores").number(), 5);
}

#[test]
fn what_came_to_nothing_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path(), &[]).expect("opens");
    let began = Began::new("x".to_owned(), "/x".into(), None);
    let [bare, empty, torn, entered] = [(); 4].map(|()| store.create(&began).expect("stores"));
    drop(Journal::create(store.journal(&empty)).expect("a journal"));
    // The disk was full at its first byte.
    std::fs::write(store.journal(&torn), "").expect("writes");
    let search = eog::Config::default();
    let case = eog_testkit::case(eog_testkit::topology(""), []);
    let ledger = <eog::Controller as eog::Machine>::open(search, case).ledger().to_json_lines();
    let (whole, journal) = (AnyLedger::from_json_lines(&ledger), store.journal(&entered));
    let AnyLedger::Eog(whole) = whole.expect("a ledger") else { panic!("of EoG") };
    let mut written = Journal::create(&journal).expect("a journal");
    written.append(whole.entries()).expect("stores");
    drop(written);
    let gone = [&bare, &empty, &torn, &entered].map(|id| store.discard(id));
    assert_eq!(gone, [true, true, true, false]);
    assert_eq!(store.ids(), [entered], "an entry can be resumed");
}

#[test]
fn a_state_folder_below_a_root_is_refused_before_it_is_made() {
    let all = tempfile::tempdir().expect("a folder");
    let real = all.path().canonicalize().expect("it is there");
    let root = real.join("root");
    std::fs::create_dir(&root).expect("a root");
    let roots = [root.clone()];
    for state in ["root", "root/state", "root/a/b", "other/../root/state"] {
        let refused = Store::open(&real.join(state), &roots).map(drop);
        let Err(StoreError::InRoot { .. }) = refused else {
            panic!("{state}: {refused:?}");
        };
    }
    assert_eq!(root.read_dir().expect("reads").count(), 0);
    Store::open(&real.join("rooted"), &roots).expect("only the name begins like that");
}

/// A step that a disk was given, by path.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Folder(PathBuf),
    Written(PathBuf),
    Synced(PathBuf),
    Renamed(PathBuf, PathBuf),
    FolderSynced(PathBuf),
}

/// The real file system, which records its steps.
#[derive(Clone, Debug, Default)]
struct Watched(Arc<Mutex<Vec<Step>>>);

impl Watched {
    fn note(&self, step: Step) {
        self.0.lock().expect("no test panics with it").push(step);
    }
}

impl Disk for Watched {
    fn create_folder(&self, path: &Path) -> std::io::Result<()> {
        RealDisk.create_folder(path)?;
        self.note(Step::Folder(path.to_owned()));
        Ok(())
    }

    fn create(&self, path: &Path, content: &[&[u8]]) -> std::io::Result<File> {
        self.note(Step::Written(path.to_owned()));
        RealDisk.create(path, content)
    }

    fn sync(&self, file: &File, path: &Path) -> std::io::Result<()> {
        self.note(Step::Synced(path.to_owned()));
        RealDisk.sync(file, path)
    }

    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        self.note(Step::Renamed(from.to_owned(), to.to_owned()));
        RealDisk.rename(from, to)
    }

    fn sync_folder(&self, folder: &Path) -> std::io::Result<()> {
        self.note(Step::FolderSynced(folder.to_owned()));
        RealDisk.sync_folder(folder)
    }
}

/// Whether a file or folder that was made below a folder is still there after a power loss after these
/// steps, at worst: content stays once it was synced, a name once its folder was synced.
fn survives(steps: &[Step], path: &Path, below: &Path) -> bool {
    if path == below {
        return true;
    }
    let named = steps.iter().rposition(|step| match step {
        Step::Folder(made) => made == path,
        Step::Renamed(_, to) => path.starts_with(to),
        _ => false,
    });
    let Some(named) = named else { return false };
    let (before, since) = steps.split_at(named);
    let is_whole = match &steps[named] {
        // It came with a folder that it is in.
        Step::Renamed(from, to) if to != path => {
            let inside = path.strip_prefix(to).expect("it is below");
            return survives(before, &from.join(inside), from) && survives(steps, to, below);
        }
        Step::Renamed(from, _) => {
            let is_file = before.contains(&Step::Written(from.clone()));
            !is_file || before.contains(&Step::Synced(from.clone()))
        }
        _ => true,
    };
    let folder = path.parent().expect("it is below a folder");
    let is_named = since.contains(&Step::FolderSynced(folder.to_owned()));
    is_whole && is_named && survives(steps, folder, below)
}

#[test]
fn how_it_began_survives_a_power_loss_before_there_is_a_journal() {
    let all = tempfile::tempdir().expect("a folder");
    let all = all.path().canonicalize().expect("it is there");
    let state = all.join("new/state");
    let disk = Watched::default();
    let store = Store::on(Box::new(disk.clone()), &state, &[]).expect("opens");
    let began = Began::new("x".to_owned(), "/x".into(), None);
    let id = store.create(&began).expect("stores");
    // A journal is made, and acknowledges its entries, only after this.
    let steps = disk.0.lock().expect("no test panics with it").clone();
    let folder = state.join(id.to_string());
    let file = folder.join(BEGINNING);
    assert!(survives(&steps, &file, &all), "{steps:#?}");
    let last = steps.len() - 1;
    assert!(!survives(&steps[..last], &file, &all), "every step up to the last is needed");
    // A name may survive before its folder was synced.
    for done in 0..steps.len() {
        let steps = &steps[..done];
        let has_number =
            steps.iter().any(|step| matches!(step, Step::Renamed(_, to) if *to == folder));
        assert_eq!(survives(steps, &file, &folder), has_number, "no number without a beginning");
    }

    // What people answered is part of what a resumed run receives.
    store.set_people(&id, &People::default()).expect("stores");
    let steps = disk.0.lock().expect("no test panics with it").clone();
    assert!(survives(&steps, &file.with_file_name("people.json"), &all), "{steps:#?}");
}

#[test]
fn when_it_began_is_kept_and_may_be_missing() {
    let all = tempfile::tempdir().expect("a folder");
    let store = Store::open(&all.path().join("state"), &[]).expect("opens");
    let before = eog::Timestamp::now();
    let id = store.create(&Began::new("x".to_owned(), "/x".into(), None)).expect("stores");
    let began = store.began(&id).expect("it is there");
    assert!(began.at.is_some_and(|at| at >= before), "{began:?}");
    // As an earlier version wrote it.
    store.set_began(&id, &Began { at: None, ..began }).expect("stores");
    let file = store.folder(&id).join("investigation.json");
    assert!(!std::fs::read_to_string(file).expect("text").contains("\"at\""));
    assert_eq!(store.began(&id).expect("it is read all the same").at, None);
}

/// A disk on which no name can be made durable.
#[derive(Debug)]
struct Unsure;

impl Disk for Unsure {
    fn sync_folder(&self, _folder: &Path) -> std::io::Result<()> {
        Err(std::io::Error::other("no power"))
    }
}

#[test]
fn an_investigation_that_cannot_be_made_durable_is_not_begun() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::on(Box::new(Unsure), folder.path(), &[]).expect("it is there");
    let problem = store.create(&Began::new("x".to_owned(), "/x".into(), None));
    let problem = problem.expect_err("it cannot be stored").to_string();
    assert!(problem.contains("no power"), "{problem}");
    assert_eq!(folder.path().read_dir().expect("reads").count(), 0, "nothing is left of it");
}

/// The real file system until some steps were done. Then each one fails, or the process is killed.
#[derive(Debug)]
struct Ends {
    steps: Mutex<usize>,
    is_killed: bool,
}

impl Ends {
    fn after(steps: usize, is_killed: bool) -> Box<Self> {
        Box::new(Self { steps: Mutex::new(steps), is_killed })
    }

    fn step(&self) -> std::io::Result<()> {
        let left = self.steps.lock().expect("no test panics with it").checked_sub(1);
        match left {
            Some(left) => *self.steps.lock().expect("no test panics with it") = left,
            // Nothing is tidied up, and no message is printed.
            None if self.is_killed => std::panic::resume_unwind(Box::new("killed")),
            None => return Err(std::io::Error::other("no power")),
        }
        Ok(())
    }
}

impl Disk for Ends {
    fn create_folder(&self, path: &Path) -> std::io::Result<()> {
        self.step()?;
        RealDisk.create_folder(path)
    }

    fn create(&self, path: &Path, content: &[&[u8]]) -> std::io::Result<File> {
        // Half of it is written.
        let half = &content[0][..content[0].len() / 2];
        self.step().inspect_err(|_| drop(RealDisk.create(path, &[half])))?;
        RealDisk.create(path, content)
    }

    fn sync(&self, file: &File, path: &Path) -> std::io::Result<()> {
        self.step()?;
        RealDisk.sync(file, path)
    }

    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        self.step()?;
        RealDisk.rename(from, to)
    }

    fn sync_folder(&self, folder: &Path) -> std::io::Result<()> {
        self.step()?;
        RealDisk.sync_folder(folder)
    }
}

/// Those of create: the folder, the file, its content, its name, the folder's content, its number, its name.
const STEPS: usize = 7;

fn names_in(folder: &Path) -> Vec<String> {
    let names = folder.read_dir().expect("reads").flatten();
    names.map(|entry| entry.file_name().into_string().expect("text")).collect()
}

/// A store whose disk ends once it is open.
fn ending(folder: &Path, steps: usize, is_killed: bool) -> Store {
    let store = Store::open(folder, &[]).expect("opens");
    Store { disk: Ends::after(steps, is_killed), ..store }
}

/// As if nothing had happened to it for so long.
fn age(folder: &Path, by: Duration) {
    let at = std::time::SystemTime::now() - by;
    File::open(folder).and_then(|file| file.set_modified(at)).expect("it is ours");
}

#[test]
fn a_step_of_beginning_that_fails_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let began = Began::new("x".to_owned(), "/x".into(), None);
    for steps in 0..STEPS {
        let problem = ending(folder.path(), steps, false).create(&began).expect_err("no power");
        assert!(problem.to_string().contains("no power"), "{problem}");
        assert_eq!(names_in(folder.path()), [""; 0], "after {steps} steps");
    }
    let id = ending(folder.path(), STEPS, false).create(&began).expect("no further step");
    assert_eq!(id.number(), 1);
}

#[cfg(unix)]
#[test]
fn a_server_that_is_killed_leaves_no_investigation_without_a_beginning() {
    let began = Began::new("x".to_owned(), "/x".into(), None);
    for steps in 0..STEPS {
        let folder = tempfile::tempdir().expect("a folder");
        let store = ending(folder.path(), steps, true);
        let create = std::panic::AssertUnwindSafe(|| store.create(&began));
        assert!(std::panic::catch_unwind(create).is_err(), "it is killed after {steps} steps");
        let ids = store.ids();
        assert_eq!(ids.len(), usize::from(steps == STEPS - 1), "after {steps} steps");
        for id in &ids {
            store.began(id).expect("it has its beginning");
        }

        let remains = names_in(folder.path());
        Store::open(folder.path(), &[]).expect("opens");
        assert_eq!(names_in(folder.path()), remains, "another server may be about it");
        for name in &remains {
            age(&folder.path().join(name), ABANDONED + Duration::from_secs(60));
        }
        let next = Store::open(folder.path(), &[]).expect("opens");
        assert_eq!(names_in(folder.path()).len(), ids.len(), "remains are cleared");
        assert_eq!(next.ids(), ids);
        assert_eq!(next.create(&began).expect("stores").number(), ids.len() as u64 + 1);
    }
}

#[cfg(unix)]
#[test]
fn what_earlier_versions_left_without_a_beginning_is_cleared() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for name in ["inv-000001", "inv-000002", "inv-000003", "inv-000004"] {
        std::fs::create_dir(at(name)).expect("a folder");
    }
    std::fs::write(at("inv-000002/.investigation.json.tmp"), "{").expect("writes");
    std::fs::write(at("inv-000003/journal"), "").expect("writes");
    let store = Store::open(folder.path(), &[]).expect("opens");
    let began = Began::new("x".to_owned(), "/x".into(), None);
    assert_eq!(store.create(&began).expect("stores").number(), 5, "they have their numbers");
    for name in ["inv-000001", "inv-000002", "inv-000003", "inv-000005"] {
        age(&at(name), ABANDONED + Duration::from_secs(60));
    }
    let store = Store::open(folder.path(), &[]).expect("opens");
    let ids: Vec<_> = store.ids().iter().map(InvestigationId::number).collect();
    assert_eq!(ids, [3, 4, 5], "a journal is kept, and what may be about to get its beginning");
    assert_eq!(names_in(folder.path()).len(), 3);
}

/// A disk on which others are faster: before a folder gets a number, they take it. An earlier version takes the
/// one after it, and has nothing in its folder yet.
#[derive(Debug)]
struct Overtaken(Mutex<Vec<Store>>);

impl Disk for Overtaken {
    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        if from.is_dir()
            && let Some(other) = self.0.lock().expect("no test panics with it").pop()
        {
            let began = Began::new("faster".to_owned(), "/x".into(), None);
            let taken = other.create(&began).expect("stores");
            assert_eq!(other.folder(&taken), to);
            let empty = InvestigationId::numbered(taken.number() + 1);
            std::fs::create_dir(other.folder(&empty)).expect("a folder");
        }
        RealDisk.rename(from, to)
    }
}

#[test]
fn who_is_overtaken_takes_the_next_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let others = [(); 3].map(|()| Store::open(folder.path(), &[]).expect("opens"));
    let disk = Overtaken(Mutex::new(others.into()));
    let store = Store::on(Box::new(disk), folder.path(), &[]).expect("opens");
    let id = store.create(&Began::new("slower".to_owned(), "/x".into(), None)).expect("stores");
    assert_eq!(id.number(), 7);
    let name = |number| {
        let began = store.began(&InvestigationId::numbered(number));
        began.map_or("none yet".to_owned(), |began| began.name)
    };
    let names: Vec<String> = (1..=7).map(name).collect();
    let faster = ["faster", "none yet"].repeat(3);
    assert_eq!(names, [faster, vec!["slower"]].concat(), "none is replaced");
}

#[test]
fn servers_that_create_at_once_never_give_the_same_number() {
    const SERVERS: usize = 4;
    const EACH: usize = 25;
    let folder = tempfile::tempdir().expect("a folder");
    let start = std::sync::Barrier::new(SERVERS);
    let create = |server: usize| {
        // No thread can fail before it, and leave the others waiting.
        start.wait();
        let store = Store::open(folder.path(), &[]).expect("opens beside those that create");
        let one = |number: usize| {
            let began = Began::new(format!("{server} {number}"), "/x".into(), None);
            (store.create(&began).expect("stores"), began.name)
        };
        (0..EACH).map(one).collect::<Vec<_>>()
    };
    let given: BTreeMap<_, _> = std::thread::scope(|scope| {
        let create = &create;
        let servers: Vec<_> =
            (0..SERVERS).map(|server| scope.spawn(move || create(server))).collect();
        servers.into_iter().flat_map(|server| server.join().expect("it creates")).collect()
    });
    let numbers: Vec<_> = given.keys().map(InvestigationId::number).collect();
    assert_eq!(numbers, (1..=(SERVERS * EACH) as u64).collect::<Vec<_>>());
    let store = Store::open(folder.path(), &[]).expect("opens");
    for (id, name) in given {
        assert_eq!(store.began(&id).expect("it is there").name, name);
    }
    assert_eq!(names_in(folder.path()).len(), SERVERS * EACH, "nothing else is left");
}
