//! Exact rationals of 128 bits. Every operation may overflow, and then says so: nothing is ever rounded.
//!
//! In: whole numbers and rationals. Out: sums, products, quotients in lowest terms, or nothing.

/// A rational in lowest terms, its denominator positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rational {
    over: i128,
    under: i128,
}

pub(crate) fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a as i128
}

impl Rational {
    pub(super) const ZERO: Rational = Rational { over: 0, under: 1 };
    pub(crate) const ONE: Rational = Rational { over: 1, under: 1 };

    pub(super) fn int(n: i128) -> Self {
        Self { over: n, under: 1 }
    }
    fn new(over: i128, under: i128) -> Option<Self> {
        if under == 1 {
            return Some(Self { over, under });
        }
        let g = gcd(over, under);
        let (over, under) = (over.checked_div(g)?, under.checked_div(g)?);
        if under < 0 {
            Some(Self { over: over.checked_neg()?, under: under.checked_neg()? })
        } else {
            Some(Self { over, under })
        }
    }
    pub(crate) fn over(self) -> i128 {
        self.over
    }
    pub(super) fn under(self) -> i128 {
        self.under
    }
    pub(super) fn is_zero(self) -> bool {
        self.over == 0
    }
    pub(crate) fn is_positive(self) -> bool {
        self.over > 0
    }
    pub(super) fn is_integer(self) -> bool {
        self.under == 1
    }
    pub(super) fn floor(self) -> i128 {
        self.over.div_euclid(self.under)
    }
    pub(super) fn add(self, o: Self) -> Option<Self> {
        if self.under == o.under {
            return Self::new(self.over.checked_add(o.over)?, self.under);
        }
        let over = self.over.checked_mul(o.under)?.checked_add(o.over.checked_mul(self.under)?)?;
        Self::new(over, self.under.checked_mul(o.under)?)
    }
    pub(super) fn sub(self, o: Self) -> Option<Self> {
        self.add(o.neg()?)
    }
    pub(crate) fn neg(self) -> Option<Self> {
        Some(Self { over: self.over.checked_neg()?, under: self.under })
    }
    pub(super) fn mul(self, o: Self) -> Option<Self> {
        Self::new(self.over.checked_mul(o.over)?, self.under.checked_mul(o.under)?)
    }
    /// `None` also for a division by zero.
    pub(super) fn div(self, o: Self) -> Option<Self> {
        if o.is_zero() {
            return None;
        }
        Self::new(self.over.checked_mul(o.under)?, self.under.checked_mul(o.over)?)
    }
    pub(super) fn abs(self) -> Option<Self> {
        Some(Self { over: self.over.checked_abs()?, under: self.under })
    }
    pub(crate) fn less(self, o: Self) -> Option<bool> {
        if self.under == o.under {
            return Some(self.over < o.over);
        }
        Some(self.over.checked_mul(o.under)? < o.over.checked_mul(self.under)?)
    }
}
