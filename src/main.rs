fn main() -> std::process::ExitCode {
    orias::cli::main()
}
