//! What a snapshot of real size costs: loading, the graph, contexts, a whole investigation, memory.
//!
//!     make_scale_snapshot.py scale        # about 390 MB, in ../shared/tools beside the workspace
//!     cargo bench -p eog-sre --bench scale -- scale [ARCHITECTURE.json]
//!
//! Instead of the first argument `EOG_SCALE_SNAPSHOT` may name the folder. Any snapshot will do.
//! Times are wall-clock; files are read once before, so that the disk is not measured. Each memory
//! figure is the peak of a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use eog::{Config, Engine};
use eog_core::{ContextContract, ContextRequest, EntityId, LocalContext, Window};
use eog_evidence::{EvidencePolicy, open_case};
use eog_sre::tools::Toolbox;
use eog_sre::{CacheAt, ReadOptions, Snapshot, SnapshotContext};

/// How often a load is measured.
const LOADS: usize = 5;

/// How often each context is asked for after the first time.
const ROUNDS: usize = 10;

type Failed = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--phase", phase, folder, architecture] => run_phase(phase, folder, architecture),
        [] => match std::env::var("EOG_SCALE_SNAPSHOT") {
            Ok(folder) => report(&folder, ""),
            // So that `cargo bench` over everything does not end here.
            Err(_) => {
                println!(
                    "skipped: no snapshot. Give its folder, or set EOG_SCALE_SNAPSHOT; \
                     make_scale_snapshot.py OUT makes one"
                );
                Ok(())
            }
        },
        [folder] => report(folder, ""),
        [folder, architecture] => report(folder, architecture),
        _ => Err("usage: scale SNAPSHOT [ARCHITECTURE]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scale: {error}");
            ExitCode::from(2)
        }
    }
}

/// Prints the table.
fn report(folder: &str, architecture: &str) -> Result<(), Failed> {
    let bytes = warm_up(Path::new(folder))?;
    println!("| what | {:.0} MB in the files |\n|---|---:|", bytes as f64 / 1e6);
    let plain = options(architecture);
    let load = measured(|| Ok(timed(|| Snapshot::open(folder, &plain))?.0))?;
    println!("| load, cold: median, fastest | {load} |");
    let cached = cached_loads(folder, &plain)?;
    println!(
        "| load that writes the cache | {} |\n| load from the cache | {} |",
        cached.0, cached.1
    );
    let snapshot = Snapshot::open(folder, &plain)?;
    let (graph_time, graph) = timed(|| Ok::<_, Failed>(snapshot.graph()))?;
    println!("| graph | {} |", ms(graph_time));
    let (incident_time, incident) = timed(|| Ok::<_, Failed>(snapshot.incident(&graph)))?;
    println!("| incident | {} |", ms(incident_time));
    let window = open_case(&incident, None)?.window;
    drop(graph);
    let toolbox = Toolbox::new(Arc::new(snapshot));
    let (index_time, _) = timed(|| Ok::<_, Failed>(toolbox.context()))?;
    println!("| indexes | {} |", ms(index_time));
    contexts(&toolbox, window)?;
    drop(toolbox);
    for phase in ["load", "investigate"] {
        let (time, peak) = phase_of_own(phase, folder, architecture)?;
        let share = peak as f64 / bytes as f64;
        println!(
            "| {phase}, process of its own | {}, peak {:.0} MB ({share:.2} of the files) |",
            ms(time),
            peak as f64 / 1e6
        );
    }
    Ok(())
}

/// Asks for the context of every entity that has spans, log lines and metrics.
fn contexts(toolbox: &Toolbox, window: Window) -> Result<(), Failed> {
    let context = toolbox.context();
    let all: Vec<EntityId> = context.graph().topology().entities().cloned().collect();
    let entities: Vec<EntityId> = all
        .into_iter()
        .filter(|entity| {
            let held = context.recorded(entity);
            held.spans > 0 && held.log_lines > 0 && held.series > 0
        })
        .collect();
    let (mut times, mut sizes, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        for entity in &entities {
            let (time, packet) = timed(|| ask(context, entity, window))?;
            if round > 0 {
                times.push(time);
                sizes.push((packet.findings.len(), serde_json::to_vec(&packet)?.len()));
                let arguments = serde_json::json!({
                    "entity": entity, "window": format!("{}/{}", window.start(), window.end())
                });
                let call = || toolbox.call_text("get_context_contract", arguments);
                calls.push(timed(call)?.0);
            }
        }
    }
    sizes.sort();
    let (fewest, smallest) = sizes.first().copied().unwrap_or_default();
    let (most, largest) = sizes.last().copied().unwrap_or_default();
    for (what, times) in [("context", times), ("tool get_context_contract", calls)] {
        println!(
            "| {what}, warm, of {} entities: median, 95th percentile, most | {} |",
            entities.len(),
            ranks(times)
        );
    }
    println!("| findings in a context | {fewest} ({smallest} bytes) to {most} ({largest} bytes) |");
    Ok(())
}

/// Median, 95th percentile and the longest.
fn ranks(mut times: Vec<Duration>) -> String {
    times.sort();
    let rank = |share: usize| (times.len() * share).div_ceil(100).saturating_sub(1);
    let at = |share: usize| ms(times.get(rank(share)).copied().unwrap_or_default());
    format!("{}, {}, {}", at(50), at(95), at(100))
}

/// Asks as the controller does.
fn ask(
    context: &SnapshotContext,
    entity: &EntityId,
    window: Window,
) -> Result<LocalContext, Failed> {
    let request = ContextRequest {
        entity: entity.clone(),
        window,
        page: 1,
        visit: 1,
        changed_neighbours: std::collections::BTreeSet::new(),
        query: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    Ok(runtime.block_on(context.get_context(&request)).map_err(|failure| format!("{failure:?}"))?)
}

/// Runs this program again for one phase, so that its peak of memory is its own.
fn phase_of_own(phase: &str, folder: &str, architecture: &str) -> Result<(Duration, u64), Failed> {
    let program = std::env::current_exe()?;
    let output = Command::new(program).args(["--phase", phase, folder, architecture]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut numbers = text.split_whitespace().map(str::parse::<u64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(micros)), Some(Ok(peak))) => Ok((Duration::from_micros(micros), peak)),
        _ => Err(format!("{phase} failed: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn run_phase(phase: &str, folder: &str, architecture: &str) -> Result<(), Failed> {
    let began = Instant::now();
    let snapshot = Snapshot::open(folder, &options(architecture))?;
    if phase == "investigate" {
        let graph = snapshot.graph();
        let case = open_case(&snapshot.incident(&graph), None)?;
        let engine = Engine::new(SnapshotContext::new(snapshot, graph), EvidencePolicy::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let finished = runtime.block_on(engine.investigate(Config::default(), case));
        if finished.spent().hops == 0 {
            return Err("the investigation asked nothing".into());
        }
    }
    println!("{} {}", began.elapsed().as_micros(), peak_bytes());
    Ok(())
}

fn options(architecture: &str) -> ReadOptions {
    let file = Some(PathBuf::from(architecture)).filter(|path| !path.as_os_str().is_empty());
    ReadOptions { architecture: file, ..ReadOptions::default() }
}

/// Reads every file once and gives their size.
fn warm_up(folder: &Path) -> Result<u64, Failed> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        bytes += match path.is_dir() {
            true => warm_up(&path)?,
            false => std::io::copy(&mut std::fs::File::open(&path)?, &mut std::io::sink())?,
        };
    }
    Ok(bytes)
}

/// The most memory this process ever held, as Linux counts it; 0 elsewhere.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Median and fastest of several measurements.
fn measured(mut measure: impl FnMut() -> Result<Duration, Failed>) -> Result<String, Failed> {
    let mut times = (0..LOADS).map(|_| measure()).collect::<Result<Vec<_>, _>>()?;
    times.sort();
    let at = |place: usize| ms(times.get(place).copied().unwrap_or_default());
    Ok(format!("{}, {}", at(LOADS / 2), at(0)))
}

/// Loads with a cache that is not there yet, and then with it.
fn cached_loads(folder: &str, plain: &ReadOptions) -> Result<(String, String), Failed> {
    let place = tempfile::tempdir()?;
    let cache = Some(CacheAt::Folder(place.path().to_owned()));
    let options = ReadOptions { cache, ..plain.clone() };
    let (first, _) = timed(|| Snapshot::open(folder, &options))?;
    let again = measured(|| {
        let (time, snapshot) = timed(|| Snapshot::open(folder, &options))?;
        if snapshot.is_from_cache() { Ok(time) } else { Err("the cache was not used".into()) }
    })?;
    let file = std::fs::read_dir(place.path())?.next().ok_or("no cache was written")??;
    let size = file.metadata()?.len() as f64 / 1e6;
    Ok((format!("{}, {size:.0} MB written", ms(first)), again))
}

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(Duration, T), E> {
    let began = Instant::now();
    let done = work()?;
    Ok((began.elapsed(), done))
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
