//! What several commands take on the command line, and what is said about values that can't be.

use std::ffi::OsString;

/// Where to run.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Placement {
    /// Device to run on, by name or kind (gpu, igpu, cpu, accel), instead of the best one
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Threads, for devices that use the host's
    #[arg(short, long, value_name = "T", value_parser = count, allow_negative_numbers = true)]
    pub threads: Option<usize>,
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
