//! `dinrail bench`

use crate::args::{self, Placement};
use crate::engine::{self, Model};
use crate::output::{self, Align, Progress, Table};
use crate::team::Team;
use crate::{Error, Result, run};
use dinrail_llm::sampler::Rng;
use dinrail_llm::session::{self, Evaluate, Next, Options};
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Model file (GGUF)
    #[arg(short, long, value_name = "FILE")]
    model: PathBuf,
    /// Tokens of the prompt; 0 leaves the test out
    #[arg(short = 'p', long, visible_alias = "n-prompt", value_name = "N", default_value_t = 128,
        value_parser = args::count, allow_negative_numbers = true)]
    prompt: usize,
    /// Tokens to generate; 0 leaves the test out
    #[arg(short = 'n', long, visible_alias = "n-gen", value_name = "N", default_value_t = 64,
        value_parser = args::count, allow_negative_numbers = true)]
    tokens: usize,
    #[command(flatten)]
    place: Placement,
    #[command(flatten)]
    load: crate::load::Choice,
    /// Repetitions of each test
    #[arg(short, long, visible_alias = "repetitions", value_name = "REPS", default_value_t = 5,
        value_parser = args::count, allow_negative_numbers = true)]
    reps: usize,
    /// Tokens of a prompt that go through the graph at a time
    #[arg(short, long, visible_alias = "batch-size", value_name = "N", default_value_t = 512,
        value_parser = args::count, allow_negative_numbers = true)]
    batch: usize,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// One test's numbers.
struct Outcome {
    prompt: usize,
    tokens: usize,
    seconds: Vec<f64>,
}

fn mean(x: impl Iterator<Item = f64> + Clone) -> f64 {
    x.clone().sum::<f64>() / x.count().max(1) as f64
}

/// Standard deviation of a sample.
fn deviation(x: impl Iterator<Item = f64> + Clone) -> f64 {
    let (m, n) = (mean(x.clone()), x.clone().count());
    if n < 2 { 0.0 } else { (x.map(|v| (v - m).powi(2)).sum::<f64>() / (n - 1) as f64).sqrt() }
}

impl Outcome {
    fn name(&self) -> String {
        if self.prompt > 0 { format!("pp{}", self.prompt) } else { format!("tg{}", self.tokens) }
    }

    fn speeds(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        let n = (self.prompt + self.tokens) as f64;
        self.seconds.iter().map(move |s| n / s.max(1e-12))
    }
}

/// Measures.
///
/// # Errors
/// Whatever is wrong with file or device, or sizes that leave nothing to measure.
pub fn run(args: &Args) -> Result {
    if args.reps == 0 || (args.prompt == 0 && args.tokens == 0) {
        return Err(Error::new("nothing to measure: -r and one of -p and -n must be 1 or more"));
    }
    run::catch_interrupt();
    args.load.load_aloud(args.json);
    let team = Team::new(&args.place)?;
    let threads = args.place.threads.unwrap_or_else(default_threads);
    let model = Model::open(&args.model)?;
    let file = model.file()?;
    let context = args.prompt.max(args.tokens);
    let options = Options { batch: args.batch.max(1), ..Options::context(context) };
    let large = "smaller -p and -n take less";
    let elements: u64 = file.tensors().map(|t| t.ne.iter().product::<u64>()).sum();
    let mut outcomes = Vec::new();
    let at = engine::with_session(
        &model,
        &file,
        &team,
        &args.place,
        &options,
        args.json,
        large,
        |session, at| {
            let tests = [(args.prompt, 0), (0, args.tokens)];
            for (prompt, tokens) in tests.into_iter().filter(|(p, n)| p + n > 0) {
                let seconds = measure(session, prompt, tokens, args)?;
                outcomes.push(Outcome { prompt, tokens, seconds });
            }
            Ok(at.clone())
        },
    )?;
    if args.json {
        let rows: Vec<serde_json::Value> = outcomes
            .iter()
            .map(|o| {
                json!({
                    "test": o.name(),
                    "n_prompt": o.prompt,
                    "n_gen": o.tokens,
                    "avg_ns": (mean(o.seconds.iter().copied()) * 1e9) as u64,
                    "stddev_ns": (deviation(o.seconds.iter().copied()) * 1e9) as u64,
                    "avg_ts": mean(o.speeds()),
                    "stddev_ts": deviation(o.speeds()),
                    "samples_ts": o.speeds().collect::<Vec<_>>(),
                    "n_threads": threads,
                    "n_batch": args.batch,
                    "device": at.name,
                    "level": at.level,
                    // As llama-bench has it, -1 for all.
                    "n_gpu_layers": args.place.gpu_layers.map(|n| i64::try_from(n).unwrap_or(-1)),
                    "model": args.model.display().to_string(),
                    "model_size": file.as_bytes().len(),
                    "model_n_params": elements,
                })
            })
            .collect();
        return output::json(&json!(rows));
    }
    let mut table = Table::new(&[
        ("model", Align::Left),
        ("size", Align::Right),
        ("device", Align::Left),
        ("level", Align::Left),
        ("threads", Align::Right),
        ("test", Align::Left),
        ("tokens/s", Align::Right),
    ]);
    for o in &outcomes {
        table.row(vec![
            args.model.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            output::bytes(file.as_bytes().len() as u64),
            at.name.clone(),
            at.level.to_owned(),
            threads.to_string(),
            o.name(),
            format!("{:.2} ± {:.2}", mean(o.speeds()), deviation(o.speeds())),
        ]);
    }
    table.print()
}

fn default_threads() -> usize {
    use dinrail::hal::host::Threads as _;
    dinrail::host::THREADS.default_count()
}

/// Seconds of each repetition, after one that warms everything up.
fn measure(
    session: &mut dyn Evaluate,
    prompt: usize,
    tokens: usize,
    args: &Args,
) -> Result<Vec<f64>> {
    let mut rng = Rng::new(1);
    let vocab = session.vocab() as u32;
    let ids: Vec<u32> = (0..prompt + tokens).map(|_| rng.next_u32() % vocab).collect();
    let mut logits = vec![0.0; session.vocab()];
    let mut seconds = Vec::new();
    let mut progress = Progress::new("measuring", (args.reps as u64).saturating_add(1), args.json);
    for rep in 0..=args.reps {
        session.reset();
        let start = Instant::now();
        if prompt > 0 {
            let mut go = |_| if run::stopped() { Next::Stop } else { Next::Go };
            match session.eval_with(&ids, &mut logits, &mut go) {
                Err(session::Error::Core(dinrail::Error::Cancelled)) => {
                    return Err(Error::Interrupted);
                }
                other => other?,
            }
        } else {
            for id in &ids {
                session.eval(core::slice::from_ref(id), &mut logits)?;
                if run::stopped() {
                    return Err(Error::Interrupted);
                }
            }
        }
        if rep > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
        if run::stopped() {
            return Err(Error::Interrupted);
        }
        progress.at(rep as u64 + 1);
    }
    Ok(seconds)
}
