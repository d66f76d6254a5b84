//! Questions as SMT-LIB 2.6 text: for the second solver, and for people who want to see what was asked.
//!
//! In: terms. Out: text that is the same for the same terms, with shared subterms bound by `let`, so that it is never
//! longer than the graph. Sets go beyond the standard: cvc5 has a theory of finite sets, Z3 takes arrays of booleans.
//! Deliberately absent: reading SMT-LIB problems; only answers are read (see `sexpr`).

mod print;

use crate::answer::SolverSettings;
use crate::encode::{EncodingRefusal, EncodingTarget, Head, TargetSort};
use logic::{Quantifier, Symbol};
use rustc_hash::{FxHashMap, FxHashSet};

/// Whose SMT-LIB is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Z3,
    Cvc5,
}

/// Options and logic. One resource unit of Z3 is a small step, one of cvc5 a large one.
pub(crate) fn prelude(dialect: Dialect, settings: SolverSettings, options: &[String]) -> String {
    let mut out = String::from("(set-option :produce-models true)\n");
    match dialect {
        Dialect::Z3 => {
            out.push_str(&format!("(set-option :rlimit {})\n", settings.limit));
            out.push_str(&format!("(set-option :smt.random_seed {})\n", settings.seed));
        }
        Dialect::Cvc5 => {
            if settings.limit > 0 {
                out.push_str(&format!("(set-option :rlimit-per {})\n", (settings.limit / CVC5_UNIT).max(1)));
            }
            out.push_str(&format!("(set-option :seed {})\n", settings.seed));
            // Constant arrays and quantifiers with models are behind switches.
            out.push_str("(set-option :arrays-exp true)\n");
        }
    }
    for option in options {
        out.push_str(&format!("(set-option {option})\n"));
    }
    out.push_str("(set-logic ALL)\n");
    out
}

/// How many units of Z3 take about the time of one unit of cvc5 (measured on small arithmetic).
const CVC5_UNIT: u32 = 20;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SmtPiece {
    Atom(String),
    /// Name and sort as text.
    Constant(String, String),
    Apply(String, Box<[u32]>),
    Quantify(Quantifier, Box<[u32]>, u32),
}

/// A graph of text pieces as a target of the encoder; a piece's arguments are older than it.
pub(crate) struct Text {
    dialect: Dialect,
    pieces: Vec<SmtPiece>,
    table: FxHashMap<SmtPiece, u32>,
    /// Constants that some quantifier binds.
    bound: FxHashSet<u32>,
}

impl Text {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self { dialect, pieces: Vec::new(), table: FxHashMap::default(), bound: FxHashSet::default() }
    }

    pub(crate) fn piece(&self, at: u32) -> &SmtPiece {
        &self.pieces[at as usize]
    }

    fn add(&mut self, piece: SmtPiece) -> u32 {
        if let Some(at) = self.table.get(&piece) {
            return *at;
        }
        let at = u32::try_from(self.pieces.len()).expect("fewer than 2^32 pieces");
        self.pieces.push(piece.clone());
        self.table.insert(piece, at);
        at
    }

    fn atom(&mut self, text: impl Into<String>) -> u32 {
        self.add(SmtPiece::Atom(text.into()))
    }

    fn call(&mut self, head: impl Into<String>, args: &[u32]) -> u32 {
        self.add(SmtPiece::Apply(head.into(), args.into()))
    }

    fn sort(&self, shape: &TargetSort) -> String {
        match shape {
            TargetSort::Bool => "Bool".into(),
            TargetSort::Int => "Int".into(),
            TargetSort::Bits(width) => format!("(_ BitVec {width})"),
            TargetSort::Array(k, v) => format!("(Array {} {})", self.sort(k), self.sort(v)),
            TargetSort::Set(e) if self.dialect == Dialect::Cvc5 => format!("(Set {})", self.sort(e)),
            TargetSort::Set(e) => format!("(Array {} Bool)", self.sort(e)),
            TargetSort::Seq(e) => format!("(Seq {})", self.sort(e)),
        }
    }

    /// Whether a piece is a literal value.
    fn is_value(&self, at: u32) -> bool {
        match self.piece(at) {
            SmtPiece::Atom(_) => true,
            SmtPiece::Constant(..) | SmtPiece::Quantify(..) => false,
            SmtPiece::Apply(head, args) => {
                (head == "-" || head.starts_with("(as const")) && args.len() == 1 && self.is_value(args[0])
            }
        }
    }

    fn set(&mut self, head: &Head, a: &[u32]) -> u32 {
        let cvc5 = self.dialect == Dialect::Cvc5;
        match head {
            Head::EmptySet(shape) if cvc5 => {
                let sort = self.sort(shape);
                self.atom(format!("(as set.empty {sort})"))
            }
            Head::EmptySet(shape) => {
                let (sort, no) = (self.sort(shape), self.atom("false"));
                self.call(format!("(as const {sort})"), &[no])
            }
            Head::Member if cvc5 => self.call("set.member", a),
            Head::Member => self.call("select", &[a[1], a[0]]),
            Head::Insert if cvc5 => self.call("set.insert", a),
            Head::Insert => {
                let yes = self.atom("true");
                self.call("store", &[a[1], a[0], yes])
            }
            Head::Union => self.call(if cvc5 { "set.union" } else { "(_ map or)" }, a),
            Head::Minus if cvc5 => self.call("set.minus", a),
            Head::Minus => {
                let others = self.call("(_ map not)", &[a[1]]);
                self.call("(_ map and)", &[a[0], others])
            }
            Head::Subset if cvc5 => self.call("set.subset", a),
            _ => {
                // Inclusion as an equation needs no quantifier.
                let both = self.call("(_ map or)", a);
                self.call("=", &[both, a[1]])
            }
        }
    }
}

impl EncodingTarget for Text {
    type Expr = u32;
    /// Only cvc5's are; the others are treated as Z3's arrays are.
    const FINITE_SETS: bool = false;

    fn boolean(&mut self, value: bool) -> Result<u32, EncodingRefusal> {
        Ok(self.atom(if value { "true" } else { "false" }))
    }

    fn int(&mut self, value: i128) -> Result<u32, EncodingRefusal> {
        if value >= 0 {
            return Ok(self.atom(value.to_string()));
        }
        let digits = self.atom(value.unsigned_abs().to_string());
        Ok(self.call("-", &[digits]))
    }

    fn bits(&mut self, value: u128, width: u32) -> Result<u32, EncodingRefusal> {
        Ok(self.atom(format!("(_ bv{value} {width})")))
    }

    fn symbol(&mut self, symbol: Symbol, name: &str, shape: &TargetSort) -> Result<u32, EncodingRefusal> {
        // Any other character may stand in a quoted name; the number distinguishes symbols of one name.
        let name: String = name
            .chars()
            .map(|c| if matches!(c, '|' | '\\') || c.is_control() || !c.is_ascii() { '_' } else { c })
            .collect();
        let sort = self.sort(shape);
        Ok(self.add(SmtPiece::Constant(format!("|{name}#{}|", symbol.0), sort)))
    }

    fn apply(&mut self, head: &Head, a: &[u32]) -> Result<u32, EncodingRefusal> {
        let name = match head {
            Head::Not => "not",
            Head::And => "and",
            Head::Or => "or",
            Head::Implies => "=>",
            Head::Ite => "ite",
            Head::Eq => "=",
            Head::Lt => "<",
            Head::Le => "<=",
            Head::Add => "+",
            Head::Sub | Head::Neg => "-",
            Head::Mul => "*",
            Head::Div => "div",
            Head::Mod => "mod",
            Head::Select => "select",
            Head::Store => "store",
            Head::ConstArray(shape) => {
                if self.dialect == Dialect::Cvc5 && !self.is_value(a[0]) {
                    return Err(EncodingRefusal::new("a constant map of a value that is no literal"));
                }
                let sort = self.sort(shape);
                return Ok(self.call(format!("(as const {sort})"), a));
            }
            Head::Finite if self.dialect == Dialect::Cvc5 => return self.boolean(true),
            Head::Finite => {
                let almost = self.call("default", a);
                return Ok(self.call("not", &[almost]));
            }
            Head::EmptySet(_) | Head::Member | Head::Insert | Head::Union | Head::Minus | Head::Subset => {
                return Ok(self.set(head, a));
            }
            Head::EmptySeq(shape) => {
                let sort = self.sort(shape);
                return Ok(self.atom(format!("(as seq.empty {sort})")));
            }
            Head::Unit => "seq.unit",
            Head::Concat => "seq.++",
            Head::Len => "seq.len",
            Head::Nth => "seq.nth",
            Head::Extract => "seq.extract",
            Head::IntToBits(width) => return Ok(self.call(format!("(_ int_to_bv {width})"), a)),
            Head::BitsToNat => "ubv_to_int",
            Head::BitsToInt => "sbv_to_int",
            Head::BvAdd => "bvadd",
            Head::BvSub => "bvsub",
            Head::BvMul => "bvmul",
            Head::BvNeg => "bvneg",
            Head::BvAnd => "bvand",
            Head::BvOr => "bvor",
            Head::BvXor => "bvxor",
            Head::BvNot => "bvnot",
            Head::BvShl => "bvshl",
            Head::BvLshr => "bvlshr",
            Head::BvAshr => "bvashr",
            Head::BvUdiv => "bvudiv",
            Head::BvUrem => "bvurem",
            Head::BvSdiv => "bvsdiv",
            Head::BvSrem => "bvsrem",
            Head::BvUlt => "bvult",
            Head::BvUle => "bvule",
            Head::BvSlt => "bvslt",
            Head::BvSle => "bvsle",
            Head::ZeroExtend(by) => return Ok(self.call(format!("(_ zero_extend {by})"), a)),
            Head::SignExtend(by) => return Ok(self.call(format!("(_ sign_extend {by})"), a)),
            Head::BvExtract(high, low) => return Ok(self.call(format!("(_ extract {high} {low})"), a)),
        };
        // A junction of one is itself; the standard wants two arguments.
        if let ([one], "and" | "or") = (a, name) {
            return Ok(*one);
        }
        Ok(self.call(name, a))
    }

    fn quantify(&mut self, q: Quantifier, bound: &[u32], body: u32) -> Result<u32, EncodingRefusal> {
        self.bound.extend(bound);
        Ok(self.add(SmtPiece::Quantify(q, bound.into(), body)))
    }
}
