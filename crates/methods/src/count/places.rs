//! Place invariants: linear equations that every transition keeps, found by exact elimination.
//!
//! In: for each transition, by how much each quantity (a counter, an integer variable, the truth of a boolean, whether a
//! single thread is at a location) changes; `None` where that is not constant. Out: a basis of the weightings under which no
//! transition changes the weighted sum. Quantities with some non-constant change are left out. Exact rationals of 128
//! bits; on overflow the basis is given up (it is only ever a lemma that makes the solver's work lighter).

/// One row: change of each quantity.
pub(crate) type Row = Vec<i128>;

/// Integer vectors that span the null space of the rows, in a fixed order.
pub(crate) fn null_space(rows: &[Row], width: usize) -> Option<Vec<Vec<i128>>> {
    let mut m: Vec<Vec<i128>> = Vec::new();
    let mut pivots: Vec<usize> = Vec::new();
    for row in rows {
        let mut r = row.clone();
        for (p, at) in m.iter().zip(&pivots) {
            r = eliminate(&r, p, *at)?;
        }
        let Some(at) = r.iter().position(|x| *x != 0) else { continue };
        normalise(&mut r);
        for p in m.iter_mut() {
            *p = eliminate(p, &r, at)?;
        }
        m.push(r);
        pivots.push(at);
    }
    let mut out = Vec::new();
    for free in (0..width).filter(|c| !pivots.contains(c)) {
        // x_free = 1; each pivot row gives pivot * x_pivot + coefficient * 1 = 0. Scale to integers.
        let mut scale: i128 = 1;
        for (row, at) in m.iter().zip(&pivots) {
            scale = lcm(scale, row[*at].checked_abs()?)?;
        }
        let mut v = vec![0; width];
        v[free] = scale;
        for (row, at) in m.iter().zip(&pivots) {
            v[*at] = row[free].checked_mul(scale)?.checked_neg()? / row[*at];
        }
        normalise(&mut v);
        out.push(v);
    }
    Some(out)
}

/// `row` with column `at` cleared by a multiple of `pivot`.
fn eliminate(row: &[i128], pivot: &[i128], at: usize) -> Option<Row> {
    if row[at] == 0 {
        return Some(row.to_vec());
    }
    let (a, b) = (row[at], pivot[at]);
    let mut out = Vec::with_capacity(row.len());
    for (x, y) in row.iter().zip(pivot) {
        out.push(x.checked_mul(b)?.checked_sub(y.checked_mul(a)?)?);
    }
    normalise(&mut out);
    Some(out)
}

/// Divides by the greatest common divisor; the first non-zero entry becomes positive.
fn normalise(v: &mut [i128]) {
    let g = v.iter().fold(0, |g, x| gcd(g, x.unsigned_abs()));
    if g == 0 {
        return;
    }
    let sign = if v.iter().find(|x| **x != 0).is_some_and(|x| *x < 0) { -1 } else { 1 };
    for x in v.iter_mut() {
        *x = *x / g as i128 * sign;
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn lcm(a: i128, b: i128) -> Option<i128> {
    (a / gcd(a.unsigned_abs(), b.unsigned_abs()) as i128).checked_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_every_vector_is_orthogonal_to_every_row() {
        let rows = vec![vec![1, -1, 0, 2], vec![0, 3, -3, 1], vec![1, 2, -3, 3]];
        let basis = null_space(&rows, 4).unwrap();
        assert_eq!(basis.len(), 2);
        for v in basis {
            for r in &rows {
                assert_eq!(r.iter().zip(&v).map(|(a, b)| a * b).sum::<i128>(), 0);
            }
        }
    }

    #[test]
    fn check_no_rows_give_the_unit_vectors() {
        assert_eq!(null_space(&[], 2).unwrap(), vec![vec![1, 0], vec![0, 1]]);
    }
}
