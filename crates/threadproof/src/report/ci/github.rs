//! Findings as commands of GitHub's workflows, which it shows at the lines of a change.
//!
//! In: the board's record. Out: one line for each finding that is new. Deliberately absent: what a baseline knows.

use super::{CiFinding, Severity, findings};
use crate::board::RunRecord;

pub fn annotations(record: &RunRecord) -> String {
    findings(record).iter().filter(|f| !f.is_known).map(annotation).collect()
}

fn annotation(finding: &CiFinding) -> String {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let place = &finding.place;
    format!(
        "::{level} file={},line={},col={},title={}::{}\n",
        in_property(&place.file),
        place.line,
        place.column,
        in_property(&format!("threadproof {}", finding.rule)),
        in_message(&finding.message)
    )
}

fn in_message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn in_property(text: &str) -> String {
    in_message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_a_text_cannot_end_its_command() {
        assert_eq!(in_message("a\nb 100%"), "a%0Ab 100%25");
        assert_eq!(in_property("a,b:c\n"), "a%2Cb%3Ac%0A");
    }
}
