//! "Did you mean": the known name that is nearest to a mistyped one.
//!
//! In: a wrong name and all known ones. Out: the nearest, if it is near enough to be meant.

/// The nearest of some names, if it is near enough to be a slip. Of equals the first in the given order.
pub(crate) fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The cost is quadratic in the length, and no slip is a hundred letters long.
    if wrong.len() > 100 {
        return None;
    }
    let most = (wrong.chars().count() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for name in names {
        if name.len().abs_diff(wrong.len()) > most || name.is_empty() {
            continue;
        }
        let same_letters = name.eq_ignore_ascii_case(wrong);
        let distance = if same_letters { 0 } else { distance(wrong, name) };
        // One wrong letter is all of a one-letter name.
        let near = distance <= most && distance < name.chars().count();
        if near && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

/// What a word of another language is called here, as a hint.
pub(crate) fn foreign_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "integer" | "Integer" | "long" | "short" | "byte" | "uint" | "unsigned" | "float" | "double" => {
            "numbers are `int`, which has no bounds, or `i32`, `u8` and the like, which wrap"
        }
        "boolean" | "Boolean" => "did you mean `bool`?",
        "mutex" | "Mutex" | "pthread_mutex_t" => "did you mean `lock`?",
        "string" | "String" | "char" => "the language has no texts; use numbers or an `enum`",
        "and" => "conjunction is written `&&`",
        "or" => "disjunction is written `||`",
        "not" => "negation is written `!`",
        "for" | "do" | "loop" | "until" | "repeat" => "the only loop is `while e { .. }`",
        "lock" | "synchronized" => "a lock is taken by `acquire m;`",
        "unlock" => "a lock is given back by `release m;`",
        "wait" | "await" => "`assume e;` waits until `e` holds",
        "let" | "local" => "a variable is declared by `var x: int := e;`",
        "switch" | "case" | "elif" | "elseif" => "write `if e { .. } else if f { .. } else { .. }`",
        "function" | "fn" | "def" | "void" | "func" => {
            "a procedure is declared by `proc p(a: int) returns (r: int) { .. }`"
        }
        "process" | "proctype" => "a thread is declared by `thread T { .. }`",
        "print" | "printf" => "a program prints nothing; `assert e;` says what must hold",
        _ => return None,
    })
}

/// Letters to insert, delete, replace, or swap with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut two_ago: Vec<usize> = Vec::new();
    let mut before: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut now = vec![i];
        for j in 1..=b.len() {
            let replaced = before[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(before[j] + 1).min(now[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(two_ago[j - 2] + 1);
            }
            now.push(least);
        }
        two_ago = std::mem::replace(&mut before, now);
    }
    before[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_slips_are_found_and_strangers_are_not() {
        let names = ["count", "m", "stoppingFlag", "x"];
        assert_eq!(nearest("cuont", names), Some("count"));
        assert_eq!(nearest("counter", names), Some("count"));
        assert_eq!(nearest("stopingflag", names), Some("stoppingFlag"));
        assert_eq!(nearest("COUNT", names), Some("count"));
        assert_eq!(nearest("y", names), None);
        assert_eq!(nearest("total", names), None);
    }
}
