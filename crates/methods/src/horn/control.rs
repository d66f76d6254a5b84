//! What a state knows of where the other instances are (the global case).
//!
//! In: the parties. Out: for each party its phases, and for each place what is told apart there. A phase is a set of locations
//! that are joined by actions which write nothing shared: most violations need to know only in which phase another
//! instance is. Where that does not suffice, the locations of one phase are told apart.

use super::system::Party;
use std::collections::BTreeSet;

/// What is known of one instance's control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    At(u32),
    /// At some location of the phase.
    Phase(u32),
}

/// The phases of one party.
pub struct Phases {
    of: Vec<u32>,
}

impl Phases {
    pub fn new(party: &Party) -> Self {
        let mut of: Vec<u32> = (0..party.out.len() as u32).collect();
        // Few locations: renaming a phase by going through all of them is cheap.
        for a in party.acts.iter().filter(|a| a.writes.is_empty()) {
            let (keep, drop) = (of[a.from].min(of[a.to]), of[a.from].max(of[a.to]));
            for p in &mut of {
                if *p == drop {
                    *p = keep;
                }
            }
        }
        Self { of }
    }
    pub fn of(&self, location: u32) -> u32 {
        self.of[location as usize]
    }
    /// The locations of a phase, in order.
    pub fn locations(&self, phase: u32) -> Vec<u32> {
        (0..self.of.len() as u32).filter(|l| self.of(*l) == phase).collect()
    }
    /// Whether the instance may be at this location.
    pub fn may_be(&self, known: Option<Known>, location: u32) -> bool {
        match known {
            None => true,
            Some(Known::At(l)) => l == location,
            Some(Known::Phase(p)) => self.of(location) == p,
        }
    }
    /// Whether everything that `new` allows is allowed by `old`.
    pub fn covers(&self, old: Option<Known>, new: Option<Known>) -> bool {
        match (old, new) {
            (None, _) => true,
            (Some(Known::Phase(p)), Some(Known::At(l))) => self.of(l) == p,
            (old, new) => old == new,
        }
    }
}

/// What is told apart of one other party at one place.
#[derive(Clone, Debug, Default)]
pub struct Tracked {
    phases: bool,
    /// Phases whose locations are told apart.
    apart: BTreeSet<u32>,
}

impl Tracked {
    /// Forgets what is not told apart here.
    pub fn round(&self, phases: &Phases, known: Option<Known>) -> Option<Known> {
        match known? {
            Known::At(l) if self.apart.contains(&phases.of(l)) => Some(Known::At(l)),
            Known::At(l) if self.phases => Some(Known::Phase(phases.of(l))),
            Known::Phase(p) if self.phases => Some(Known::Phase(p)),
            _ => None,
        }
    }
    /// Tells phases apart; whether that is new.
    pub fn tell_phases(&mut self) -> bool {
        !std::mem::replace(&mut self.phases, true)
    }
    /// Tells the locations of a phase apart; whether that is new.
    pub fn tell_locations(&mut self, phase: u32) -> bool {
        let phases = self.tell_phases();
        self.apart.insert(phase) || phases
    }
}
