//! What may be opened at all.

use super::candidates::Name;

/// Variable with names that are not to be loaded, separated by commas.
pub const DENY: &str = "DINRAIL_DENY";

/// Which files may be opened. Names are compared without regard to case.
///
/// A name means `cpu` (all variants), `cpu-haswell` (one), `ggml-cpu-haswell` (one, of ggml's), or a whole file name.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Names that are not opened.
    pub deny: Vec<String>,
    /// If there are any, only these are opened. `deny` comes first.
    pub allow: Vec<String>,
    /// Also opens files that other users can change. For containers whose files belong to a user outside.
    pub writable_by_others: bool,
}

impl Policy {
    /// Why a file must not be opened.
    pub(crate) fn denies(&self, name: &Name) -> Option<String> {
        if let Some(deny) = self.deny.iter().find(|d| name.answers_to(d)) {
            return Some(format!("`{deny}` is denied"));
        }
        if !self.allow.is_empty() && !self.allow.iter().any(|a| name.answers_to(a)) {
            return Some(format!("only {} allowed", listed(&self.allow)));
        }
        None
    }

    /// Adds the names in a list with commas.
    pub(crate) fn deny_list(&mut self, list: &str) {
        let names = list.split(',').map(str::trim).filter(|n| !n.is_empty());
        self.deny.extend(names.map(str::to_owned));
    }
}

fn listed(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|n| format!("`{n}`")).collect();
    format!("{} {}", quoted.join(", "), if names.len() == 1 { "is" } else { "are" })
}
