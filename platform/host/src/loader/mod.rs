//! Backends from shared libraries: search, score, load, unload.
//!
//! A [`Loader`] brings three things together: a registry, a [`Format`] that knows how to open one kind of plug-in, and the
//! rules of this module. Everything it does ends up in a [`Report`]; nothing is written to standard output or standard
//! error, and messages go to the `log` crate only.
//!
//! # Where backends are looked for
//!
//! A directory that the caller gives is the only one. Otherwise, in this order:
//!
//! 1. directories in `DINRAIL_BACKEND_PATH`, `GGML_BACKEND_PATH`, `LM_GGML_BACKEND_PATH`;
//! 2. the directory of the executable, after all symbolic links are resolved;
//! 3. the directory in `DINRAIL_BACKEND_DIR` when this crate was built; a relative one starts at the executable's;
//! 4. the user's: `$XDG_DATA_HOME/dinrail/backends`, which is `~/.local/share/dinrail/backends` where that isn't set
//!    (`~/Library/Application Support/dinrail/backends` on macOS, `%LOCALAPPDATA%\dinrail\backends` on Windows);
//! 5. the working directory, only if [`Options::working_directory`] says so.
//!
//! Each of the variables holds a file, a directory, or several of them with the system's separator between. A value that
//! exists as a whole is never split, an empty one counts as not set, and one that leads nowhere is a warning in the
//! report. Variables and working directory are ignored in a program that runs with more rights than its user has
//! (set-uid, set-gid, capabilities). `LD_LIBRARY_PATH` is not searched. Relative paths are made absolute before anything
//! is opened.
//!
//! # Which file is taken
//!
//! Files named `[lib]dinrail-NAME-VARIANT` and `[lib]ggml-NAME-VARIANT` with the system's ending for libraries are the
//! candidates for `NAME`; `libggml-base` is none. Names are taken in ggml's [order](ORDER), then all others that were
//! found. Of one name the best score wins; equal scores, the one found first. A library without a score ranks after all
//! that have one; a file without a variant (`libggml-NAME.so`) comes last. When the best one fails, the next is tried.
//!
//! A compiled-in backend of the same name takes part with its own score and wins a tie. Whoever names a *file* (with
//! [`Loader::load`] or in a variable) has chosen: it is loaded unless its score is 0, and stands in the compiled-in
//! one's place.
//!
//! # What is not opened
//!
//! Opening a library runs its code, so a [`Policy`] decides before: by name, and by who can change the file. On Unix a
//! file is refused when it, or a directory on the way to it, is writable by everybody (a sticky directory is not counted)
//! or belongs to a user who is neither root nor the one that the program runs as. On other systems that isn't checked.
//!
//! # Unloading
//!
//! [`Loader::unload`] refuses while streams, buffers or events of the backend are alive. Whether the system takes the
//! library out of memory is up to it: musl never does, glibc keeps those that ask for it. Don't rely on destructors.
//!
//! # Several releases of ggml
//!
//! Plug-ins of one release share a base library, and glibc and musl join libraries by their internal names. So two
//! releases work in one process if their base libraries are called differently (`libggml-base.so`, `libggml-base.so.0`);
//! otherwise the candidates of the second one are refused, before anything of them is called, and the report names the
//! one that is in the way.
//!
//! # Statically linked programs
//!
//! Where the program can't load libraries ([`AVAILABLE`]), every function here answers with a report that says so, and
//! nothing is opened. Compiled-in backends are not concerned.

mod candidates;
mod format;
mod load;
mod permissions;
mod policy;
mod report;
mod search;

pub use candidates::ORDER;
pub use format::{Candidate, Failure, Format, Stage};
pub use load::{Loader, Options, Scores};
pub use policy::{DENY, Policy};
pub use report::{Entry, Origin, Place, Report};
pub use search::{BUILD_TIME, VARIABLES, is_privileged};

/// Whether this build can load libraries, or why not.
pub const AVAILABLE: Result<(), &str> = if cfg!(all(
    target_feature = "crt-static",
    target_os = "linux"
)) {
    Err(
        "dynamic loading is not available in this build: the program is linked statically; build it without \
         `-C target-feature=+crt-static`",
    )
} else if cfg!(any(unix, windows)) {
    Ok(())
} else {
    Err("dynamic loading is not available in this build: the system has no shared libraries")
};
