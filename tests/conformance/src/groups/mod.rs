//! The groups, in one file per family as in core.

pub mod attention;
pub mod elementwise;
pub mod layout;
pub mod matmul;
pub mod reduce;
pub mod rows;

use crate::case::Group;

/// Every group.
pub static GROUPS: &[Group] = &groups();

const FAMILIES: [&[Group]; 6] = [
    elementwise::GROUPS,
    layout::GROUPS,
    reduce::GROUPS,
    matmul::GROUPS,
    rows::GROUPS,
    attention::GROUPS,
];

const COUNT: usize = {
    let (mut n, mut i) = (0, 0);
    while i < FAMILIES.len() {
        n += FAMILIES[i].len();
        i += 1;
    }
    n
};

const fn groups() -> [Group; COUNT] {
    let mut all = [elementwise::GROUPS[0]; COUNT];
    let (mut n, mut i) = (0, 0);
    while i < FAMILIES.len() {
        let mut k = 0;
        while k < FAMILIES[i].len() {
            all[n] = FAMILIES[i][k];
            n += 1;
            k += 1;
        }
        i += 1;
    }
    all
}
