//! The in-process session: one long-lived Z3 solver, push and pop, terms translated once.
//!
//! In: formulas. Out: answers, values, cores. A solver per question would be eleven times slower (measured), so a
//! session keeps one; its resource limit makes answers reproducible, and the watchdog makes them stoppable.
//! A formula that Z3 cannot express is remembered by scope: without it, "unsat" still stands and "sat" becomes unknown.

use super::context::{Z3Context, text};
use super::meter::{self, Meter};
use super::value::ModelReader;
use crate::answer::{Backend, Machines, Satisfiability, Smt, SolverSettings, UnknownReason};
use crate::encode::{Encoded, Encoder, EncodingPurpose, EncodingRefusal, EncodingTarget, Head, TargetSort};
use crate::watchdog;
use base::Budget;
use logic::{Node, Op, Symbol, Term, Terms, Value};
use rustc_hash::FxHashMap;
use z3_provider::library::*;

/// Z3 as a back end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Z3InProcess;

impl Backend for Z3InProcess {
    fn name(&self) -> String {
        let (major, minor, build) = z3_provider::Z3_VERSION;
        format!("z3 {major}.{minor}.{build}")
    }
    fn open<'t>(&self, terms: &'t Terms, settings: SolverSettings, budget: &Budget) -> Box<dyn Smt + 't> {
        match Z3::new(terms, settings, budget) {
            Ok(session) => Box::new(session),
            Err(reason) => Box::new(crate::closed::Closed::new(reason)),
        }
    }
}

/// A session with Z3 in this process.
pub struct Z3<'t> {
    encoder: Encoder<'t, Z3Context>,
    solver: Z3_solver,
    params: Z3_params,
    rlimit: Z3_symbol,
    /// The limit of each question as it was asked for, and as it is set now: less where little effort is left.
    limit: u32,
    set: u32,
    meter: Meter,
    budget: Budget,
    scopes: Vec<SessionScope>,
    /// By side: whether it is asserted in some open scope.
    asserted: Vec<bool>,
    model: Option<Z3_model>,
    /// What was asserted when the model was taken, where that scope is left already.
    asserted_for_model: Option<Vec<bool>>,
    core: Vec<Term>,
    proxies: Vec<Z3_ast>,
    questions: u64,
}

#[derive(Default)]
struct SessionScope {
    sides: Vec<u32>,
    refused: Option<EncodingRefusal>,
}

impl<'t> Z3<'t> {
    pub fn new(terms: &'t Terms, settings: SolverSettings, budget: &Budget) -> Result<Self, UnknownReason> {
        let refused = |r: EncodingRefusal| UnknownReason::Broken(r.0);
        let context = Z3Context::new().map_err(refused)?;
        let c = context.raw;
        // SAFETY: calls on a context that only we use; objects are counted until `drop`.
        let (solver, params, rlimit) = unsafe {
            let solver = Z3_mk_simple_solver(c).ok_or_else(|| refused(context.complaint()))?;
            Z3_solver_inc_ref(c, solver);
            let params = Z3_mk_params(c).ok_or_else(|| refused(context.complaint()))?;
            Z3_params_inc_ref(c, params);
            let named = |name: &str| context.string_symbol(name).map_err(refused);
            // Ctrl-C is the tool's, not the solver's.
            Z3_params_set_bool(c, params, named("ctrl_c")?, false);
            Z3_params_set_uint(c, params, named("random_seed")?, settings.seed);
            (solver, params, named("rlimit")?)
        };
        let mut session = Self {
            encoder: Encoder::new(terms, context, settings.machines, EncodingPurpose::Models),
            solver,
            params,
            rlimit,
            limit: settings.limit,
            set: u32::MAX,
            meter: Meter::default(),
            budget: budget.clone(),
            scopes: vec![SessionScope::default()],
            asserted: Vec::new(),
            model: None,
            asserted_for_model: None,
            core: Vec::new(),
            proxies: Vec::new(),
            questions: 0,
        };
        session.set_limit(settings.limit);
        Ok(session)
    }

    /// Sets the limit of the next question, if it is another than before.
    fn limit_to(&mut self, limit: u32) {
        if self.set != limit {
            self.set = limit;
            // SAFETY: parameters and solver belong to the context.
            unsafe {
                Z3_params_set_uint(self.raw(), self.params, self.rlimit, limit);
                Z3_solver_set_params(self.raw(), self.solver, self.params);
            }
        }
    }

    fn raw(&self) -> Z3_context {
        self.encoder.target.raw
    }

    fn forget_model(&mut self) {
        self.asserted_for_model = None;
        if let Some(model) = self.model.take() {
            // SAFETY: counted when it was taken.
            unsafe { Z3_model_dec_ref(self.raw(), model) };
        }
    }

    /// Asserts the sides of an encoded term that no open scope has.
    fn assert_sides(&mut self, encoded: &Encoded<Z3_ast>) {
        let Some(sides) = &encoded.sides else { return };
        for &at in sides.iter() {
            if self.asserted.len() <= at as usize {
                self.asserted.resize(at as usize + 1, false);
            }
            if !self.asserted[at as usize] {
                self.asserted[at as usize] = true;
                self.scopes.last_mut().expect("the outermost scope stays").sides.push(at);
                let side = self.encoder.side(at).expr;
                // SAFETY: solver and term belong to the context.
                unsafe { Z3_solver_assert(self.raw(), self.solver, side) };
            }
        }
    }

    fn encode(&mut self, formula: Term) -> Option<Z3_ast> {
        match self.encoder.encode(formula) {
            Ok(encoded) => {
                self.assert_sides(&encoded);
                Some(encoded.expr)
            }
            Err(refusal) => {
                self.refuse(refusal);
                None
            }
        }
    }

    fn refuse(&mut self, refusal: EncodingRefusal) {
        self.scopes.last_mut().expect("the outermost scope stays").refused.get_or_insert(refusal);
    }

    /// A boolean symbol or the negation of one: what Z3 takes as an assumption as it is.
    fn is_literal(&self, term: Term) -> bool {
        let terms = self.encoder.terms;
        match terms.node(term) {
            Node::Sym(_) => true,
            Node::App(Op::Not, args) => terms.as_symbol(args[0]).is_some(),
            _ => false,
        }
    }

    fn proxy(&mut self, at: usize) -> Result<Z3_ast, EncodingRefusal> {
        while self.proxies.len() <= at {
            let sort = self.encoder.target.sort(&TargetSort::Bool)?;
            let proxy = self.encoder.target.constant(&format!("assumption!{}", self.proxies.len()), sort)?;
            self.proxies.push(proxy);
        }
        Ok(self.proxies[at])
    }

    /// Asks with these assumption literals; takes model and core while the scope is open.
    fn ask(&mut self, literals: &[Z3_ast], assumptions: &[Term]) -> Satisfiability {
        if let Err(why) = self.budget.check() {
            return Satisfiability::Unknown(UnknownReason::Stopped(why));
        }
        let (c, solver) = (self.raw(), self.solver);
        self.limit_to(meter::limit_within(self.limit, &self.budget));
        let said = {
            let _watched = watchdog::guard(c, &self.budget);
            // SAFETY: solver and literals belong to the context; the array lives through the call.
            unsafe {
                if literals.is_empty() {
                    Z3_solver_check(c, solver)
                } else {
                    Z3_solver_check_assumptions(c, solver, literals.len() as u32, literals.as_ptr())
                }
            }
        };
        let failed = self.encoder.target.failed();
        // SAFETY: the solver belongs to the context.
        self.meter.read(c, unsafe { Z3_solver_get_statistics(c, solver) }, &self.budget);
        match said {
            Z3_L_FALSE if !failed => {
                self.core = self.read_core(literals, assumptions);
                Satisfiability::Unsat
            }
            Z3_L_TRUE if !failed => match self.scopes.iter().find_map(|s| s.refused.as_ref()) {
                Some(refusal) => Satisfiability::Unknown(UnknownReason::Refused(refusal.0.clone())),
                None => Satisfiability::Sat,
            },
            _ => Satisfiability::Unknown(self.why_unknown(failed)),
        }
    }

    fn why_unknown(&self, failed: bool) -> UnknownReason {
        if let Err(why) = self.budget.check() {
            return UnknownReason::Stopped(why);
        }
        if failed {
            return UnknownReason::Broken(self.encoder.target.complaint().0);
        }
        // SAFETY: the text is copied at once.
        let explanation = text(unsafe { Z3_solver_get_reason_unknown(self.raw(), self.solver) });
        unknown(explanation)
    }

    fn read_core(&self, literals: &[Z3_ast], assumptions: &[Term]) -> Vec<Term> {
        if literals.is_empty() {
            return Vec::new();
        }
        let c = self.raw();
        // SAFETY: the vector is counted while it is read.
        let core: Option<Vec<Z3_ast>> = unsafe {
            Z3_solver_get_unsat_core(c, self.solver).and_then(|vector| {
                Z3_ast_vector_inc_ref(c, vector);
                let out = (0..Z3_ast_vector_size(c, vector)).map(|i| Z3_ast_vector_get(c, vector, i)).collect();
                Z3_ast_vector_dec_ref(c, vector);
                out
            })
        };
        match core {
            Some(core) => {
                let mut out = Vec::new();
                for (literal, term) in literals.iter().zip(assumptions) {
                    if core.contains(literal) && !out.contains(term) {
                        out.push(*term);
                    }
                }
                out
            }
            // All assumptions are always enough.
            None => assumptions.to_vec(),
        }
    }

    fn take_model(&mut self) {
        if self.model.is_none() {
            // SAFETY: the model is counted until it is forgotten.
            unsafe {
                self.model = Z3_solver_get_model(self.raw(), self.solver);
                if let Some(model) = self.model {
                    Z3_model_inc_ref(self.raw(), model);
                }
            }
        }
    }

    fn value_by_evaluation(&mut self, term: Term) -> Option<Value> {
        let terms = self.encoder.terms;
        if terms.as_symbol(term).is_some() {
            return Some(Value::default_of(terms, terms.sort_of(term)));
        }
        let values: Option<FxHashMap<Symbol, Value>> =
            terms.free_symbols(term).into_iter().map(|s| Some((s, self.value(terms.sym(s))?))).collect();
        logic::eval_term(terms, term, &values?).ok()
    }

    /// Assumes general formulas: each behind a proxy, in a scope of its own that is left before this returns.
    fn check_behind_proxies(&mut self, assumptions: &[Term]) -> Satisfiability {
        self.push();
        let mut literals = Vec::with_capacity(assumptions.len());
        let mut kept = Vec::with_capacity(assumptions.len());
        for (at, term) in assumptions.iter().enumerate() {
            let Some(expr) = self.encode(*term) else { continue };
            let guarded = self.proxy(at).and_then(|p| Ok((p, self.encoder.target.apply(&Head::Implies, &[p, expr])?)));
            match guarded {
                Ok((proxy, implication)) => {
                    // SAFETY: solver and term belong to the context.
                    unsafe { Z3_solver_assert(self.raw(), self.solver, implication) };
                    literals.push(proxy);
                    kept.push(*term);
                }
                Err(refusal) => self.refuse(refusal),
            }
        }
        let answer = self.ask(&literals, &kept);
        if answer.is_sat() {
            self.take_model();
        }
        let (model, core, asserted) = (self.model.take(), std::mem::take(&mut self.core), self.asserted.clone());
        self.pop();
        (self.model, self.core, self.asserted_for_model) = (model, core, Some(asserted));
        answer
    }
}

/// Z3's explanation of an unknown, sorted into reasons.
pub(crate) fn unknown(explanation: String) -> UnknownReason {
    if explanation.contains("resource limit") || explanation.contains("canceled") || explanation.contains("interrupted")
    {
        UnknownReason::Limit
    } else {
        UnknownReason::GaveUp(explanation)
    }
}

impl Smt for Z3<'_> {
    fn push(&mut self) {
        self.forget_model();
        self.scopes.push(SessionScope::default());
        // SAFETY: a call on our own solver.
        unsafe { Z3_solver_push(self.raw(), self.solver) };
    }

    fn pop(&mut self) {
        assert!(self.scopes.len() > 1, "a scope is left that was never entered");
        self.forget_model();
        for at in self.scopes.pop().into_iter().flat_map(|s| s.sides) {
            self.asserted[at as usize] = false;
        }
        // SAFETY: a call on our own solver, with as many pushes before it.
        unsafe { Z3_solver_pop(self.raw(), self.solver, 1) };
        // No expression is in anyone's hands here.
        self.encoder.forget_if_many();
    }

    fn assert(&mut self, formula: Term) {
        self.forget_model();
        if let Some(expr) = self.encode(formula) {
            // SAFETY: solver and term belong to the context.
            unsafe { Z3_solver_assert(self.raw(), self.solver, expr) };
        }
    }

    fn check_assuming(&mut self, assumptions: &[Term]) -> Satisfiability {
        self.forget_model();
        self.core.clear();
        self.questions += 1;
        if !assumptions.iter().all(|a| self.is_literal(*a)) {
            return self.check_behind_proxies(assumptions);
        }
        let mut literals = Vec::with_capacity(assumptions.len());
        for a in assumptions {
            match self.encode(*a) {
                Some(expr) => literals.push(expr),
                None => return Satisfiability::Unknown(UnknownReason::Refused("an assumption".into())),
            }
        }
        self.ask(&literals, assumptions)
    }

    fn value(&mut self, term: Term) -> Option<Value> {
        let sort = self.encoder.terms.sort_of(term);
        let encoded = self.encoder.encode(term).ok()?;
        let asserted = self.asserted_for_model.as_ref().unwrap_or(&self.asserted);
        if encoded.sides.iter().flat_map(|s| s.iter()).any(|at| !asserted.get(*at as usize).is_some_and(|a| *a)) {
            // Z3 does not know the ranges of everything this term reads: only its symbols' values can be used.
            return self.value_by_evaluation(term);
        }
        let expr = encoded.expr;
        self.take_model();
        let model = self.model?;
        let c = self.raw();
        let mut out: Option<Z3_ast> = None;
        // SAFETY: model and term belong to the context; the result is kept with it.
        let value = unsafe {
            // An optional non-null pointer has the layout of a pointer.
            let slot: *mut Option<Z3_ast> = &mut out;
            if !Z3_model_eval(c, model, expr, true, slot.cast()) {
                return None;
            }
            out?
        };
        let value = self.encoder.target.keep(Some(value)).ok()?;
        let reader = ModelReader {
            context: &self.encoder.target,
            model: Some(model),
            terms: self.encoder.terms,
            machines: self.encoder.machines,
            purpose: EncodingPurpose::Models,
        };
        let read = reader.read(value, sort);
        // SAFETY: counted by `keep` just above.
        unsafe { Z3_dec_ref(c, value) };
        read
    }

    fn core(&mut self) -> Vec<Term> {
        self.core.clone()
    }

    fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
        self.limit_to(limit);
    }

    fn questions(&self) -> u64 {
        self.questions
    }
}

impl Drop for Z3<'_> {
    fn drop(&mut self) {
        self.forget_model();
        let c = self.raw();
        // SAFETY: counted when they were made; the context goes after them.
        unsafe {
            Z3_params_dec_ref(c, self.params);
            Z3_solver_dec_ref(c, self.solver);
        }
    }
}

impl Z3<'_> {
    /// How machine integers are encoded in this session.
    pub fn machines(&self) -> Machines {
        self.encoder.machines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Exhausted;
    use logic::{MachineIntSort, Sort, SortKind};
    use std::time::{Duration, Instant};

    fn open(terms: &Terms) -> Z3<'_> {
        Z3::new(terms, SolverSettings::default(), &Budget::unlimited()).expect("z3 is linked")
    }

    #[test]
    fn check_what_is_asserted_in_a_scope_is_forgotten_with_it() {
        let t = Terms::new();
        let u8s = Sort::machine(MachineIntSort { bits: 8, signed: false });
        let x = t.sym(t.symbol("x", u8s));
        let mut smt = open(&t);
        for _ in 0..3 {
            // The range of x is asserted anew in each scope.
            smt.push();
            smt.assert(t.lt(x, t.num(1, u8s)));
            assert_eq!(smt.check(), Satisfiability::Sat);
            assert_eq!(smt.value(x), Some(Value::Int(0)));
            smt.assert(t.ne(x, t.num(0, u8s)));
            assert_eq!(smt.check(), Satisfiability::Unsat);
            smt.pop();
            assert_eq!(smt.check(), Satisfiability::Sat);
        }
    }

    #[test]
    fn check_the_table_may_grow_between_questions() {
        let t = Terms::new();
        let x = t.sym(t.symbol("x", Sort::INT));
        let mut smt = open(&t);
        for n in 0..200 {
            let y = t.sym(t.symbol("y", Sort::INT));
            smt.assert(t.lt(t.add(x, t.int(n)), y));
            assert_eq!(smt.check(), Satisfiability::Sat);
        }
    }

    #[test]
    fn check_a_core_names_the_assumptions_that_matter() {
        let t = Terms::new();
        let (p, q) = (t.sym(t.symbol("p", Sort::BOOL)), t.sym(t.symbol("q", Sort::BOOL)));
        let x = t.sym(t.symbol("x", Sort::INT));
        let mut smt = open(&t);
        smt.assert(t.implies(p, t.lt(x, t.int(0))));
        let positive = t.lt(t.int(5), x);
        assert_eq!(smt.check_assuming(&[q, p, positive]), Satisfiability::Unsat);
        assert_eq!(smt.core(), vec![p, positive]);
        assert_eq!(smt.check_assuming(&[q, t.not(p), positive]), Satisfiability::Sat);
        assert_eq!(smt.value(p), Some(Value::Bool(false)));
        assert!(matches!(smt.value(x), Some(Value::Int(n)) if n > 5));
        assert_eq!(smt.check(), Satisfiability::Sat, "assumptions are for one question only");
        assert_eq!(smt.questions(), 3);
    }

    #[test]
    fn check_the_resource_limit_gives_the_same_answer_every_time() {
        let t = Terms::new();
        let hard = |smt: &mut Z3<'_>| {
            let [x, y, z] = ["x", "y", "z"].map(|n| t.sym(t.symbol(n, Sort::INT)));
            let cube = |a| t.mul(a, t.mul(a, a));
            smt.assert(t.eq(t.add(cube(x), t.add(cube(y), cube(z))), t.int(42)));
            smt.check()
        };
        let mut smt = open(&t);
        smt.set_limit(50_000);
        assert_eq!(hard(&mut smt), Satisfiability::Unknown(UnknownReason::Limit));
        assert_eq!(smt.check(), Satisfiability::Unknown(UnknownReason::Limit));
    }

    #[test]
    fn check_a_budget_stops_a_question_at_once() {
        let t = Terms::new();
        let budget = Budget::unlimited();
        let mut smt =
            Z3::new(&t, SolverSettings { limit: 0, ..SolverSettings::default() }, &budget).expect("z3 is linked");
        let [x, y, z] = ["x", "y", "z"].map(|n| t.sym(t.symbol(n, Sort::INT)));
        let cube = |a| t.mul(a, t.mul(a, a));
        smt.assert(t.eq(t.add(cube(x), t.add(cube(y), cube(z))), t.int(42)));
        let (begin, stop) = (Instant::now(), budget.clone());
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            stop.cancel();
        });
        assert_eq!(smt.check(), Satisfiability::Unknown(UnknownReason::Stopped(Exhausted::Cancelled)));
        assert!(begin.elapsed() < Duration::from_secs(3));
        assert_eq!(
            smt.check(),
            Satisfiability::Unknown(UnknownReason::Stopped(Exhausted::Cancelled)),
            "it stays stopped"
        );
        other.join().unwrap();
    }

    #[test]
    fn check_a_formula_that_cannot_be_told_makes_no_model_and_no_proof() {
        let t = Terms::new();
        let set = t.sort(SortKind::Set(Sort::INT));
        let (s, i) = (t.symbol("s", set), t.symbol("i", Sort::INT));
        // Every set has an element outside of it: true of finite sets, false of arrays of booleans.
        let some_outside = t.forall(&[s], t.exists(&[i], t.not(t.member(t.sym(i), t.sym(s)))));
        let mut smt = open(&t);
        smt.push();
        smt.assert(some_outside);
        assert!(matches!(smt.check(), Satisfiability::Unknown(UnknownReason::Refused(_))));
        smt.assert(t.ff());
        assert_eq!(smt.check(), Satisfiability::Unsat, "the rest is enough");
        smt.pop();
        assert_eq!(smt.check(), Satisfiability::Sat);
    }

    #[test]
    fn check_quantifiers_over_machine_integers_keep_their_range() {
        let t = Terms::new();
        let u8s = Sort::machine(MachineIntSort { bits: 8, signed: false });
        let i = t.symbol("i", u8s);
        for machines in [Machines::Integers, Machines::BitVectors] {
            let settings = SolverSettings { machines, ..SolverSettings::default() };
            let mut smt = Z3::new(&t, settings, &Budget::unlimited()).expect("z3 is linked");
            smt.assert(t.not(t.forall(&[i], t.le(t.cast(t.sym(i), Sort::INT), t.int(255)))));
            assert_eq!(smt.check(), Satisfiability::Unsat);
        }
    }

    #[test]
    fn check_sessions_on_two_threads_do_not_meet() {
        let work = || {
            let t = Terms::new();
            let x = t.sym(t.symbol("x", Sort::INT));
            let mut smt = open(&t);
            for n in 0..200 {
                smt.push();
                smt.assert(t.eq(x, t.int(n)));
                assert_eq!(smt.check(), Satisfiability::Sat);
                assert_eq!(smt.value(x), Some(Value::Int(n)));
                smt.pop();
            }
        };
        let other = std::thread::spawn(work);
        work();
        other.join().unwrap();
    }
}
