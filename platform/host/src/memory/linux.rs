//! Linux: `/proc/meminfo`, then every limit on the way from this process to the machine.
//!
//! Called when memory has run out, so it takes none itself: files are read into a block on the stack, and the path of a
//! control group is cut out of it.

use super::Memory;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Room for the files that are read here; what they say first is what is asked of them.
type Text = [u8; 8192];

pub(super) fn memory() -> Memory {
    let mut memory = machine().unwrap_or_default();
    if memory.total == 0 {
        return memory;
    }
    for limit in groups() {
        memory = memory.within(limit);
    }
    match address_space() {
        Some(limit) => Memory { free: memory.free.min(limit), ..memory },
        None => memory,
    }
}

fn read<'a>(path: &Path, text: &'a mut Text) -> Option<&'a str> {
    let mut file = File::open(path).ok()?;
    let mut len = 0;
    while let Some(rest) = text.get_mut(len..)
        && !rest.is_empty()
    {
        match file.read(rest) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    let bytes = text.get(..len)?;
    match core::str::from_utf8(bytes) {
        Ok(s) => Some(s),
        // Cut in the middle of a character.
        Err(e) => core::str::from_utf8(bytes.get(..e.valid_up_to())?).ok(),
    }
}

/// The number behind `key` in lines such as `MemTotal:  123 kB` or `file 123`.
fn field(text: &str, key: &str) -> Option<usize> {
    let mut words = text.lines().find_map(|l| l.strip_prefix(key))?.split_whitespace();
    let n: usize = words.next()?.parse().ok()?;
    Some(if words.next() == Some("kB") { n.saturating_mul(1024) } else { n })
}

fn number(path: &Path) -> Option<usize> {
    let mut text = [0; 8192];
    read(path, &mut text)?.trim().parse().ok()
}

/// Swap is left out: weights in swap are slower than a smaller model.
fn machine() -> Option<Memory> {
    let mut text = [0; 8192];
    match read(Path::new("/proc/meminfo"), &mut text) {
        Some(info) => {
            let total = field(info, "MemTotal:")?;
            let free = field(info, "MemAvailable:").or_else(|| field(info, "MemFree:"))?;
            Some(Memory { free: free.min(total), total })
        }
        None => {
            // SAFETY: the call has no preconditions.
            let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
            // SAFETY: as above.
            let total = usize::try_from(unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) }).ok()?;
            // SAFETY: as above.
            let free = usize::try_from(unsafe { libc::sysconf(libc::_SC_AVPHYS_PAGES) }).ok()?;
            Some(Memory { free: free.saturating_mul(page), total: total.saturating_mul(page) })
        }
    }
}

/// The limits of this process's memory control group and of those round it, both versions.
fn groups() -> impl Iterator<Item = Memory> {
    let mut text = [0; 8192];
    let mut v1 = None;
    let mut v2 = None;
    for line in read(Path::new("/proc/self/cgroup"), &mut text).unwrap_or("").lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        if controllers.is_empty() {
            v2 = Some(join("/sys/fs/cgroup", path));
        } else if controllers.split(',').any(|c| c == "memory") {
            v1 = Some(join("/sys/fs/cgroup/memory", path));
        }
    }
    let v2 = v2
        .into_iter()
        .flat_map(|(root, path)| ancestors(root, path))
        .filter_map(|dir| limit(&dir, "memory.max", "memory.current", "file "));
    let v1 = v1.into_iter().flat_map(|(root, path)| ancestors(root, path)).filter_map(|dir| {
        limit(&dir, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache ")
    });
    v2.chain(v1)
}

fn join(root: &'static str, path: &str) -> (&'static Path, PathBuf) {
    let root = Path::new(root);
    (root, root.join(path.trim_start_matches('/')))
}

/// `dir` and the folders above it, up to `root`. In a container a group's path may be that of the world outside; what
/// isn't there is passed over, and the root itself is then the container's own group.
fn ancestors(root: &'static Path, dir: PathBuf) -> impl Iterator<Item = PathBuf> {
    let mut next = Some(dir);
    core::iter::from_fn(move || {
        let this = next.take()?;
        if this != root && this.starts_with(root) {
            next = this.parent().map(Path::to_path_buf);
        }
        Some(this)
    })
}

/// Files in the page cache count as used by a group, and give way.
fn limit(dir: &Path, max: &str, used: &str, cache: &str) -> Option<Memory> {
    let total = number(&dir.join(max))?;
    let used = number(&dir.join(used))?;
    let mut text = [0; 8192];
    let cache =
        read(&dir.join("memory.stat"), &mut text).and_then(|t| field(t, cache)).unwrap_or(0);
    Some(Memory { free: total.saturating_sub(used.saturating_sub(cache)), total })
}

/// What `ulimit -v` leaves.
fn address_space() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is writable.
    if unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } != 0
        || limit.rlim_cur == libc::RLIM_INFINITY
    {
        return None;
    }
    // SAFETY: the call has no preconditions.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    let mut text = [0; 8192];
    let pages: usize =
        read(Path::new("/proc/self/statm"), &mut text)?.split_whitespace().next()?.parse().ok()?;
    Some(usize::try_from(limit.rlim_cur).ok()?.saturating_sub(pages.saturating_mul(page)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_and_without_unit() {
        let text = "MemTotal:       1000 kB\nfile 77\nfile_mapped 5\n";
        assert_eq!(field(text, "MemTotal:"), Some(1_024_000));
        assert_eq!(field(text, "file "), Some(77));
        assert_eq!(field(text, "absent"), None);
        assert_eq!(field("file x", "file "), None);
    }

    #[test]
    fn groups_up_to_the_root() {
        let (root, dir) = join("/sys/fs/cgroup", "/a/b");
        let all: Vec<_> = ancestors(root, dir).collect();
        assert_eq!(
            all,
            ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"].map(PathBuf::from)
        );
        let (root, dir) = join("/sys/fs/cgroup", "/");
        assert_eq!(ancestors(root, dir).count(), 1);
    }

    #[test]
    fn a_folder_with_limits() {
        let dir = std::env::temp_dir().join(format!("dinrail-cgroup-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("memory.max"), "1000000\n").unwrap();
        std::fs::write(dir.join("memory.current"), "700000\n").unwrap();
        std::fs::write(dir.join("memory.stat"), "anon 1\nfile 200000\n").unwrap();
        let read = || limit(&dir, "memory.max", "memory.current", "file ");
        assert_eq!(read(), Some(Memory { free: 500_000, total: 1_000_000 }));
        std::fs::write(dir.join("memory.max"), "max\n").unwrap();
        assert_eq!(read(), None);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
