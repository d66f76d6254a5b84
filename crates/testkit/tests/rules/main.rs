//! The rules of the checker, one file for each: certificates that are accepted, and for every premise and side condition one that is
//! rejected because of it. The certificates are written by hand, from `docs/rules.md`; no method runs here.

mod asserted;
mod assume_guarantee;
mod callers;
mod case;
mod composed;
mod counting;
mod documents;
mod environments;
mod local_run;
mod mutants;
mod open_files;
mod pairs;
mod performed;
mod product;
mod quantified;
mod reduction;
mod refuter;
mod rely_guarantee;
mod runs;
mod search;
mod simulation;
mod simulation_cuts;
mod spec_run;
mod unmodelled;
mod views;
