//! How much memory there is, for this program.

/// Memory of the machine, or of the part of it that this program may use. In bytes; 0 where unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Memory {
    /// What can still be taken: free, or held by caches that give way.
    pub free: usize,
    /// In all.
    pub total: usize,
}

impl Memory {
    /// The tighter of two bounds.
    #[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(dead_code))]
    fn within(self, limit: Memory) -> Memory {
        Memory { free: self.free.min(limit.free), total: self.total.min(limit.total) }
    }
}

/// What the system says at this moment. Limits of the control group and of the process count as well (Linux).
pub fn memory() -> Memory {
    system::memory()
}

cfg_if::cfg_if! {
    if #[cfg(any(target_os = "linux", target_os = "android"))] {
        #[path = "memory/linux.rs"]
        mod system;
    } else if #[cfg(unix)] {
        mod system {
            use super::Memory;

            /// Only the total is portable; all of it is taken to be free.
            pub(super) fn memory() -> Memory {
                // SAFETY: the call has no preconditions.
                let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
                // SAFETY: as above.
                let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
                let total = usize::try_from(pages).unwrap_or(0).saturating_mul(usize::try_from(page).unwrap_or(0));
                Memory { free: total, total }
            }
        }
    } else if #[cfg(windows)] {
        mod system {
            use super::Memory;
            use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};

            pub(super) fn memory() -> Memory {
                let mut status = MEMORYSTATUSEX {
                    dwLength: size_of::<MEMORYSTATUSEX>() as u32,
                    ..MEMORYSTATUSEX::default()
                };
                // SAFETY: the structure is writable and says its own length, as the call demands.
                if unsafe { GlobalMemoryStatusEx(&mut status) } == 0 {
                    return Memory::default();
                }
                let bytes = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
                Memory { free: bytes(status.ullAvailPhys), total: bytes(status.ullTotalPhys) }
            }
        }
    } else {
        mod system {
            pub(super) fn memory() -> super::Memory {
                super::Memory::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(unix, windows))]
    fn this_machine_has_some() {
        let m = memory();
        assert!(m.total > 1 << 20, "{m:?}");
        assert!(m.free <= m.total, "{m:?}");
    }
}
