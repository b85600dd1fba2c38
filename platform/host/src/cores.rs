//! How many processors this program may use.

/// What affinity mask, cgroup quota and, on x86, the number of physical cores behind the allowed processors permit;
/// at least 1.
///
/// Two threads on the two halves of one core share its vector units and gain little, so the second half is left out.
pub(crate) fn usable() -> usize {
    // The standard library reads the affinity mask and the quota of both versions of cgroups.
    let allowed = std::thread::available_parallelism().map_or(1, |n| n.get());
    match physical() {
        Some(cores) if cores > 0 => allowed.min(cores),
        _ => allowed,
    }
}

cfg_if::cfg_if! {
    if #[cfg(all(any(target_os = "linux", target_os = "android"), any(target_arch = "x86_64", target_arch = "x86")))] {
        /// Physical cores among the processors that the calling thread may run on; `None` where that can't be read.
        fn physical() -> Option<usize> {
            let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
            let list = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:"))?;
            distinct(list.trim(), |cpu| {
                let topology = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
                let package = std::fs::read_to_string(format!("{topology}/physical_package_id")).ok()?;
                let core = std::fs::read_to_string(format!("{topology}/thread_siblings_list")).ok()?;
                Some((package, core))
            })
        }
    } else {
        fn physical() -> Option<usize> {
            None
        }
    }
}

/// How many different values `core` gives for the processors of a list such as `0-3,8`; `None` if one of them gives
/// none, or the list can't be read.
// Called on some systems only, and tested on all.
#[allow(dead_code)]
fn distinct<K: PartialEq>(list: &str, core: impl Fn(usize) -> Option<K>) -> Option<usize> {
    let mut seen: Vec<K> = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        for cpu in first.parse::<usize>().ok()?..=last.parse().ok()? {
            let key = core(cpu)?;
            if !seen.contains(&key) {
                seen.push(key);
            }
        }
    }
    Some(seen.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_count_once() {
        // Processor n and n + 4 are halves of one core.
        let halves = |cpu: usize| Some(cpu % 4);
        assert_eq!(distinct("0-7", halves), Some(4));
        assert_eq!(distinct("0,4", halves), Some(1));
        assert_eq!(distinct("0-1,4-5,3", halves), Some(3));
        assert_eq!(distinct("0-7", |_| None::<usize>), None);
        assert_eq!(distinct("", halves), None);
        assert_eq!(distinct("0-x", halves), None);
    }

    #[test]
    fn never_more_than_allowed() {
        let n = usable();
        assert!(n >= 1);
        assert!(n <= std::thread::available_parallelism().map_or(1, |n| n.get()));
    }
}
