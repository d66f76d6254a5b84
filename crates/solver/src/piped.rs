//! Sessions with a solver behind a pipe: the second opinion, and any other solver that reads SMT-LIB.
//!
//! In: formulas. Out: answers read from text. The whole question is sent for each check after a `(reset)`, so that
//! nothing depends on what the process remembers; one process serves many sessions, one after the other. Only the
//! three answers of the standard are answers; anything more or else is a broken solver.
//! Deliberately absent: small cores; `core` gives all assumptions, which are always enough.

use crate::answer::{Backend, Satisfiability, Smt, SolverSettings, UnknownReason};
use crate::encode::{Encoder, EncodingPurpose, EncodingRefusal};
use crate::identity;
use crate::pipe::Pipe;
use crate::sexpr::Sexpr;
use crate::smtlib::{Dialect, SmtPiece, Text, prelude};
use base::Budget;
use logic::{Symbol, Term, Terms, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A back end that starts a command and speaks SMT-LIB with it.
#[derive(Clone)]
pub struct PipeSolver {
    name: String,
    command: Vec<String>,
    dialect: Dialect,
    /// Further options, as SMT-LIB writes them: `:smt.arith.solver 2`.
    options: Vec<String>,
    longest: Duration,
    /// A process that is not in use.
    idle: Arc<Mutex<Option<Pipe>>>,
}

/// A process that has not answered for so long is taken to hang: far beyond what the resource limit allows.
const MAX_QUESTION_TIME: Duration = Duration::from_secs(120);

impl PipeSolver {
    pub fn new(name: impl Into<String>, command: Vec<String>, dialect: Dialect) -> Self {
        Self {
            name: name.into(),
            command,
            dialect,
            options: Vec::new(),
            longest: MAX_QUESTION_TIME,
            idle: Arc::new(Mutex::new(None)),
        }
    }

    /// cvc5, if this machine has it. A program that the user names must say that it is cvc5.
    pub fn cvc5() -> Option<Self> {
        let name = match identity::named_cvc5() {
            None => "cvc5".into(),
            Some(named) => named.ok()?,
        };
        Some(Self::new(name, z3_provider::cvc5_command()?, Dialect::Cvc5))
    }

    /// Z3 in a process of its own, with another arithmetic than the session in our process uses.
    pub(crate) fn z3() -> Option<Self> {
        let mut solver = Self::new("z3 in its own process", z3_provider::z3_command()?, Dialect::Z3);
        solver.options = vec![":smt.arith.solver 2".into()];
        Some(solver)
    }

    /// How long a process may be silent before it is taken to hang.
    #[cfg(test)]
    pub(crate) fn with_longest(mut self, longest: Duration) -> Self {
        self.longest = longest;
        self
    }

    fn session<'t>(&self, terms: &'t Terms, settings: SolverSettings, budget: &Budget) -> Piped<'t> {
        Piped {
            solver: self.clone(),
            pipe: None,
            encoder: Encoder::new(terms, Text::new(self.dialect), settings.machines, EncodingPurpose::Models),
            settings,
            budget: budget.clone(),
            scopes: vec![Vec::new()],
            declared: FxHashSet::default(),
            answered: false,
            assumed: Vec::new(),
            questions: 0,
        }
    }
}

impl Backend for PipeSolver {
    fn name(&self) -> String {
        self.name.clone()
    }
    fn open<'t>(&self, terms: &'t Terms, settings: SolverSettings, budget: &Budget) -> Box<dyn Smt + 't> {
        Box::new(self.session(terms, settings, budget))
    }
}

struct Piped<'t> {
    solver: PipeSolver,
    pipe: Option<Pipe>,
    encoder: Encoder<'t, Text>,
    settings: SolverSettings,
    budget: Budget,
    scopes: Vec<Vec<Term>>,
    /// Constants that the process knows since the last question.
    declared: FxHashSet<u32>,
    /// Whether the last answer was `Sat` and the process still holds its model.
    answered: bool,
    assumed: Vec<Term>,
    questions: u64,
}

impl Piped<'_> {
    fn take_idle(&self) -> Option<Pipe> {
        self.solver.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }

    /// Runs a script; a process that failed is ended.
    fn run(&mut self, script: &str) -> Result<Vec<String>, UnknownReason> {
        let mut pipe = match self.pipe.take().or_else(|| self.take_idle()) {
            Some(pipe) => pipe,
            None => Pipe::start(&self.solver.command)?,
        };
        let lines = pipe.ask(script, &self.budget, self.solver.longest)?;
        if let Some(error) = lines.iter().find(|l| l.trim_start().starts_with("(error")) {
            let error: String = error.trim().chars().take(300).collect();
            return Err(UnknownReason::Broken(error));
        }
        self.pipe = Some(pipe);
        Ok(lines)
    }

    /// Encodes everything asserted; what is refused is left out and named.
    fn roots(&mut self, assumptions: &[Term]) -> (Vec<u32>, Option<EncodingRefusal>) {
        let (mut roots, mut sides, mut refused) = (Vec::new(), FxHashSet::default(), None);
        let formulas: Vec<Term> = self.scopes.iter().flatten().chain(assumptions).copied().collect();
        for f in formulas {
            match self.encoder.encode(f) {
                Ok(encoded) => {
                    for at in encoded.sides.iter().flat_map(|s| s.iter()) {
                        if sides.insert(*at) {
                            roots.push(self.encoder.side(*at).expr);
                        }
                    }
                    roots.push(encoded.expr);
                }
                Err(refusal) => refused = refused.or(Some(refusal)),
            }
        }
        (roots, refused)
    }

    fn question(&mut self, assumptions: &[Term]) -> Result<Satisfiability, UnknownReason> {
        self.budget.check().map_err(UnknownReason::Stopped)?;
        let (roots, refused) = self.roots(assumptions);
        let text = &self.encoder.target;
        self.declared = text.constants(&roots).into_iter().collect();
        let prelude = prelude(self.solver.dialect, self.settings, &self.solver.options);
        let script = format!("(reset)\n{prelude}{}(check-sat)\n", text.script(&roots));
        let lines = self.run(&script)?;
        let [said] = &lines[..] else {
            return Err(UnknownReason::Broken(format!("{} lines where one answer was due", lines.len())));
        };
        match (said.trim(), refused) {
            ("unsat", _) => Ok(Satisfiability::Unsat),
            ("sat", None) => Ok(Satisfiability::Sat),
            ("sat", Some(refusal)) => Err(UnknownReason::Refused(refusal.0)),
            (line, _) if line == "unknown" || line.starts_with("unknown (") => {
                let limit = line.contains("RESOURCEOUT");
                Err(if limit { UnknownReason::Limit } else { self.why_unknown() })
            }
            (other, _) => {
                Err(UnknownReason::Broken(format!("it said {:?}", other.chars().take(80).collect::<String>())))
            }
        }
    }

    fn why_unknown(&mut self) -> UnknownReason {
        match self.run("(get-info :reason-unknown)\n") {
            Ok(lines) => {
                let line = lines.join(" ");
                let limit = line.contains("resource") || line.contains("canceled");
                if limit { UnknownReason::Limit } else { UnknownReason::GaveUp(line.chars().take(200).collect()) }
            }
            Err(reason) => reason,
        }
    }

    fn symbol_value(&mut self, symbol: Symbol) -> Option<Value> {
        let sort = self.encoder.terms.symbol_sort(symbol);
        let at = self.encoder.symbol(symbol).ok()?;
        if !self.declared.contains(&at) {
            // Nothing asserted speaks of it: any value will do.
            return Some(Value::default_of(self.encoder.terms, sort));
        }
        let SmtPiece::Constant(name, _) = self.encoder.target.piece(at) else { return None };
        let lines = self.run(&format!("(get-value ({name}))\n")).ok()?;
        let read = Sexpr::read(&lines.join(" "))?;
        let value = read.list()?.first()?.list()?.get(1)?;
        value.value(self.encoder.terms, self.settings.machines, sort)
    }
}

impl Smt for Piped<'_> {
    fn push(&mut self) {
        self.scopes.push(Vec::new());
    }

    fn pop(&mut self) {
        assert!(self.scopes.len() > 1, "a scope is left that was never entered");
        self.scopes.pop();
    }

    fn assert(&mut self, formula: Term) {
        self.scopes.last_mut().expect("the outermost scope stays").push(formula);
    }

    fn check_assuming(&mut self, assumptions: &[Term]) -> Satisfiability {
        self.questions += 1;
        self.assumed = assumptions.to_vec();
        let answer = self.question(assumptions).unwrap_or_else(Satisfiability::Unknown);
        self.answered = answer.is_sat();
        answer
    }

    fn value(&mut self, term: Term) -> Option<Value> {
        if !self.answered {
            return None;
        }
        let terms = self.encoder.terms;
        if let Some(symbol) = terms.as_symbol(term) {
            return self.symbol_value(symbol);
        }
        let values: Option<FxHashMap<Symbol, Value>> =
            terms.free_symbols(term).into_iter().map(|s| Some((s, self.symbol_value(s)?))).collect();
        logic::eval_term(terms, term, &values?).ok()
    }

    fn core(&mut self) -> Vec<Term> {
        self.assumed.clone()
    }

    fn set_limit(&mut self, limit: u32) {
        self.settings.limit = limit;
    }

    fn questions(&self) -> u64 {
        self.questions
    }
}

impl Drop for Piped<'_> {
    fn drop(&mut self) {
        // A healthy process is kept for the next session.
        if let Some(pipe) = self.pipe.take() {
            *self.solver.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(pipe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logic::Sort;
    use std::time::Instant;

    fn shell(script: &str) -> PipeSolver {
        PipeSolver::new("fake", vec!["sh".into(), "-c".into(), script.into()], Dialect::Z3)
            .with_longest(Duration::from_millis(400))
    }

    /// Reads everything and answers each echo with its mark, after `said`.
    fn answering(said: &str) -> PipeSolver {
        shell(&format!(
            "while read -r line; do case \"$line\" in *end-of-answer*) printf '%s\\n' {said}; \
             echo \"$line\" | sed 's/.*\"\\(.*\\)\".*/\\1/';; esac; done"
        ))
    }

    fn ask(solver: &PipeSolver) -> Satisfiability {
        let terms = Terms::new();
        let mut smt = solver.open(&terms, SolverSettings::default(), &Budget::unlimited());
        smt.assert(terms.ff());
        smt.check()
    }

    #[test]
    fn check_a_plain_answer_is_taken() {
        assert_eq!(ask(&answering("sat")), Satisfiability::Sat);
        assert_eq!(ask(&answering("unsat")), Satisfiability::Unsat);
    }

    #[test]
    fn check_anything_else_is_no_answer() {
        let sayings =
            ["UNSAT", "unsat unsat", "'(error \"x\")' unsat", "unsat sat", "success", "'unsat '\"'\"'", "''", "unsa"];
        for said in sayings {
            assert!(matches!(ask(&answering(said)), Satisfiability::Unknown(UnknownReason::Broken(_))), "{said}");
        }
    }

    #[test]
    fn check_a_crashing_hanging_or_missing_solver_is_no_answer() {
        for script in
            ["exit 1", "echo unsat; exit 0", "kill -9 $$", "sleep 100", "exec yes unsat", "exec <&-; sleep 100"]
        {
            let begin = Instant::now();
            assert!(matches!(ask(&shell(script)), Satisfiability::Unknown(UnknownReason::Broken(_))), "{script}");
            assert!(begin.elapsed() < Duration::from_secs(10), "{script}");
        }
        let missing = PipeSolver::new("none", vec!["/nowhere/solver".into()], Dialect::Z3);
        assert!(matches!(ask(&missing), Satisfiability::Unknown(UnknownReason::Broken(_))));
    }

    #[test]
    fn check_cancelling_stops_a_pipe_at_once() {
        let terms = Terms::new();
        let budget = Budget::unlimited();
        let solver = shell("sleep 100").with_longest(Duration::from_secs(60));
        let mut smt = solver.open(&terms, SolverSettings::default(), &budget);
        let begin = Instant::now();
        let stop = budget.clone();
        let waiting = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            stop.cancel();
        });
        assert_eq!(smt.check(), Satisfiability::Unknown(UnknownReason::Stopped(base::Exhausted::Cancelled)));
        assert!(begin.elapsed() < Duration::from_secs(5));
        waiting.join().unwrap();
    }

    #[test]
    fn check_one_process_serves_many_sessions() {
        let solver = PipeSolver::z3().expect("the build brought z3");
        let begin = Instant::now();
        for n in 0..50 {
            let terms = Terms::new();
            let x = terms.sym(terms.symbol("x", Sort::INT));
            let mut smt = solver.open(&terms, SolverSettings::default(), &Budget::unlimited());
            smt.assert(terms.eq(x, terms.int(n)));
            assert_eq!(smt.check(), Satisfiability::Sat);
            assert_eq!(smt.value(x), Some(Value::Int(n)));
            smt.assert(terms.lt(x, terms.int(n)));
            assert_eq!(smt.check(), Satisfiability::Unsat);
        }
        assert!(begin.elapsed() < Duration::from_secs(20));
    }
}
