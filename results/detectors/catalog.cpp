// results/detectors/catalog.cpp — All detectors of our own, one line each. Their order means nothing:
// settling is done after.
#include "results/detectors/checkpoint_integrity.h"
#include "results/detectors/checkpoint_save.h"
#include "results/detectors/collective_hang.h"
#include "results/detectors/collective_mismatch.h"
#include "results/detectors/collective_timeout.h"
#include "results/detectors/detect.h"
#include "results/detectors/device_fault.h"
#include "results/detectors/device_memory.h"
#include "results/detectors/environment_fault.h"
#include "results/detectors/host_exhaustion.h"
#include "results/detectors/inference_inconsistency.h"
#include "results/detectors/loading_failure.h"
#include "results/detectors/loss_anomaly.h"
#include "results/detectors/low_throughput.h"
#include "results/detectors/native_crash.h"
#include "results/detectors/package_failure.h"
#include "results/detectors/parallel_mismatch.h"
#include "results/detectors/peer_connection.h"
#include "results/detectors/rank_order.h"
#include "results/detectors/replica_divergence.h"
#include "results/detectors/reshard.h"
#include "results/detectors/restart_failure.h"
#include "results/detectors/resume_regression.h"
#include "results/detectors/runtime_exception.h"
#include "results/detectors/sample_coverage.h"
#include "results/detectors/setup_failure.h"
#include "results/detectors/setup_hang.h"
#include "results/detectors/shard_mismatch.h"
#include "results/detectors/straggler.h"
#include "results/detectors/tensor_shape.h"
#include "results/detectors/test_failure.h"
#include "results/detectors/transport_degraded.h"
#include "results/detectors/unbalanced_memory.h"
#include "results/detectors/unexpected_parallelization.h"
#include "results/detectors/value_wrong.h"
#include "results/detectors/version_skew.h"
#include "results/detectors/wrong_device.h"

namespace deadrank::results {

namespace {

template <class... All>
Detectors make() {
    Detectors detectors;
    (detectors.push_back(std::make_unique<All>()), ...);
    return detectors;
}

}  // namespace

Detectors all_detectors() {
    return make<detectors::VersionSkew, detectors::EnvironmentFault, detectors::RankOrder,
                detectors::SetupFailure, detectors::SetupHang, detectors::CollectiveMismatch,
                detectors::CollectiveHang, detectors::CollectiveTimeout, detectors::PeerConnection,
                detectors::TransportDegraded, detectors::ShardMismatch, detectors::ReplicaDivergence,
                detectors::Straggler, detectors::LowThroughput, detectors::LossAnomaly, detectors::ValueWrong,
                detectors::ParallelMismatch, detectors::InferenceInconsistency, detectors::DeviceMemory,
                detectors::UnbalancedMemory, detectors::HostExhaustion, detectors::CheckpointSave,
                detectors::CheckpointIntegrity, detectors::Reshard, detectors::ResumeRegression,
                detectors::SampleCoverage, detectors::UnexpectedParallelization, detectors::DeviceFault,
                detectors::WrongDevice, detectors::PackageFailure, detectors::LoadingFailure,
                detectors::RuntimeException, detectors::NativeCrash, detectors::TensorShape,
                detectors::RestartFailure, detectors::TestFailure>();
}

}  // namespace deadrank::results
