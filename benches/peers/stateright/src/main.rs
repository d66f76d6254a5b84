//! The models of the bench of `explore`, for Stateright: `stateright-peer FAMILY N` prints states and processor seconds.
//!
//! Written as its documentation suggests: a state is a plain struct, an action is the number of a thread, one core, breadth
//! first. Families: bluetooth (one stopper, N - 1 workers; figure 4 of Abstract Threads, one line a step) and buffer (N
//! producers and N consumers, two items each, two places).

use stateright::{Checker, Model, Property};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Driver {
    pending: i8,
    flag: bool,
    event: bool,
    stopped: bool,
    wrong: bool,
    stop: u8,
    /// Place and status of each worker.
    workers: Vec<(u8, i8)>,
}

struct Bluetooth(usize);

impl Model for Bluetooth {
    type State = Driver;
    type Action = usize;

    fn init_states(&self) -> Vec<Driver> {
        let workers = vec![(0, 0); self.0 - 1];
        vec![Driver { pending: 1, flag: false, event: false, stopped: false, wrong: false, stop: 0, workers }]
    }
    fn actions(&self, _: &Driver, actions: &mut Vec<usize>) {
        actions.extend(0..self.0);
    }
    fn next_state(&self, last: &Driver, who: usize) -> Option<Driver> {
        let mut s = last.clone();
        if who == 0 {
            s.stop = match s.stop {
                0 => {
                    s.flag = true;
                    1
                }
                1 => {
                    s.pending -= 1;
                    2
                }
                2 if s.pending == 0 => 3,
                2 => 4,
                3 => {
                    s.event = true;
                    4
                }
                4 if s.event => 5,
                5 => {
                    s.stopped = true;
                    6
                }
                _ => return None,
            };
            return Some(s);
        }
        let (at, status) = s.workers[who - 1];
        s.workers[who - 1] = match at {
            0 => {
                s.pending += 1;
                (1, status)
            }
            1 if s.flag => (2, status),
            1 => (3, status),
            2 => (4, -1),
            3 => (4, 1),
            4 if status > 0 => (5, status),
            4 => (6, status),
            5 => {
                s.wrong |= s.stopped;
                (6, status)
            }
            6 => {
                s.pending -= 1;
                (7, status)
            }
            7 if s.pending == 0 => (8, status),
            7 => (9, status),
            8 => {
                s.event = true;
                (9, status)
            }
            _ => return None,
        };
        Some(s)
    }
    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("not stopped", |_, s: &Driver| !s.wrong)]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Buffer {
    lock: bool,
    count: u8,
    produced: u8,
    consumed: u8,
    wrong: bool,
    /// Place and number of items of each thread: first the producers.
    threads: Vec<(u8, u8)>,
}

struct BoundedBuffer(usize);

const ITEMS: u8 = 2;
const PLACES: u8 = 2;

impl Model for BoundedBuffer {
    type State = Buffer;
    type Action = usize;

    fn init_states(&self) -> Vec<Buffer> {
        let threads = vec![(0, 0); 2 * self.0];
        vec![Buffer { lock: false, count: 0, produced: 0, consumed: 0, wrong: false, threads }]
    }
    fn actions(&self, _: &Buffer, actions: &mut Vec<usize>) {
        actions.extend(0..2 * self.0);
    }
    fn next_state(&self, last: &Buffer, who: usize) -> Option<Buffer> {
        let mut s = last.clone();
        let producer = who < self.0;
        let (at, i) = s.threads[who];
        s.threads[who] = match at {
            0 if i < ITEMS => (1, i),
            1 if !s.lock => {
                s.lock = true;
                (2, i)
            }
            2 if s.count == if producer { PLACES } else { 0 } => (3, i),
            2 => (4, i),
            3 => {
                s.lock = false;
                (1, i)
            }
            4 => {
                if producer {
                    s.count += 1
                } else {
                    s.count -= 1
                }
                (5, i)
            }
            5 => {
                if producer {
                    s.produced += 1
                } else {
                    s.consumed += 1
                }
                (6, i)
            }
            6 => {
                s.wrong |= if producer { s.count > PLACES } else { s.consumed > s.produced };
                (7, i)
            }
            7 => {
                s.lock = false;
                (8, i)
            }
            8 => (0, i + 1),
            _ => return None,
        };
        Some(s)
    }
    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("in bounds", |_, s: &Buffer| !s.wrong)]
    }
}

fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let rest: Vec<f64> =
        stat.rsplit(')').next().unwrap_or("").split_whitespace().map(|w| w.parse().unwrap_or(0.0)).collect();
    rest.get(11..13).map_or(0.0, |t| (t[0] + t[1]) / 100.0)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let n: usize = args.get(1).and_then(|n| n.parse().ok()).unwrap_or(4);
    let states = match args.first().map(String::as_str) {
        Some("bluetooth") => Bluetooth(n).checker().threads(1).spawn_bfs().join().unique_state_count(),
        Some("buffer") => BoundedBuffer(n).checker().threads(1).spawn_bfs().join().unique_state_count(),
        _ => return eprintln!("stateright-peer bluetooth|buffer N"),
    };
    println!("{states} states, {:.2} s", processor().max(0.01));
}
