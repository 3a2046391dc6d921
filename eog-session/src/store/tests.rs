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

/// What a disk was told to do, by path.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Folder(PathBuf),
    Written(PathBuf),
    Synced(PathBuf),
    Renamed(PathBuf, PathBuf),
    FolderSynced(PathBuf),
}

/// The real file system, which says what it was told to do.
#[derive(Clone, Debug, Default)]
struct Watched(Arc<Mutex<Vec<Step>>>);

impl Watched {
    fn note(&self, step: Step) {
        self.0.lock().expect("nobody panics").push(step);
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

/// What a power loss after these steps leaves of a file that was not there before, at worst: content
/// stays once it was synced, a name once its folder was synced.
fn survives(steps: &[Step], file: &Path) -> bool {
    let Some(named) =
        steps.iter().rposition(|step| matches!(step, Step::Renamed(_, to) if to == file))
    else {
        return false;
    };
    let Step::Renamed(temporary, _) = &steps[named] else { return false };
    let is_content_safe = steps[..named].contains(&Step::Synced(temporary.clone()));
    let is_name_safe = |path: &Path, since: usize| {
        let folder = path.parent().expect("it is below a folder").to_owned();
        steps[since..].contains(&Step::FolderSynced(folder))
    };
    let made = |path: &Path| steps.iter().position(|step| *step == Step::Folder(path.to_owned()));
    let are_folders_safe = file
        .ancestors()
        .skip(1)
        .all(|folder| made(folder).is_none_or(|since| is_name_safe(folder, since)));
    is_content_safe && is_name_safe(file, named) && are_folders_safe
}

#[test]
fn how_it_began_survives_a_power_loss_before_there_is_a_journal() {
    let all = tempfile::tempdir().expect("a folder");
    let state = all.path().canonicalize().expect("it is there").join("new/state");
    let disk = Watched::default();
    let store = Store::on(Box::new(disk.clone()), &state, &[]).expect("opens");
    let began = Began::new("x".to_owned(), "/x".into(), None);
    let id = store.create(&began).expect("stores");
    // A journal is made, and acknowledges its entries, only after this.
    let steps = disk.0.lock().expect("nobody panics").clone();
    let file = state.join(id.to_string()).join("investigation.json");
    assert!(survives(&steps, &file), "{steps:#?}");
    let last = steps.len() - 1;
    assert!(!survives(&steps[..last], &file), "every step up to the last is needed");

    // What people answered is part of what a resumed run is told.
    store.set_people(&id, &People::default()).expect("stores");
    let steps = disk.0.lock().expect("nobody panics").clone();
    assert!(survives(&steps, &file.with_file_name("people.json")), "{steps:#?}");
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
