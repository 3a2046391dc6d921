//! How fast ordinary logs pass, in one thread: the lines of `../shared/data/loghub` repeated, whole
//! and line by line, beside logs with secrets and text that was made to be slow.

use std::fs;
use std::path::{Path, PathBuf};

use divan::Bencher;
use divan::counter::BytesCount;
use eog_secrets::Masker;

fn main() {
    divan::main();
}

/// The size of a text.
const SIZE: usize = 32 * 1024 * 1024;

/// The messages of twelve real systems, or a few of a shop where those are absent.
fn lines() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/loghub");
    let Ok(entries) = fs::read_dir(folder) else {
        return (0..1000)
            .map(|at| format!("GET /carts/{at} 200 in {}ms, retry 2/5", at % 7))
            .collect();
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let mut lines = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "csv")) {
        let mut table = csv::Reader::from_path(file).expect("a table");
        let names = table.headers().expect("headers");
        let content = names.iter().position(|name| name == "Content").expect("messages");
        lines.extend(table.records().map(|row| row.expect("a row")[content].to_owned()));
    }
    lines
}

fn repeated(unit: &str, size: usize) -> String {
    unit.repeat(size / unit.len() + 1)
}

/// One text of many lines.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn logs_whole(bencher: Bencher) {
    let text = repeated(&(lines().join("\n") + "\n"), SIZE);
    let masker = Masker::new();
    bencher.counter(BytesCount::new(text.len())).bench_local(|| masker.mask(&text).len());
}

/// As readers do it: each line by itself.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn logs_by_line(bencher: Bencher) {
    let text = repeated(&(lines().join("\n") + "\n"), SIZE);
    let masker = Masker::new();
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| text.lines().map(|line| masker.mask(line).len()).sum::<usize>());
}

/// A secret in each line.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn secrets_by_line(bencher: Bencher) {
    let text = repeated(
        "login with password=hunter2 failed\nAuthorization: Bearer abc.def1\n\
         GET /x?token=s3ss10nT0k 200\nghp_0123456789abcdefABCD0123456789abcdef\n",
        SIZE / 16,
    );
    let masker = Masker::new();
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| text.lines().map(|line| masker.mask(line).len()).sum::<usize>());
}

/// Text that was made to be slow: telling words everywhere, and no secret.
#[divan::bench(args = ["key=", "password", "sk-", "@", "://", "datadog=", "eyJaaaaaaaa ", "-----BEGIN "], sample_count = 3, sample_size = 1)]
fn hostile(bencher: Bencher, unit: &str) {
    let text = repeated(unit, 1024 * 1024);
    let masker = Masker::new();
    bencher.counter(BytesCount::new(text.len())).bench_local(|| masker.mask(&text).len());
}
