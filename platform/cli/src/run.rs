//! `dinrail run`

use crate::args::{self, Placement};
use crate::engine::{self, Model};
use crate::output::{self, Progress, style};
use crate::team::Team;
use crate::{Error, Result};
use dinrail_llm::model::Config;
use dinrail_llm::sampler::{self, Sampler};
use dinrail_llm::session::{self, Evaluate, Next};
use dinrail_llm::tokenizer::{self, Any, Options, Tokenizer, Utf8Stream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Model file (GGUF)
    #[arg(short, long, value_name = "FILE")]
    model: PathBuf,
    /// Text to continue
    #[arg(short, long, default_value = "Once upon a time", allow_hyphen_values = true)]
    prompt: String,
    /// File with the text to continue; - for standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "prompt")]
    file: Option<PathBuf>,
    /// The most tokens to add
    #[arg(short = 'n', long, visible_aliases = ["predict", "n-predict"], value_name = "N", default_value_t = 128,
        value_parser = args::count, allow_negative_numbers = true)]
    tokens: usize,
    #[command(flatten)]
    place: Placement,
    #[command(flatten)]
    load: crate::load::Choice,
    /// 0 takes the likeliest token each time; higher is more varied
    #[arg(long, visible_alias = "temperature", value_name = "X", default_value_t = sampler::Config::CHAT.temperature,
        value_parser = args::amount, allow_negative_numbers = true)]
    temp: f32,
    /// Choose among the K likeliest tokens only; 0 for all
    #[arg(long, value_name = "K", default_value_t = sampler::Config::CHAT.top_k,
        value_parser = args::count, allow_negative_numbers = true)]
    top_k: usize,
    /// Choose among the likeliest tokens that make up this share; 1 for all
    #[arg(long, value_name = "P", default_value_t = sampler::Config::CHAT.top_p,
        value_parser = args::share, allow_negative_numbers = true)]
    top_p: f32,
    /// Choose among tokens that are at least this share as likely as the likeliest; 0 for all
    #[arg(long, value_name = "P", default_value_t = sampler::Config::CHAT.min_p,
        value_parser = args::share, allow_negative_numbers = true)]
    min_p: f32,
    /// Makes the latest 64 tokens less likely; 1 for off
    #[arg(long, value_name = "X", default_value_t = sampler::Config::CHAT.repeat_penalty,
        value_parser = args::amount, allow_negative_numbers = true)]
    repeat_penalty: f32,
    /// Seed of the random choice; a new one each time if left out
    #[arg(short, long, value_name = "S")]
    seed: Option<u64>,
    /// Positions to make room for; as many as are needed if left out
    #[arg(short, long, visible_alias = "ctx-size", value_name = "N", value_parser = args::count,
        allow_negative_numbers = true)]
    ctx: Option<usize>,
    /// Tokens of a prompt that go through the graph at a time
    #[arg(short, long, visible_alias = "batch-size", value_name = "N", default_value_t = BATCH,
        value_parser = args::count, allow_negative_numbers = true)]
    batch: usize,
    /// Only the continuation: no prompt, no remarks
    #[arg(short, long)]
    quiet: bool,
}

/// Tokens of a prompt that go through the graph at a time, where nobody says how many.
pub const BATCH: usize = 256;

/// What to tell.
#[derive(Clone, Debug)]
pub struct Request {
    /// Text to continue.
    pub prompt: String,
    /// The most tokens to add.
    pub tokens: usize,
    /// Where.
    pub place: Placement,
    /// How to choose.
    pub sampling: sampler::Config,
    /// Positions.
    pub context: Option<usize>,
    /// Tokens of a prompt at a time.
    pub batch: usize,
    /// No remarks.
    pub quiet: bool,
}

/// Runs the command.
///
/// # Errors
/// Whatever is wrong with file, device or prompt.
pub fn run(args: &Args) -> Result {
    let seed = args.seed.unwrap_or_else(new_seed);
    let request = Request {
        prompt: prompt(args)?,
        tokens: args.tokens,
        place: args.place.clone(),
        sampling: sampler::Config {
            temperature: args.temp,
            top_k: args.top_k,
            top_p: args.top_p,
            min_p: args.min_p,
            repeat_penalty: args.repeat_penalty,
            seed,
            ..sampler::Config::CHAT
        },
        context: args.ctx,
        batch: args.batch,
        quiet: args.quiet,
    };
    // Mistakes on the command line before those in the file.
    args.load.load_aloud(args.quiet);
    let team = Team::new(&args.place)?;
    let report = tell(&Model::open(&args.model)?, &team, &request)?;
    if !request.quiet {
        report.notes().into_iter().for_each(output::note);
    }
    report.end()
}

/// The text to continue.
fn prompt(args: &Args) -> Result<String> {
    let Some(path) = &args.file else { return Ok(args.prompt.clone()) };
    let text = match path.to_str() {
        Some("-") => std::io::read_to_string(std::io::stdin()),
        _ => std::fs::read_to_string(path),
    };
    let text = text.map_err(|e| Error::at(path, format_args!("can't read the prompt: {e}")))?;
    // A line end that an editor put there is no part of the text.
    Ok(text.strip_suffix('\n').map_or(text.clone(), str::to_owned))
}

/// A seed that differs from run to run.
pub fn new_seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::process::id()) & u64::from(u32::MAX)
}

/// What happened.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Tokens of the prompt, and how long they took.
    pub prompt: (usize, Duration),
    /// Tokens of the continuation that were evaluated, and how long they took.
    pub generation: (usize, Duration),
    /// Why it ended, if neither the model nor the number of tokens ended it.
    pub remark: Option<String>,
    /// Whether Ctrl-C ended it.
    pub interrupted: bool,
    /// Seed of the random choice, if there was one.
    pub seed: Option<u64>,
}

fn per_second((n, time): (usize, Duration)) -> f64 {
    if n == 0 { 0.0 } else { n as f64 / time.as_secs_f64().max(1e-9) }
}

impl Report {
    /// Lines for people.
    pub fn notes(&self) -> Vec<String> {
        let part = |name: &str, what: (usize, Duration)| {
            format!(
                "{name}: {} tokens in {:.3} s, {:.1} tokens per second",
                what.0,
                what.1.as_secs_f64(),
                per_second(what)
            )
        };
        let mut notes = Vec::new();
        notes.extend(self.remark.clone());
        notes.push(part("prompt", self.prompt));
        notes.push(part("generation", self.generation));
        notes.extend(self.seed.map(|seed| format!("seed: {seed}")));
        notes
    }

    /// The command's result.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if it was.
    pub fn end(&self) -> Result {
        if self.interrupted { Err(Error::Interrupted) } else { Ok(()) }
    }
}

static STOP: AtomicBool = AtomicBool::new(false);

/// From here on Ctrl-C asks for an end; a second one takes it.
pub fn catch_interrupt() {
    // Without a handler Ctrl-C still ends the program, only less politely.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// Whether Ctrl-C was pressed.
pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Continues a text on standard output.
///
/// # Errors
/// Whatever is wrong with file, device or prompt.
pub fn tell(model: &Model, team: &Team, request: &Request) -> Result<Report> {
    catch_interrupt();
    let mut sampler = Sampler::new(request.sampling)?;
    let file = model.file()?;
    let header = file.header();
    let config = Config::read(header).map_err(|e| model.wrong(e))?;
    let tokenizer = Any::new(header).map_err(|e| model.wrong(e))?;
    check_vocabulary(model, tokenizer.vocab_len(), &config)?;
    let ids = tokenizer.tokens(request.prompt.as_bytes(), Options::PROMPT)?;
    if ids.is_empty() {
        return Err(Error::new("--prompt: this prompt makes no token; give at least one word"));
    }
    let context = context(request, &config, ids.len())?;
    let batch = ids.len().min(request.batch).max(1);
    let size = session::Options { batch, ..session::Options::context(context) };
    let large = format!("a --ctx below {context} takes less");
    engine::with_session(
        model,
        &file,
        team,
        &request.place,
        &size,
        request.quiet,
        &large,
        |session, at| {
            if !request.quiet {
                output::note(engine::headline(model, &file, at));
            }
            let mut teller = Teller {
                session,
                tokenizer,
                text: Utf8Stream::new(),
                piece: vec![0; 64],
                report: Report::default(),
            };
            if request.sampling.temperature > 0.0 {
                teller.report.seed = Some(request.sampling.seed);
            }
            teller.tell(model, request, &ids, &mut sampler)?;
            Ok(teller.report)
        },
    )
}

/// An error of the sampler: what the model computes is no choice of tokens.
fn nonsense(model: &Model, e: &sampler::Error) -> Error {
    match e {
        sampler::Error::NotFinite { .. } | sampler::Error::Empty => model
            .wrong(format_args!("{e}: the weights are damaged, fetch or convert the model anew")),
        _ => Error::new(e),
    }
}

/// Refuses a vocabulary that is not the one of the embedding: tokens could have no row, or rows no text.
fn check_vocabulary(model: &Model, tokens: u32, config: &Config) -> Result {
    if tokens as usize == config.vocab {
        return Ok(());
    }
    Err(model.wrong(format_args!(
        "tokenizer.ggml.tokens has {tokens} tokens but the embedding has {}: convert the model anew",
        config.vocab
    )))
}

/// How many positions to make room for.
fn context(request: &Request, config: &Config, prompt: usize) -> Result<usize> {
    let need = prompt.saturating_add(request.tokens.max(1));
    match request.context {
        Some(0) => Err(Error::new("--ctx 0: give at least the length of the prompt and 1 more")),
        Some(n) if prompt > n => Err(Error::new(format_args!(
            "--prompt: {prompt} tokens do not fit --ctx {n}; shorten the prompt or raise --ctx to {need}"
        ))),
        Some(n) => Ok(n),
        None if prompt > config.context => Err(Error::new(format_args!(
            "--prompt: {prompt} tokens do not fit the {} that the model was trained for; shorten the prompt, or \
             force it with --ctx {need}",
            config.context
        ))),
        None => Ok(need.min(config.context)),
    }
}

struct Teller<'a, 't> {
    session: &'a mut dyn Evaluate,
    tokenizer: Any<'t>,
    text: Utf8Stream,
    piece: Vec<u8>,
    report: Report,
}

impl Teller<'_, '_> {
    fn tell(
        &mut self,
        model: &Model,
        request: &Request,
        ids: &[u32],
        sampler: &mut Sampler,
    ) -> Result {
        let mut logits = vec![0.0; self.session.vocab()];
        let mut scratch = vec![0; sampler.config().scratch_len(logits.len())];
        let mut recent = ids.to_vec();
        if !request.quiet {
            let dim = style::DIM;
            output::piece(&format!("{dim}{}{dim:#}", request.prompt))?;
        }
        let start = Instant::now();
        let mut progress = Progress::new("prompt", ids.len() as u64, request.quiet);
        let evaluated = self.session.eval_with(ids, &mut logits, &mut |done| {
            progress.at(done as u64);
            if stopped() { Next::Stop } else { Next::Go }
        });
        drop(progress);
        self.report.prompt = (self.session.used(), start.elapsed());
        match evaluated {
            Err(session::Error::Core(dinrail::Error::Cancelled)) => {}
            other => other?,
        }
        let start = Instant::now();
        let mut made = 0;
        while made < request.tokens && !stopped() {
            let id = sampler
                .sample(&mut logits, &recent, &mut scratch)
                .map_err(|e| nonsense(model, &e))?;
            recent.push(id);
            if self.tokenizer.is_eog(id) {
                break;
            }
            self.print(id)?;
            made += 1;
            if made == request.tokens {
                break;
            }
            if self.session.left() == 0 {
                self.report.remark = Some(format!(
                    "stopped: all {} positions are in use; --ctx gives more",
                    self.session.context()
                ));
                break;
            }
            self.session.eval(&[id], &mut logits)?;
            self.report.generation = (self.report.generation.0 + 1, start.elapsed());
        }
        self.report.interrupted = stopped();
        let mut rest = Ok(());
        self.text.finish(|part| rest = output::story(part));
        rest?;
        output::line("")?;
        output::flush()
    }

    fn print(&mut self, id: u32) -> Result {
        let len = loop {
            match self.tokenizer.piece(id, false, &mut self.piece) {
                Err(tokenizer::Error::Bytes { need, .. }) if need > self.piece.len() => {
                    self.piece.resize(need, 0);
                }
                other => break other?,
            }
        };
        let mut result = Ok(());
        self.text.push(self.piece.get(..len).unwrap_or(&[]), |part| {
            if result.is_ok() {
                result = output::story(part);
            }
        });
        result.and_then(|()| output::flush())
    }
}
