//! What several methods need to infer facts: a vocabulary, elimination, Horn clauses.
//!
//! - `vocabulary`: lists of candidate facts, the conditions a formula is made of and their neighbours, bounds and sums;
//! - `houdini`: which goals of many do not follow, asked as few times as models allow;
//! - `clauses`: rules for the steps and gates of actions, and what an answer of the Horn solver means.
//!
//! A method's folder has its paper's rule: where facts stand, and which conditions they have to satisfy.
//! Deliberately absent: anything that decides what is true; a wrong guess costs time and nothing else.

pub(crate) mod clauses;
pub(crate) mod houdini;
pub(crate) mod vocabulary;
