//! Whether somebody else can change what is about to be run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Looks at files and the directories above them, each directory once.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    #[cfg_attr(not(unix), allow(dead_code))]
    seen: HashMap<PathBuf, Result<(), String>>,
    /// Of a file's directory, as it is written: the one behind its links, or what is wrong on the way.
    #[cfg_attr(not(unix), allow(dead_code))]
    parents: HashMap<PathBuf, Result<PathBuf, String>>,
}

impl Checker {
    /// Why a file can't be trusted: who could put other contents there, on the path as it is written or behind its
    /// links. The path is absolute.
    #[cfg(unix)]
    pub(crate) fn check(&mut self, path: &Path) -> Result<(), String> {
        let meta = std::fs::symlink_metadata(path).map_err(|e| e.to_string())?;
        if meta.is_symlink() {
            let real = path.canonicalize().map_err(|e| e.to_string())?;
            single(&real)?;
            self.directories(path)?;
            return self.directories(&real);
        }
        let (Some(parent), Some(file)) = (path.parent(), path.file_name()) else {
            return Err("it is a directory".into());
        };
        let real = match self.parents.get(parent) {
            Some(known) => known.clone(),
            None => {
                let real = self.parent(path, parent);
                self.parents.insert(parent.to_owned(), real.clone());
                real
            }
        };
        judge(&real?.join(file), &meta)
    }

    #[cfg(unix)]
    fn parent(&mut self, path: &Path, parent: &Path) -> Result<PathBuf, String> {
        let real = parent.canonicalize().map_err(|e| e.to_string())?;
        self.directories(path)?;
        self.directories(&real.join("file"))?;
        Ok(real)
    }

    /// The rights of other systems are not known here.
    #[cfg(not(unix))]
    pub(crate) fn check(&mut self, _path: &Path) -> Result<(), String> {
        Ok(())
    }

    #[cfg(unix)]
    fn directories(&mut self, path: &Path) -> Result<(), String> {
        for dir in path.ancestors().skip(1).filter(|d| !d.as_os_str().is_empty()) {
            if !self.seen.contains_key(dir) {
                self.seen.insert(dir.to_owned(), single(dir));
            }
            if let Some(Err(e)) = self.seen.get(dir) {
                return Err(e.clone());
            }
        }
        Ok(())
    }
}

/// One file or directory, behind its links.
#[cfg(unix)]
fn single(path: &Path) -> Result<(), String> {
    let meta = std::fs::metadata(path).map_err(|e| format!("{}: {e}", path.display()))?;
    judge(path, &meta)
}

#[cfg(unix)]
fn judge(path: &Path, meta: &std::fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    const WRITABLE: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    let mode = meta.mode();
    if mode & WRITABLE != 0 && !(meta.is_dir() && mode & STICKY != 0) {
        return Err(format!(
            "everybody can write to {} (mode {:04o})",
            path.display(),
            mode & 0o7777
        ));
    }
    // SAFETY: it takes nothing and always succeeds.
    let me = unsafe { libc::geteuid() };
    let owner = meta.uid();
    if owner != 0 && owner != me && !is_system(owner) {
        return Err(format!(
            "{} belongs to user {owner}; only files of root and of user {me}, who runs this program, are opened",
            path.display()
        ));
    }
    Ok(())
}

/// Owners of what comes with the system beside root.
#[cfg(unix)]
fn is_system(owner: u32) -> bool {
    // Android's packages belong to `system`.
    cfg!(target_os = "android") && owner == 1000
}
