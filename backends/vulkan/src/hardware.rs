//! Whether the system has graphics hardware, without asking Vulkan: its loader opens every driver that is installed, and
//! those in software bring a compiler along, tens of megabytes that a program on the CPU has no use for.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::Path;

/// What the device files of graphics hardware begin with: the kernel's own interface (in a folder of its own), and those of
/// drivers that have another.
const FILES: [&str; 10] =
    ["nvidia", "dxg", "kfd", "kgsl", "mali", "nvhost", "nvgpu", "nvmap", "pvr", "galcore"];

/// Whether a file in a folder begins with one of these; also if the folder is there and can't be read.
fn begins(folder: &Path, heads: &[&str]) -> bool {
    let is = |name: &OsStr| heads.iter().any(|h| name.as_encoded_bytes().starts_with(h.as_bytes()));
    match std::fs::read_dir(folder) {
        Ok(mut files) => files.any(|f| f.map_or(true, |f| is(&f.file_name()))),
        Err(e) => e.kind() != ErrorKind::NotFound,
    }
}

/// Whether a folder like `/dev` shows graphics hardware.
fn shows(dev: &Path) -> bool {
    begins(dev, &FILES) || begins(&dev.join("dri"), &["renderD"])
}

/// The variables that name drivers to Vulkan's loader: whoever sets one asks for what it names, which may be hardware that
/// is reached over a socket.
const NAMED: [&str; 3] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"];

/// Whether somebody named drivers, in an environment like the process's.
fn names_drivers(get: impl Fn(&'static str) -> Option<OsString>) -> bool {
    NAMED.into_iter().filter_map(get).any(|value| !value.is_empty())
}

/// Whether the system may have graphics hardware. Where there is no way to tell, it may.
pub fn is_there() -> bool {
    !cfg!(target_os = "linux") || shows(Path::new("/dev")) || names_drivers(std::env::var_os)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_that_somebody_names_are_asked() {
        assert!(!names_drivers(|_| None) && !names_drivers(|_| Some(OsString::new())));
        for name in NAMED {
            assert!(names_drivers(|n| (n == name).then(|| "/opt/driver.json".into())), "{name}");
        }
    }

    #[test]
    fn hardware_shows_in_device_files() {
        let folder = std::env::temp_dir().join(format!("dinrail-dev-{}", std::process::id()));
        assert!(!shows(&folder), "no devices at all");
        std::fs::create_dir_all(folder.join("dri")).unwrap();
        let see = |file: &str| {
            std::fs::write(folder.join(file), "").unwrap();
            let seen = shows(&folder);
            std::fs::remove_file(folder.join(file)).unwrap();
            seen
        };
        // A terminal, and the screen of a server that computes nothing.
        assert!(!see("tty0") && !see("dri/card0"));
        for file in ["dri/renderD128", "nvidiactl", "nvidia0", "dxg", "kgsl-3d0", "mali0"] {
            assert!(see(file), "{file}");
        }
        // What can't be read may hide something.
        std::fs::remove_dir(folder.join("dri")).unwrap();
        std::fs::write(folder.join("dri"), "").unwrap();
        assert!(shows(&folder));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
