//! From candidates to registered backends.

use super::candidates::{self, Found, Name};
use super::format::{Candidate, Failure, Format, Stage};
use super::permissions::Checker;
use super::policy::Policy;
use super::report::{Entry, Origin, Place, Report};
use super::{AVAILABLE, search};
use dinrail_core::hal::Backend;
use dinrail_core::registry::{Handle, Registry};
use dinrail_core::{Error, Result as CoreResult};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How to load.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What may be opened.
    pub policy: Policy,
    /// Also search the working directory. Whoever can write there can run code in this program, so it is off by default.
    pub working_directory: bool,
    /// Take no notice of environment variables.
    pub ignore_environment: bool,
}

/// How a compiled-in backend does when plug-ins compete with it: its score, or `None` to keep its place against all.
pub type Scores = fn(&'static dyn Backend) -> Option<u32>;

/// Loads plug-ins of one format into one registry.
pub struct Loader<const N: usize> {
    registry: &'static Registry<N>,
    built_in: &'static [&'static dyn Backend],
    scores: Scores,
    format: &'static dyn Format,
    /// One at a time: what is found out about a library must still hold when it is registered.
    turn: Mutex<()>,
}

impl<const N: usize> core::fmt::Debug for Loader<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Loader").field("registry", self.registry).finish_non_exhaustive()
    }
}

/// A candidate on its way: where its line of the report is, and how it ranks.
struct Runner {
    entry: usize,
    path: PathBuf,
    rank: Rank,
}

/// Better is greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// The file without a variant, not opened so far.
    FallBack,
    Unscored,
    Score(u32),
}

/// How the end of one candidate is for the others of its name.
enum End {
    Taken,
    Next,
    /// The others would meet the same.
    Stop,
}

impl<const N: usize> Loader<N> {
    /// A loader for a registry that was made with these built-in backends.
    pub const fn new(
        registry: &'static Registry<N>,
        built_in: &'static [&'static dyn Backend],
        scores: Scores,
        format: &'static dyn Format,
    ) -> Self {
        Self { registry, built_in, scores, format, turn: Mutex::new(()) }
    }

    /// Loads one file. A compiled-in backend of the same name makes place for it.
    ///
    /// The same file again gives the handle that it has.
    ///
    /// # Errors
    /// What is wrong with it. Nothing of it is left then.
    pub fn load(&self, path: &Path, options: &Options) -> Result<Handle, Failure> {
        let report = self.load_file(path, options);
        let wrong = |reason: &str| Failure::new(Stage::Open, path, reason);
        let Some(entry) = report.entries().first() else {
            return Err(wrong(report.warnings().first().map_or("nothing was tried", |w| w)));
        };
        entry.handle().ok_or_else(|| {
            let failure = Failure::new(entry.stage, &entry.path, &*entry.reason);
            match entry.cause {
                Some(cause) => failure.because(cause),
                None => failure,
            }
        })
    }

    /// As [`load`](Self::load), with a report of one candidate.
    pub fn load_file(&self, path: &Path, options: &Options) -> Report {
        self.work(options, |work| {
            let _ = work.environment(options);
            match std::path::absolute(path) {
                Ok(path) => work.file(path),
                Err(e) => work.report.warn(format!("{}: {e}", path.display())),
            }
        })
    }

    /// Loads the best candidate of one name, such as `cpu`, from the directories of the [module](super), or from one.
    pub fn load_best(&self, name: &str, dir: Option<&Path>, options: &Options) -> Report {
        self.work(options, |work| {
            let environment = work.environment(options);
            let mut found = work.find(dir, &environment, options);
            found.retain(|f| f.name.name.eq_ignore_ascii_case(name));
            work.all(found);
        })
    }

    /// Loads the best candidate of each name, then the files that the environment names.
    pub fn load_all(&self, options: &Options) -> Report {
        self.everything(None, options)
    }

    /// As [`load_all`](Self::load_all), from one directory instead of those of the [module](super).
    pub fn load_all_from(&self, dir: &Path, options: &Options) -> Report {
        self.everything(Some(dir), options)
    }

    fn everything(&self, dir: Option<&Path>, options: &Options) -> Report {
        self.work(options, |work| {
            let environment = work.environment(options);
            let found = work.find(dir, &environment, options);
            work.all(found);
            for (path, _) in environment.files {
                work.file(path);
            }
        })
    }

    /// Takes a backend out of the registry and closes its library.
    ///
    /// # Errors
    /// [`Stage::Unload`]; the cause is [`Error::InUse`] with what is alive, [`Error::Stale`] for an old handle,
    /// [`Error::BuiltIn`], or [`Error::NotFound`] for what this loader has not loaded. Nothing is changed then.
    pub fn unload(&self, handle: Handle) -> Result<(), Failure> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let wrong = |e: Error| Failure::from_error(Stage::Unload, Path::new(""), e);
        let backend = self.registry.backend(handle).map_err(wrong)?;
        if self.built_in.iter().any(|b| core::ptr::addr_eq(*b, backend)) {
            return Err(wrong(Error::BuiltIn));
        }
        // The library looks under its own lock whether anything of it is alive, and gives nothing out afterwards. What is
        // found in the registry until it is out of there as well answers with errors.
        self.format.unload(backend)?;
        log::info!("unloaded {}", backend.name());
        patiently(|| self.registry.unregister(handle)).map_err(wrong)
    }

    fn work(&self, options: &Options, f: impl FnOnce(&mut Work<'_, N>)) -> Report {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut work = Work {
            loader: self,
            policy: options.policy.clone(),
            checker: Checker::default(),
            report: Report::default(),
            last: None,
        };
        match AVAILABLE {
            Ok(()) => f(&mut work),
            Err(reason) => work.report.warn(reason.into()),
        }
        work.report
    }

    /// The compiled-in backend of this name.
    fn rival(&self, name: &str) -> Option<&'static dyn Backend> {
        self.built_in.iter().copied().find(|b| b.name().eq_ignore_ascii_case(name))
    }

    /// Whose name a backend wants that the registry did not take.
    fn holder(&self, name: &str) -> String {
        let Some((_, holder)) = self.registry.backend_by_name(name) else {
            return "a different backend is registered under its name".into();
        };
        match self.format.file(holder) {
            Some(path) => format!("the name `{}` belongs to {}", holder.name(), path.display()),
            None if self.rival(name).is_some() => {
                format!("the name `{}` belongs to a compiled-in backend", holder.name())
            }
            None => format!("the name `{}` belongs to a registered backend", holder.name()),
        }
    }
}

/// Waits a little for others who are at the registry, or who are about to drop what they have.
fn patiently<R>(mut f: impl FnMut() -> CoreResult<R>) -> CoreResult<R> {
    for _ in 0..1000 {
        match f() {
            Err(Error::Busy | Error::InUse { .. }) => std::thread::sleep(Duration::from_millis(1)),
            other => return other,
        }
    }
    f()
}

/// One call's work.
struct Work<'l, const N: usize> {
    loader: &'l Loader<N>,
    policy: Policy,
    checker: Checker,
    report: Report,
    /// The last candidate that was out, kept while the next one is opened: what both need is then not loaded anew.
    last: Option<Box<dyn Candidate>>,
}

impl<const N: usize> Work<'_, N> {
    fn environment(&mut self, options: &Options) -> search::Environment {
        if options.ignore_environment {
            return search::Environment::default();
        }
        search::environment(&mut self.policy, &mut self.report)
    }

    /// All candidates, in order of directories.
    fn find(
        &mut self,
        dir: Option<&Path>,
        environment: &search::Environment,
        options: &Options,
    ) -> Vec<Found> {
        let mut places = match dir.map(std::path::absolute) {
            Some(Ok(dir)) => vec![Place::new(dir, Origin::Given)],
            Some(Err(e)) => {
                self.report.warn(format!("the directory can't be searched: {e}"));
                Vec::new()
            }
            None => search::directories(environment, options.working_directory, &mut self.report),
        };
        let mut all = Vec::new();
        for place in &mut places {
            match candidates::scan(&place.path) {
                Ok(found) => {
                    place.candidates = found.len();
                    all.extend(found);
                }
                Err(e) => {
                    log::debug!("{}: {e}", place.path.display());
                    place.wrong = Some(e.to_string());
                }
            }
        }
        self.report.places = places;
        all
    }

    /// The best of each name, in order.
    fn all(&mut self, mut found: Vec<Found>) {
        // Stable: candidates of one name stay in the order in which they were found.
        found.sort_by(|a, b| {
            let key = |f: &Found| candidates::rank(&f.name.name);
            key(a).cmp(&key(b)).then_with(|| a.name.name.cmp(&b.name.name))
        });
        let mut rest = found.into_iter().peekable();
        while let Some(first) = rest.next() {
            let name = first.name.name.clone();
            let mut same = vec![first];
            while let Some(next) = rest.next_if(|f| f.name.name == name) {
                same.push(next);
            }
            self.best(&name, same);
        }
    }

    /// Takes the best candidate of one name.
    fn best(&mut self, name: &str, found: Vec<Found>) {
        let rival = self.loader.rival(name);
        let to_beat = rival.map(|b| (b.name(), (self.loader.scores)(b)));
        let mut runners: Vec<Runner> = Vec::new();
        let mut last_dir: Option<PathBuf> = None;
        // The leader stays open, so that it need not be opened twice; but not while one of another directory is opened,
        // whose libraries may have the same names and be of another release.
        let mut leader: Option<(usize, Option<Box<dyn Candidate>>)> = None;
        for f in found {
            let Some((entry, path)) = self.admit(f.name.clone(), f.path, f.wrong) else { continue };
            if let Some((_, None)) = to_beat {
                self.lost_to_rival(entry, to_beat);
                continue;
            }
            if f.name.variant.is_none() {
                runners.push(Runner { entry, path, rank: Rank::FallBack });
                continue;
            }
            if let Some((i, kept)) = &mut leader
                && runners[*i].path.parent() != path.parent()
            {
                *kept = None;
            }
            if last_dir.as_deref() != path.parent() {
                self.last = None;
                last_dir = path.parent().map(Path::to_owned);
            }
            let Some((rank, candidate)) = self.open(entry, &path) else { continue };
            if leader.as_ref().is_none_or(|(i, _)| runners[*i].rank < rank) {
                leader = Some((runners.len(), Some(candidate)));
            }
            runners.push(Runner { entry, path, rank });
        }
        self.last = None;
        let mut leader = leader.and_then(|(i, c)| Some((runners[i].entry, c?)));
        runners.sort_by_key(|r| core::cmp::Reverse(r.rank));
        let mut winner: Option<String> = None;
        for runner in runners {
            if let Some(winner) = &winner {
                self.report.entries[runner.entry].end(Stage::Ranked, winner);
                continue;
            }
            let mut opened = leader.take_if(|(entry, _)| *entry == runner.entry).map(|(_, c)| c);
            let mut rank = runner.rank;
            // Nothing but a score beats a score, so there is no need to open what has none.
            if !beats(rank, to_beat) {
                self.lost_to_rival(runner.entry, to_beat);
                continue;
            }
            if opened.is_none() {
                self.last = None;
                let Some((found, candidate)) = self.open(runner.entry, &runner.path) else {
                    continue;
                };
                (rank, opened) = (found, Some(candidate));
            }
            let Some(candidate) = opened else { continue };
            if !beats(rank, to_beat) {
                self.lost_to_rival(runner.entry, to_beat);
                continue;
            }
            match self.start(runner.entry, candidate, rival.is_some()) {
                End::Next => {}
                End::Taken => winner = Some(format!("{} was taken", runner.path.display())),
                End::Stop => winner = Some(format!("not tried after {}", runner.path.display())),
            }
        }
    }

    /// Loads a file that somebody chose.
    fn file(&mut self, path: PathBuf) {
        self.last = None;
        let wrong = candidates::look(&path).err();
        let Some((entry, path)) = self.admit(Name::of_file(&path), path, wrong) else { return };
        if let Some((_, candidate)) = self.open(entry, &path) {
            self.start(entry, candidate, true);
        }
    }

    /// Makes a line for a candidate. `None` if it must not be opened.
    fn admit(
        &mut self,
        name: Name,
        path: PathBuf,
        wrong: Option<String>,
    ) -> Option<(usize, PathBuf)> {
        let index = self.report.entries.len();
        let verdict = if let Some(reason) = self.policy.denies(&name) {
            Some((Stage::Denied, reason))
        } else if let Some(reason) = wrong {
            Some((Stage::Find, reason))
        } else if self.policy.writable_by_others {
            None
        } else {
            self.checker.check(&path).err().map(|reason| (Stage::Refused, reason))
        };
        self.report.entries.push(Entry {
            path: path.clone(),
            name: name.name,
            score: None,
            stage: Stage::Find,
            reason: String::new(),
            handle: None,
            notes: Vec::new(),
            cause: None,
        });
        match verdict {
            Some((stage, reason)) => {
                self.fail(index, Failure::new(stage, &path, reason));
                None
            }
            None => Some((index, path)),
        }
    }

    /// Opens a candidate and asks for its score. `None` if it is out.
    fn open(&mut self, entry: usize, path: &Path) -> Option<(Rank, Box<dyn Candidate>)> {
        log::debug!("opening {}", path.display());
        let opened = self.loader.format.open(path).and_then(|c| Ok((c.score()?, c)));
        match opened {
            Ok((Some(0), c)) => {
                self.last = Some(c);
                self.report.entries[entry].score = Some(0);
                self.fail(
                    entry,
                    Failure::new(Stage::Score, path, "its score is 0: not for this machine"),
                );
                None
            }
            Ok((Some(score), c)) => {
                self.report.entries[entry].score = Some(score);
                Some((Rank::Score(score), c))
            }
            Ok((None, c)) => Some((Rank::Unscored, c)),
            Err(e) => {
                self.fail(entry, e);
                None
            }
        }
    }

    fn start(&mut self, index: usize, candidate: Box<dyn Candidate>, over: bool) -> End {
        let loader = self.loader;
        let path = self.report.entries[index].path.clone();
        let backend = match candidate.init() {
            Ok(b) => b,
            Err(e) => {
                self.fail(index, e);
                return End::Next;
            }
        };
        let known = loader.registry.backends().any(|(_, b)| core::ptr::addr_eq(b, backend));
        let registered = patiently(|| match over {
            true => loader.registry.register_over(backend),
            false => loader.registry.register(backend),
        });
        match registered {
            Ok(handle) => {
                let entry = &mut self.report.entries[index];
                entry.handle = Some(handle);
                entry.notes = loader.format.notes(backend);
                let devices = match backend.device_count() {
                    1 => "1 device".to_owned(),
                    n => format!("{n} devices"),
                };
                let name = backend.name();
                let reason = match known {
                    true => format!("{name} was loaded before"),
                    false => format!("{name}, {devices}"),
                };
                entry.end(Stage::Loaded, reason);
                log::info!("loaded {} from {}", name, path.display());
                for note in &entry.notes {
                    log::warn!("{}: {note}", path.display());
                }
                End::Taken
            }
            Err(e) => {
                let reason = match e {
                    Error::NameTaken => loader.holder(backend.name()),
                    other => other.to_string(),
                };
                let left = loader.format.unload(backend);
                self.fail(index, Failure::new(Stage::Register, &path, reason).because(e));
                if let Err(e) = left {
                    self.report.warn(e.to_string());
                }
                End::Stop
            }
        }
    }

    fn lost_to_rival(&mut self, entry: usize, to_beat: Option<(&str, Option<u32>)>) {
        let reason = match to_beat {
            Some((name, Some(score))) => format!("the compiled-in {name} has score {score}"),
            Some((name, None)) => format!("the compiled-in {name} keeps its place"),
            None => String::new(),
        };
        self.report.entries[entry].end(Stage::Ranked, reason);
    }

    fn fail(&mut self, entry: usize, failure: Failure) {
        match failure.stage().is_ordinary() {
            true => log::debug!("{failure}"),
            false => log::warn!("{failure}"),
        }
        self.report.entries[entry].fail(failure);
    }
}

/// Whether a candidate is better than the compiled-in backend. A tie is not.
fn beats(rank: Rank, to_beat: Option<(&str, Option<u32>)>) -> bool {
    match (rank, to_beat) {
        (_, None) => true,
        (_, Some((_, None))) => false,
        (Rank::Score(score), Some((_, Some(other)))) => score > other,
        // It may have a score that nobody asked for so far.
        (Rank::FallBack, Some(_)) => true,
        (Rank::Unscored, Some(_)) => false,
    }
}
