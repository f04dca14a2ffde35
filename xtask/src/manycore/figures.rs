//! What a run measures: the median of its rounds and seeds, and its ratio to Tokio's.

use std::sync::Mutex;
use std::thread;

use super::programs::{Case, Programs, Run};
use super::request::Request;

#[cfg(test)]
pub mod tests;

/// A figure that is compared with Tokio's: its place among [`Figures`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// Virtual time in ns per operation.
    Wall,
    /// CPU time in ns per operation.
    Cpu,
    /// The case's third figure, in µs.
    Third,
}

/// All of them are better if they are lower.
pub const COMPARED: [Figure; 3] = [Figure::Wall, Figure::Cpu, Figure::Third];

/// The figures of one process, or of all with the same parameters, in the order in which the
/// programs print them: those above, and then per operation transfers of cache lines, reads of
/// shared lines, read-modify-writes, parks, polls of epoll, and system calls.
pub type Figures = [f64; 9];

/// A case with a number of workers, on both runtimes.
pub struct Row {
    pub case: String,
    /// What the third figure is; empty if there is none.
    pub third: String,
    pub workers: u32,
    /// The figures for each seed, or why a run failed.
    pub tokio: Result<Vec<Figures>, String>,
    pub wakeful: Result<Vec<Figures>, String>,
}

/// A ratio to Tokio's figure: above 1, Wakeful is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub median: f64,
    /// The ratios of the worst and of the best seed.
    pub least: f64,
    pub most: f64,
}

impl Row {
    /// Runs the case on both runtimes with each seed, on as many CPUs as there are.
    pub fn measure(programs: &Programs, case: &Case, workers: u32, request: &Request) -> Row {
        let runtimes = ["tokio", "wakeful"];
        let runs = runtimes.iter().flat_map(|name| (1..=request.seeds).map(move |s| (*name, s)));
        let todo: Mutex<Vec<(&'static str, u32)>> = Mutex::new(runs.rev().collect());
        let done = Mutex::new(Vec::new());
        let work = || {
            while let Some((runtime, seed)) = next(&todo) {
                let run = Run { case: case.name.clone(), runtime, workers };
                let lines = programs.measure(&run, seed, &request.constants);
                let figures = lines.and_then(|lines| median_of_rounds(&lines));
                done.lock().expect("no thread panics").push((runtime, seed, figures));
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
        let mut done = done.into_inner().expect("no thread panics");
        done.sort_by_key(|(_, seed, _)| *seed);
        let of = |runtime| {
            let results = done.iter().filter(|(name, _, _)| *name == runtime);
            results.map(|(_, _, figures)| figures.clone()).collect()
        };
        let (tokio, wakeful) = (of("tokio"), of("wakeful"));
        let (name, third) = (case.name.clone(), case.third.clone());
        Row { case: name, third, workers, tokio, wakeful }
    }

    /// Returns the ratio of a figure. `None` if a run failed, or the case lacks this figure.
    pub fn ratio(&self, figure: Figure) -> Option<Ratio> {
        let (Ok(tokio), Ok(wakeful)) = (&self.tokio, &self.wakeful) else { return None };
        if figure == Figure::Third && self.third.is_empty() {
            return None;
        }
        let pairs = tokio.iter().zip(wakeful);
        let by_seed: Vec<f64> = pairs.map(|(t, w)| quotient(*t, *w, figure)).collect();
        Some(Ratio {
            median: quotient(median_of_seeds(tokio), median_of_seeds(wakeful), figure),
            least: by_seed.iter().copied().fold(f64::INFINITY, f64::min),
            most: by_seed.iter().copied().fold(0.0, f64::max),
        })
    }
}

fn next<T>(todo: &Mutex<Vec<T>>) -> Option<T> {
    todo.lock().expect("no thread panics").pop()
}

fn quotient(tokio: Figures, wakeful: Figures, figure: Figure) -> f64 {
    tokio[figure as usize] / wakeful[figure as usize]
}

/// Returns the median of each figure.
pub fn median_of_seeds(seeds: &[Figures]) -> Figures {
    std::array::from_fn(|figure| median(seeds.iter().map(|figures| figures[figure]).collect()))
}

fn median_of_rounds(lines: &str) -> Result<Figures, String> {
    let rounds: Option<Vec<Figures>> = lines.lines().map(parse_round).collect();
    let rounds = rounds.filter(|rounds| !rounds.is_empty());
    let rounds = rounds.ok_or_else(|| format!("unexpected output of a run: `{lines}`"))?;
    Ok(median_of_seeds(&rounds))
}

fn parse_round(line: &str) -> Option<Figures> {
    let numbers: Vec<f64> = line.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}
