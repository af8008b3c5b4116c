//! Why a launch cannot start.

/// A launch that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The text of an `--arg` does not say what it must.
    #[error("argument `{text}`: {why}")]
    Argument {
        /// What was given.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file that an `--arg` names cannot be read.
    #[error("argument `{text}`: {path}: {error}")]
    File {
        /// What was given.
        text: String,
        /// The file in it.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// A buffer cannot be written to its file.
    #[error("{path}: {error}")]
    Output {
        /// The file.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// The file has no such kernel.
    #[error("there is no kernel `{name}`{}", list(.kernels))]
    NoKernel {
        /// The name that was asked for.
        name: String,
        /// Names of those that it has.
        kernels: Vec<String>,
    },
    /// There is not one argument for each parameter.
    #[error("kernel `{entry}` has {expected} parameters, the launch gives {given} arguments")]
    ArgumentCount {
        /// The kernel.
        entry: String,
        /// Its parameters.
        expected: usize,
        /// The launch's arguments.
        given: usize,
    },
    /// An argument does not fit its parameter.
    #[error("argument {index} of kernel `{entry}`: {why}")]
    Mismatch {
        /// The kernel.
        entry: String,
        /// Of the argument, from 0 on.
        index: usize,
        /// What does not fit.
        why: String,
    },
    /// What is wrong with grid, block, cluster or shared memory.
    #[error("{0}")]
    Shape(String),
}

/// The kernels of a file, as the end of a sentence.
pub fn list(kernels: &[String]) -> String {
    if kernels.is_empty() {
        "; the file has none".to_string()
    } else {
        format!("; the file has {}", kernels.join(", "))
    }
}
