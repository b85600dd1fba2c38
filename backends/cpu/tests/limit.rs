//! The limit on the level, which is the whole program's and so has a test program of its own.

mod common;

use dinrail_cpu::Level;

#[test]
fn the_level_can_be_forced_down_and_not_up() {
    let best = dinrail_cpu::level();
    dinrail_cpu::limit(Some(Level::Scalar)).unwrap();
    assert_eq!(common::device().level(), "scalar");
    for level in Level::ALL {
        assert_eq!(dinrail_cpu::limit(Some(level)).is_ok(), level.is_available(), "{level:?}");
    }
    dinrail_cpu::limit(None).unwrap();
    assert_eq!(dinrail_cpu::level(), best);
}
