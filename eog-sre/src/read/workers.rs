//! Several tasks on several threads, with results in the order of the tasks.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Most threads. Each holds one file's rows, so more threads also mean more memory.
const MAX_WORKERS: usize = 4;

/// A piece of work.
pub(crate) type Task<'a, T> = Box<dyn FnOnce() -> T + Send + 'a>;

/// Runs all tasks, the first ones first, and gives their results in the order of the tasks,
/// whichever ended first.
pub(crate) fn run_all<T: Send>(tasks: Vec<Task<'_, T>>) -> Vec<T> {
    let available = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = available.min(MAX_WORKERS).min(tasks.len());
    let open = Mutex::new(tasks.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = lock(&open).next();
                    let Some((at, task)) = next else { break };
                    let result = task();
                    lock(&done).push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A task that panics ends the whole work by itself; nothing half done is behind these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn results_keep_the_order_of_the_tasks() {
        let late_first = (0..20_u64).rev().map(|at| -> Task<'_, u64> {
            Box::new(move || {
                thread::sleep(Duration::from_micros(at * 50));
                at
            })
        });
        let expected: Vec<u64> = (0..20).rev().collect();
        assert_eq!(run_all(late_first.collect()), expected);
        assert!(run_all(Vec::<Task<'_, u8>>::new()).is_empty());
    }
}
