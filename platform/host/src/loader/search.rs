//! Where to look, and what the environment says.

use super::policy::{DENY, Policy};
use super::report::{Origin, Place, Report};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Variables with files and directories of backends, in the order in which they are read. llama.rn's builds of ggml
/// prefix theirs.
pub const VARIABLES: [&str; 3] =
    ["DINRAIL_BACKEND_PATH", "GGML_BACKEND_PATH", "LM_GGML_BACKEND_PATH"];

/// The directory that was chosen when this crate was built, with the variable `DINRAIL_BACKEND_DIR`.
pub const BUILD_TIME: Option<&str> = option_env!("DINRAIL_BACKEND_DIR");

/// What the environment asks for.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    pub(crate) directories: Vec<(PathBuf, &'static str)>,
    pub(crate) files: Vec<(PathBuf, &'static str)>,
}

/// Reads the variables. Values that lead nowhere become warnings.
pub(crate) fn environment(policy: &mut Policy, report: &mut Report) -> Environment {
    let mut found = Environment::default();
    let set: Vec<_> = VARIABLES
        .into_iter()
        .chain([DENY])
        .filter_map(|n| Some((n, std::env::var_os(n).filter(|v| !v.is_empty())?)))
        .collect();
    if is_privileged() {
        for (name, _) in set {
            report.warn(format!(
                "{name} is ignored: this program runs with more rights than its user has"
            ));
        }
        return found;
    }
    for (name, value) in set {
        if name == DENY {
            policy.deny_list(&value.to_string_lossy());
            continue;
        }
        for path in split(&value) {
            let path = match std::path::absolute(&path) {
                Ok(p) => p,
                Err(e) => {
                    report.warn(format!("{name}: {}: {e}", path.display()));
                    continue;
                }
            };
            match std::fs::metadata(&path) {
                Ok(m) if m.is_dir() => found.directories.push((path, name)),
                Ok(m) if m.is_file() => found.files.push((path, name)),
                Ok(_) => {
                    report.warn(format!("{name}: {}: neither file nor directory", path.display()));
                }
                Err(e) => report.warn(format!("{name}: {}: {e}", path.display())),
            }
        }
    }
    found
}

/// The paths in a value: one, if it exists as it is.
fn split(value: &OsStr) -> Vec<PathBuf> {
    if Path::new(value).exists() {
        return vec![value.into()];
    }
    std::env::split_paths(value).filter(|p| !p.as_os_str().is_empty()).collect()
}

/// The directories to search when the caller gives none.
pub(crate) fn directories(
    environment: &Environment,
    working_directory: bool,
    report: &mut Report,
) -> Vec<Place> {
    let mut all: Vec<Place> = Vec::new();
    let mut add = |path: PathBuf, origin: Origin| {
        let known = path.canonicalize().unwrap_or_else(|_| path.clone());
        let same = |p: &Place| p.path == path || p.path.canonicalize().is_ok_and(|c| c == known);
        if !all.iter().any(same) {
            all.push(Place::new(path, origin));
        }
    };
    for (path, name) in &environment.directories {
        add(path.clone(), Origin::Variable(name));
    }
    let executable = executable_directory();
    match &executable {
        Ok(dir) => add(dir.clone(), Origin::Executable),
        Err(e) => report.warn(format!("the executable's directory is not searched: {e}")),
    }
    if let Some(dir) = BUILD_TIME.and_then(|d| build_time(d, executable.as_deref().ok())) {
        add(dir, Origin::BuildTime);
    }
    // These depend on what whoever starts the program says.
    if !is_privileged() {
        if let Some(dir) = user() {
            add(dir, Origin::User);
        }
        if working_directory {
            match std::env::current_dir() {
                Ok(dir) => add(dir, Origin::Working),
                Err(e) => report.warn(format!("the working directory is not searched: {e}")),
            }
        }
    } else if working_directory {
        report.warn("the working directory is not searched: this program runs with more rights than its user has".into());
    }
    all
}

/// A relative directory starts at the executable's, so that a tree with `bin` and `lib` can be moved.
fn build_time(dir: &str, executable: Option<&Path>) -> Option<PathBuf> {
    let dir = Path::new(dir);
    if dir.as_os_str().is_empty() {
        return None;
    }
    if dir.is_absolute() { Some(dir.to_owned()) } else { Some(executable?.join(dir)) }
}

fn user() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let data = if cfg!(windows) {
        absolute("LOCALAPPDATA")?
    } else if cfg!(target_vendor = "apple") {
        absolute("HOME")?.join("Library/Application Support")
    } else {
        match absolute("XDG_DATA_HOME") {
            Some(dir) => dir,
            None => absolute("HOME")?.join(".local/share"),
        }
    };
    Some(data.join("dinrail").join("backends"))
}

/// Directory of the executable, behind all links.
fn executable_directory() -> Result<PathBuf, String> {
    let first = std::env::current_exe().and_then(|p| p.canonicalize());
    let path = match first {
        Ok(p) => p,
        // Linux without /proc: the kernel passed the path that the program was started by.
        Err(e) => started_by().and_then(|p| p.canonicalize().ok()).ok_or(e.to_string())?,
    };
    path.parent().map(usual).ok_or_else(|| "it has none".into())
}

/// A directory as users write it. Windows resolves links to paths that begin with `\\?\`, of which the documentation of its
/// loader (and what it does with dependencies beside a library) says nothing.
fn usual(dir: &Path) -> PathBuf {
    match dir.to_str().filter(|_| cfg!(windows)).and_then(unprefixed) {
        Some(text) => text.into(),
        None => dir.to_owned(),
    }
}

/// `None` where the path has no such prefix, or none that can be left out.
fn unprefixed(dir: &str) -> Option<String> {
    // With room for a file's name below the 260 characters of a usual path.
    const MOST: usize = 180;
    let rest = dir.strip_prefix(r"\\?\").filter(|r| r.len() <= MOST)?;
    // Names that only the long form keeps as they are.
    let odd = |part: &str| part.is_empty() || part.ends_with(['.', ' ']) || part.contains('/');
    let (start, names) = match rest.strip_prefix(r"UNC\") {
        Some(share) => (r"\\", share),
        None if rest.as_bytes().get(1) == Some(&b':') => ("", rest),
        None => return None,
    };
    (!names.trim_end_matches('\\').split('\\').any(odd)).then(|| format!("{start}{names}"))
}

/// The path that this program was started by. A relative one would be taken from wherever the program stands, so it
/// counts for nothing.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn started_by() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    // SAFETY: any number may be asked for.
    let text = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const core::ffi::c_char;
    if text.is_null() {
        return None;
    }
    // SAFETY: the kernel put the string there for as long as the process lives.
    let text = unsafe { core::ffi::CStr::from_ptr(text) };
    Some(PathBuf::from(OsStr::from_bytes(text.to_bytes()))).filter(|p| p.is_absolute())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn started_by() -> Option<PathBuf> {
    None
}

/// Whether the program runs with more rights than its user has, so that nothing the user says may choose code for it.
pub fn is_privileged() -> bool {
    privileged()
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn privileged() -> bool {
    // SAFETY: any number may be asked for.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

#[cfg(all(
    unix,
    any(
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "openbsd",
        target_os = "netbsd",
        target_os = "dragonfly"
    )
))]
fn privileged() -> bool {
    // SAFETY: it takes nothing.
    unsafe { issetugid() != 0 }
}

#[cfg(all(
    unix,
    any(
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "openbsd",
        target_os = "netbsd",
        target_os = "dragonfly"
    )
))]
unsafe extern "C" {
    fn issetugid() -> core::ffi::c_int;
}

#[cfg(all(
    unix,
    not(any(
        target_os = "linux",
        target_os = "android",
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "openbsd",
        target_os = "netbsd",
        target_os = "dragonfly"
    ))
))]
fn privileged() -> bool {
    // SAFETY: it takes nothing and always succeeds; so do the others.
    let user = unsafe { libc::getuid() };
    // SAFETY: as above.
    let effective = unsafe { libc::geteuid() };
    // SAFETY: as above.
    let group = unsafe { libc::getgid() };
    // SAFETY: as above.
    let effective_group = unsafe { libc::getegid() };
    user != effective || group != effective_group
}

#[cfg(not(unix))]
fn privileged() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_time_directory_may_be_relative_to_the_executable() {
        let here = std::env::temp_dir();
        let whole = here.join("x");
        assert_eq!(build_time("", Some(&here)), None);
        assert_eq!(build_time("../lib", None), None);
        assert_eq!(build_time("../lib", Some(&here)), Some(here.join("../lib")));
        assert_eq!(build_time(whole.to_str().unwrap(), None), Some(whole.clone()));
    }

    #[test]
    fn paths_of_windows_as_users_write_them() {
        let as_is = |text: &str| assert_eq!(unprefixed(text), None, "{text}");
        let shorter = |text: &str, want: &str| assert_eq!(unprefixed(text).as_deref(), Some(want));
        shorter(r"\\?\C:\Programs\Ж и é", r"C:\Programs\Ж и é");
        shorter(r"\\?\C:\", r"C:\");
        shorter(r"\\?\UNC\server\share\bin", r"\\server\share\bin");
        as_is(r"C:\Programs");
        as_is(r"\\server\share");
        as_is(r"\\?\Volume{b75e2c83}\bin");
        as_is(r"\\?\C:\ends with a dot.\bin");
        as_is(r"\\?\C:\ends with a blank \bin");
        as_is(r"\\?\C:\a/b");
        as_is(&format!(r"\\?\C:\{}", "long".repeat(64)));
        assert_eq!(usual(Path::new("/a/b")), Path::new("/a/b"));
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_exists_is_not_split() {
        let dir = std::env::temp_dir().join(format!("dinrail:split:{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        assert_eq!(split(dir.as_os_str()), [dir.as_path()]);
        std::fs::remove_dir(&dir).unwrap();
        assert_eq!(split(dir.as_os_str()).len(), 3);
        assert_eq!(split(OsStr::new("/a/b/::/c")), [Path::new("/a/b/"), Path::new("/c")]);
    }

    #[test]
    fn this_test_is_an_executable_with_a_directory() {
        assert!(executable_directory().unwrap().is_dir());
        assert!(!is_privileged());
    }
}
