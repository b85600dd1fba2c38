//! The portable level's results on this machine.

use dinrail_bits::{GOLDEN, Level, MEMORY, Memory, all};

#[test]
fn the_portable_level_gives_the_same_bits_as_elsewhere() {
    let mut memory = Box::new(Memory([0; MEMORY]));
    let mut got = Vec::new();
    all(Level::Scalar, &mut memory, &mut |name, number, sum| got.push((name, number, sum)));
    if got != GOLDEN {
        for (name, number, sum) in &got {
            println!("    (\"{name}\", {number}, 0x{:04x}_{:04x}),", sum >> 16, sum & 0xffff);
        }
    }
    assert!(got.iter().all(|(_, _, sum)| *sum != 0), "a case has no kernel");
    for (g, w) in got.iter().zip(GOLDEN) {
        assert_eq!(g, w);
    }
    assert_eq!(got.len(), GOLDEN.len());
}
