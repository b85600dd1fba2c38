//! What kernels may use on which family of graphics processors. Needs no Metal object, so it is tested everywhere.

use dinrail_wgsl::{Features, Limits};

/// Families that matter here; a processor of a newer one belongs to the older ones, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Has what every kernel needs: 256 threads in a group with 32 KiB of memory, buffers at any multiple of 32.
    Common2,
    /// Apple's processors that add up over a SIMD group.
    Apple7,
    /// Others in a Mac that do.
    Mac2,
}

/// What kernels may use and rely on, on a device that belongs to these families and has buffers of at most `longest`
/// bytes; `None` if they can't run on it.
pub fn limits(belongs: impl Fn(Family) -> bool, longest: usize) -> Option<Limits> {
    if !belongs(Family::Common2) {
        return None;
    }
    let mut features = Features::F16;
    if belongs(Family::Apple7) || belongs(Family::Mac2) {
        features = features.or(Features::SUBGROUP);
    }
    // Offsets of bindings are multiples of what the largest element of a kernel needs.
    Some(Limits { features, binding: longest, alignment: 32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_follow_from_families() {
        let of = |families: &[Family]| limits(|f| families.contains(&f), 1 << 30);
        assert!(of(&[]).is_none() && of(&[Family::Apple7]).is_none());
        let old = of(&[Family::Common2]).unwrap();
        assert!(old.features.has(Features::F16) && !old.features.has(Features::SUBGROUP));
        for new in [Family::Apple7, Family::Mac2] {
            let l = of(&[Family::Common2, new]).unwrap();
            assert!(l.features.has(Features::SUBGROUP.or(Features::F16)));
            assert_eq!((l.binding, l.alignment), (1 << 30, 32));
        }
    }
}
