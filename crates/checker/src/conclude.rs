//! temp
pub struct Checked;
pub struct Checker;
