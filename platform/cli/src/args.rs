//! What several commands take on the command line, and what is said about values that can't be.

use std::ffi::OsString;

/// Where to run.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Placement {
    /// Device to run on, by name or kind (gpu, igpu, cpu, accel), instead of the best one; several share the layers
    #[arg(long, value_name = "NAME[,NAME]")]
    pub device: Option<String>,
    /// How many of the model's layers go to the devices, counted from the end, where the output is one more; the CPU has
    /// the others
    #[arg(long, visible_alias = "n-gpu-layers", value_name = "N", value_parser = layers, allow_negative_numbers = true)]
    pub gpu_layers: Option<usize>,
    /// Shares of the devices in these layers, in their order; by free memory if left out
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = amount, allow_negative_numbers = true)]
    pub tensor_split: Vec<f32>,
    /// Never lets a device compute products of weights that it would have to fetch
    #[arg(long, visible_alias = "no-op-offload")]
    pub no_offload: bool,
    /// Leaves weights as they are in the file, also where the device has memory that re-orders them for its kernels
    #[arg(long)]
    pub no_repack: bool,
    /// Batches of a prompt that may be under way at a time on several devices
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = copies, allow_negative_numbers = true)]
    pub copies: usize,
    /// Shows what is computed where, what is copied, and the memory that it takes, before any is taken
    #[arg(long)]
    pub split: bool,
    /// Gives each device but the CPU memory of its own, as if it were a graphics card: to try splits without one
    #[arg(long)]
    pub apart: bool,
    /// Threads, for devices that use the host's
    #[arg(short, long, value_name = "T", value_parser = count, allow_negative_numbers = true)]
    pub threads: Option<usize>,
}

/// A number of layers, or all.
///
/// # Errors
/// What to give instead.
pub fn layers(text: &str) -> Result<usize, String> {
    match text {
        "all" | "auto" => Ok(usize::MAX),
        _ => count(text).map_err(|e| format!("{e}, or all")),
    }
}

fn copies(text: &str) -> Result<usize, String> {
    let most = dinrail::sched::MAX_COPIES;
    match text.parse() {
        Ok(n) if (1..=most).contains(&n) => Ok(n),
        _ => Err(format!("give a number from 1 to {most}")),
    }
}

/// A number of something: whole, 0 or more.
///
/// # Errors
/// What to give instead.
pub fn count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "give a whole number, 0 or more".to_owned())
}

/// A number that is neither infinite nor negative.
///
/// # Errors
/// What to give instead.
pub fn amount(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(x) if x.is_finite() && x >= 0.0 => Ok(x),
        _ => Err("give a number of 0 or more, such as 0.8".to_owned()),
    }
}

/// A share from 0 to 1.
///
/// # Errors
/// What to give instead.
pub fn share(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(x) if (0.0..=1.0).contains(&x) => Ok(x),
        _ => Err("give a number from 0 to 1".to_owned()),
    }
}

/// The options of llama.cpp that are one dash and several letters, as the long options that they are here.
const LETTERS: &[(&str, &str)] = &[
    ("-ngl", "--gpu-layers"),
    ("-ts", "--tensor-split"),
    ("-dev", "--device"),
    ("-nopo", "--no-offload"),
];

/// Arguments with llama.cpp's short options spelt out.
pub fn spelt_out(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut open = true;
    args.map(|arg| {
        open &= arg != "--";
        match LETTERS.iter().find(|(letters, _)| open && arg == *letters) {
            Some((_, long)) => (*long).into(),
            None => arg,
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_cannot_be_are_refused_with_advice() {
        assert_eq!(count("12"), Ok(12));
        for text in ["-1", "1.5", "", "many", "99999999999999999999"] {
            assert!(count(text).unwrap_err().contains("whole number"), "{text}");
        }
        assert_eq!(amount("0.5"), Ok(0.5));
        for text in ["inf", "nan", "-1", "warm"] {
            assert!(amount(text).unwrap_err().contains("0 or more"), "{text}");
        }
        assert_eq!(share("1"), Ok(1.0));
        assert!(share("1.01").is_err() && share("nan").is_err() && share("-0.1").is_err());
    }

    #[test]
    fn short_options_of_llama_cpp_are_understood() {
        let args = ["run", "-ngl", "3", "-ts", "1,1", "--", "-ngl"].map(OsString::from);
        let long = ["run", "--gpu-layers", "3", "--tensor-split", "1,1", "--", "-ngl"];
        assert_eq!(spelt_out(args.into_iter()), long);
    }
}
