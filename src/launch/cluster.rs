//! Clusters: blocks of the grid that run together and reach each other's shared memory.
//!
//! What holds after [`Launch::clusters`]: the grid is a whole number of clusters in each direction,
//! and a cluster has at most [`MAX_CLUSTER`] blocks.

use super::error::LaunchError;
use super::request::Launch;

/// Blocks of a cluster at most. All devices with clusters take 8; up to 16 an H100 takes where the
/// host allows a size that is not portable (CUDA C++ Programming Guide, "Thread Block Clusters"),
/// as every engine here does.
pub const MAX_CLUSTER: u64 = 16;

/// What a kernel says of its clusters (PTX ISA, "Cluster Dimension Directives").
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClusterRules {
    /// `.reqnctapercluster`: the shape, which a launch may repeat.
    pub required: Option<[u32; 3]>,
    /// `.explicitcluster`: without a required shape the launch must give one.
    pub explicit: bool,
    /// `.maxclusterrank`: blocks of a cluster at most.
    pub max_blocks: Option<u32>,
    /// `.blocksareclusters`: the launch's grid counts clusters.
    pub blocks_are_clusters: bool,
}

/// The clusters of one launch of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clusters {
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Blocks of a cluster.
    pub shape: [u32; 3],
    /// Launch or kernel named the shape; otherwise each block is a cluster of its own.
    pub explicit: bool,
}

impl Clusters {
    /// Blocks of a cluster.
    pub fn blocks(&self) -> u32 {
        self.shape.iter().product()
    }
}

impl Launch {
    /// The clusters of this launch of a kernel that has these rules.
    ///
    /// # Errors
    /// A shape that the kernel or the device does not take, or that does not divide the grid.
    pub fn clusters(&self, rules: &ClusterRules) -> Result<Clusters, LaunchError> {
        let entry = &self.entry;
        let error = |text| Err(LaunchError::Shape(text));
        let name = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
        let given = self.cluster.or(rules.required);
        if given.is_none() && (rules.explicit || rules.blocks_are_clusters) {
            return error(format!("kernel `{entry}` needs a cluster shape, the launch gives none"));
        }
        let shape = given.unwrap_or([1; 3]);
        if let Some(required) = rules.required.filter(|required| *required != shape) {
            return error(format!(
                "kernel `{entry}` needs clusters of {} blocks, not {}",
                name(required),
                name(shape)
            ));
        }
        let blocks = shape.iter().map(|n| u64::from(*n)).fold(1, u64::saturating_mul);
        if blocks == 0 {
            return error("a cluster must have at least 1 block in each direction".to_string());
        }
        if blocks > MAX_CLUSTER {
            return error(format!(
                "a cluster of {} blocks is more than {MAX_CLUSTER} blocks",
                name(shape)
            ));
        }
        if let Some(max) = rules.max_blocks.filter(|max| blocks > u64::from(*max)) {
            return error(format!(
                "kernel `{entry}` takes clusters of at most {max} blocks, not {}",
                name(shape)
            ));
        }
        let mut grid = self.grid;
        for (grid, cluster) in grid.iter_mut().zip(shape) {
            if rules.blocks_are_clusters {
                *grid = grid.saturating_mul(cluster);
            } else if !grid.is_multiple_of(cluster) {
                return error(format!(
                    "a grid of {} blocks is no whole number of clusters of {}",
                    name(self.grid),
                    name(shape)
                ));
            }
        }
        Ok(Clusters { grid, shape, explicit: given.is_some() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(grid: [u32; 3], cluster: Option<[u32; 3]>) -> Launch {
        Launch { entry: "k".into(), grid, cluster, ..Launch::default() }
    }

    fn error(launch: &Launch, rules: &ClusterRules) -> String {
        launch.clusters(rules).unwrap_err().to_string()
    }

    #[test]
    fn a_launch_without_clusters_has_one_block_in_each() {
        let clusters = launch([3, 1, 1], None).clusters(&ClusterRules::default()).unwrap();
        assert_eq!(clusters, Clusters { grid: [3, 1, 1], shape: [1; 3], explicit: false });
    }

    #[test]
    fn the_launch_or_the_kernel_gives_the_shape() {
        let required = ClusterRules { required: Some([2, 1, 1]), ..ClusterRules::default() };
        for cluster in [None, Some([2, 1, 1])] {
            let clusters = launch([4, 1, 1], cluster).clusters(&required).unwrap();
            assert_eq!((clusters.shape, clusters.explicit), ([2, 1, 1], true));
        }
        let text = error(&launch([4, 1, 1], Some([4, 1, 1])), &required);
        assert_eq!(text, "kernel `k` needs clusters of 2 x 1 x 1 blocks, not 4 x 1 x 1");
        let explicit = ClusterRules { explicit: true, ..ClusterRules::default() };
        assert!(error(&launch([4, 1, 1], None), &explicit).contains("needs a cluster shape"));
        assert!(launch([4, 1, 1], Some([1; 3])).clusters(&explicit).is_ok());
    }

    #[test]
    fn shapes_beyond_the_device_or_the_kernel_are_refused() {
        let any = ClusterRules::default();
        assert!(launch([16, 2, 1], Some([8, 2, 1])).clusters(&any).is_ok());
        assert!(error(&launch([32, 1, 1], Some([32, 1, 1])), &any).contains("more than 16"));
        assert!(error(&launch([3, 1, 1], Some([2, 1, 1])), &any).contains("no whole number"));
        assert!(error(&launch([3, 1, 1], Some([0, 1, 1])), &any).contains("at least 1"));
        assert!(error(&launch([3, 1, 1], Some([u32::MAX; 3])), &any).contains("more than 16"));
        let small = ClusterRules { max_blocks: Some(4), ..any };
        assert!(error(&launch([8, 1, 1], Some([8, 1, 1])), &small).contains("at most 4 blocks"));
    }

    #[test]
    fn a_grid_may_count_clusters() {
        let rules = ClusterRules {
            required: Some([2, 3, 1]),
            blocks_are_clusters: true,
            ..ClusterRules::default()
        };
        assert_eq!(launch([5, 1, 1], None).clusters(&rules).unwrap().grid, [10, 3, 1]);
    }
}
