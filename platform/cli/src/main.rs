//! The program `dinrail`.

fn main() -> std::process::ExitCode {
    dinrail_cli::main()
}
