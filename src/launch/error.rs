//! Why a launch cannot start.

/// A launch that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("argument `{text}`: {why}")]
    Argument { text: String, why: String },
    #[error("argument `{text}`: {path}: {error}")]
    File { text: String, path: String, error: std::io::Error },
    #[error("{path}: {error}")]
    Output { path: String, error: std::io::Error },
    #[error("there is no kernel `{name}`{}", list(.kernels))]
    NoKernel { name: String, kernels: Vec<String> },
    #[error("kernel `{entry}` has {expected} parameters, the launch gives {given} arguments")]
    ArgumentCount { entry: String, expected: usize, given: usize },
    #[error("argument {index} of kernel `{entry}`: {why}")]
    Mismatch { entry: String, index: usize, why: String },
    #[error("{0}")]
    Shape(String),
}

pub fn list(kernels: &[String]) -> String {
    if kernels.is_empty() {
        "; the file has none".to_string()
    } else {
        format!("; the file has {}", kernels.join(", "))
    }
}
