//! From closed trees to certificates: R and E of the proof rule (Threader, figure 5).
//!
//! In: closed trees. Out: modular: an annotation of each thread and a guarantee, which holds for every number of instances
//! (rule `rely-guarantee`); global: what each instance reaches and what its environment does (rule `environments`).

use super::trees::{Forest, TreeMode};
use evidence::{Environments, RelyGuarantee, ThreadAnnotation};
use logic::{Symbol, Term};

impl Forest<'_> {
    /// The states of a location as one formula; states within others are left out.
    pub(super) fn reached(&self, process: usize, at: usize) -> Term {
        let t = self.system.terms;
        let here: Vec<usize> = (0..self.trees.states.len())
            .filter(|s| self.trees.states[*s].process == process && self.trees.states[*s].at == at)
            .collect();
        let within = |a: usize, b: usize| {
            let (x, y) = (&self.trees.states[a], &self.trees.states[b]);
            self.abs.within(x.cube, y.cube) && y.control.iter().zip(&x.control).all(|(o, n)| o.is_none() || o == n)
        };
        let kept = here.iter().copied().filter(|s| !here.iter().any(|o| o != s && within(*s, *o)));
        let cases: Vec<Term> = kept
            .map(|s| {
                let state = &self.trees.states[s];
                let mut parts: Vec<Term> = Vec::new();
                for (k, c) in state.control.iter().enumerate().filter(|(k, _)| *k != process) {
                    let pc = self.system.instances[k].pc.0;
                    parts.extend(c.map(|l| t.eq(t.sym(pc), t.int(i128::from(l)))));
                }
                parts.extend(self.abs.parts(state.cube).iter());
                t.and(&parts)
            })
            .collect();
        t.or(&cases)
    }
    pub(super) fn rely_guarantee(&self) -> RelyGuarantee {
        debug_assert_eq!(self.mode, TreeMode::Modular);
        let (t, p) = (self.system.terms, self.system.program);
        let stays = |written: &[(Symbol, Symbol)]| -> Vec<Term> {
            p.shared()
                .map(|v| &p.vars[v])
                .filter(|v| !written.iter().any(|(now, _)| *now == v.symbol))
                .map(|v| t.eq(t.sym(v.primed), t.sym(v.symbol)))
                .collect()
        };
        let threads = (0..self.system.processes.len())
            .map(|i| {
                let process = &self.system.processes[i];
                let mut moves = vec![t.and(&stays(&[]))];
                for e in self.trees.edges.iter().filter(|e| e.process == i) {
                    let mut parts = self.plain[i][e.act].clone();
                    parts.extend(self.abs.parts(e.cube).iter());
                    parts.extend(stays(&process.transitions[e.act].writes));
                    moves.push(t.and(&parts));
                }
                ThreadAnnotation {
                    thread: process.thread,
                    at: (0..process.out.len()).map(|l| self.reached(i, l)).collect(),
                    guarantee: t.or(&moves),
                    rely: None,
                }
            })
            .collect();
        let invariants: Vec<Term> = self.invariants().iter().map(|(_, f)| *f).collect();
        RelyGuarantee { invariant: t.and(&invariants), threads }
    }
    pub(super) fn environments(&self) -> Environments {
        debug_assert_eq!(self.mode, TreeMode::Global);
        let t = self.system.terms;
        let n = self.system.processes.len();
        let reach = (0..n)
            .map(|i| {
                (0..self.system.processes[i].out.len())
                    .map(|l| if self.has_duties(i) { self.reached(i, l) } else { t.tt() })
                    .collect()
            })
            .collect();
        let steps: Vec<Vec<Term>> = (0..n)
            .map(|k| (0..self.system.processes[k].transitions.len()).map(|a| self.relation(k, a)).collect())
            .collect();
        let environment = (0..n)
            .map(|i| {
                if !self.has_duties(i) {
                    return t.tt();
                }
                let others = (0..n).filter(|k| *k != i).flat_map(|k| steps[k].iter().copied());
                t.or(&others.collect::<Vec<_>>())
            })
            .collect();
        Environments { instances: self.system.instances.clone(), reach, environment }
    }
    /// An act as a formula over the store and all control before and after.
    fn relation(&self, k: usize, act: usize) -> Term {
        let (t, p) = (self.system.terms, self.system.program);
        let a = &self.system.processes[k].transitions[act];
        let pairs = |i: usize| self.system.instances[i].locals.iter().copied();
        let primed = |s: Symbol| -> Option<Symbol> {
            let shared = p.shared().map(|v| (p.vars[v].symbol, p.vars[v].primed));
            shared.chain(pairs(k)).find(|(now, _)| *now == s).map(|(_, next)| next)
        };
        let pc = |i: usize| self.system.instances[i].pc;
        let mut parts = vec![t.eq(t.sym(pc(k).0), t.int(a.from as i128)), t.eq(t.sym(pc(k).1), t.int(a.to as i128))];
        // A value that a step chooses and stores is the value after it.
        let mut chosen: Vec<(Symbol, Term)> = Vec::new();
        for (x, value) in &a.updates {
            if let (Some(s), Some(next)) = (t.as_symbol(*value), primed(*x))
                && a.inputs.contains(&s)
                && !chosen.iter().any(|(c, _)| *c == s)
            {
                chosen.push((s, t.sym(next)));
            }
        }
        let say = |f: Term| t.substitute(f, chosen.iter().copied());
        let mut body: Vec<Term> = a.enabled.iter().map(|f| say(*f)).collect();
        for (x, value) in &a.updates {
            let after = t.sym(primed(*x).expect("a step writes what it sees"));
            let value = say(*value);
            if value != after {
                body.push(t.eq(after, value));
            }
        }
        let left: Vec<Symbol> = a.inputs.iter().copied().filter(|s| !chosen.iter().any(|(c, _)| c == s)).collect();
        let body = t.and(&body);
        let free = t.free_symbols(body);
        let left: Vec<Symbol> = left.into_iter().filter(|s| free.contains(s)).collect();
        parts.push(if left.is_empty() { body } else { t.exists(&left, body) });
        let written = |s: Symbol| a.updates.iter().any(|(x, _)| *x == s);
        for v in p.shared().map(|v| &p.vars[v]).filter(|v| !written(v.symbol)) {
            parts.push(t.eq(t.sym(v.primed), t.sym(v.symbol)));
        }
        for i in 0..self.system.processes.len() {
            for (now, next) in pairs(i).filter(|(now, _)| i != k || !written(*now)) {
                parts.push(t.eq(t.sym(next), t.sym(now)));
            }
            if i != k {
                parts.push(t.eq(t.sym(pc(i).1), t.sym(pc(i).0)));
                // Nobody moves while another is inside an atomic block.
                let inside =
                    (0..self.system.processes[i].out.len()).filter(|l| self.system.processes[i].in_atomic_block[*l]);
                parts.extend(inside.map(|l| t.ne(t.sym(pc(i).0), t.int(l as i128))));
            }
        }
        t.and(&parts)
    }
}
