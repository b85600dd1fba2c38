//! Which device has which layer.

use std::vec::Vec;

/// Which device has which layer, by its number among the streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Device of each layer.
    pub layers: Vec<usize>,
    /// Device of the final norm and the logits.
    pub head: usize,
    /// Whether a device may take products whose weights lie elsewhere when it asks for them.
    pub offload: bool,
    /// How many batches may be under way at a time; see [`Options::copies`](dinrail_core::sched::Options::copies).
    pub copies: usize,
}

impl Placement {
    /// As llama.cpp counts: the last `n` of the layers and the head (which is one more) go to the devices `on`, each of
    /// which has a number among the streams and a share; the others go to device `rest`. Shares that are no positive
    /// numbers count as 0; if all do, they are equal.
    pub fn last(layers: usize, n: usize, on: &[(usize, f64)], rest: usize) -> Self {
        let units = layers + 1;
        let n = if on.is_empty() { 0 } else { n.min(units) };
        let good = |s: f64| if s.is_finite() && s > 0.0 { s } else { 0.0 };
        let sum: f64 = on.iter().map(|(_, s)| good(*s)).sum();
        let share = |s: f64| if sum > 0.0 { good(s) / sum } else { 1.0 / on.len() as f64 };
        let device = |unit: usize| {
            let Some(at) = unit.checked_sub(units - n) else { return rest };
            let at = at as f64 / n as f64;
            let mut reached = 0.0;
            let last = on.last().map_or(rest, |(t, _)| *t);
            let of = on.iter().find(|(_, s)| {
                reached += share(*s);
                // Thirds add up to a little less than 1.
                at + 1e-9 < reached
            });
            of.map_or(last, |(t, _)| *t)
        };
        Placement {
            layers: (0..layers).map(device).collect(),
            head: device(layers),
            offload: true,
            copies: 2,
        }
    }

    /// Whether device `t` has a layer or the head.
    pub fn uses(&self, t: usize) -> bool {
        self.head == t || self.layers.contains(&t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    fn of(n: usize, on: &[(usize, f64)]) -> (Vec<usize>, usize) {
        let p = Placement::last(5, n, on, 9);
        (p.layers, p.head)
    }

    #[test]
    fn the_last_layers_go_first() {
        assert_eq!(of(0, &[(0, 1.0)]), (vec![9; 5], 9));
        assert_eq!(of(1, &[(0, 1.0)]), (vec![9; 5], 0));
        assert_eq!(of(3, &[(0, 1.0)]), (vec![9, 9, 9, 0, 0], 0));
        assert_eq!(of(6, &[(0, 1.0)]), (vec![0; 5], 0));
        assert_eq!(of(99, &[(0, 1.0)]), (vec![0; 5], 0));
        assert_eq!(of(99, &[]), (vec![9; 5], 9));
    }

    #[test]
    fn shares_are_kept() {
        assert_eq!(of(6, &[(0, 1.0), (1, 1.0)]), (vec![0, 0, 0, 1, 1], 1));
        assert_eq!(of(6, &[(0, 1.0), (1, 2.0)]), (vec![0, 0, 1, 1, 1], 1));
        assert_eq!(of(6, &[(0, 1.0), (1, 0.0), (2, 1.0)]), (vec![0, 0, 0, 2, 2], 2));
        assert_eq!(of(6, &[(2, 1.0), (1, 1.0), (0, 1.0)]), (vec![2, 2, 1, 1, 0], 0));
        assert_eq!(of(6, &[(0, -1.0), (1, f64::NAN)]), (vec![0, 0, 0, 1, 1], 1));
        assert_eq!(of(2, &[(0, 1.0), (1, 1.0)]), (vec![9, 9, 9, 9, 0], 1));
    }
}
