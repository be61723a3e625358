//! Watches a Mac while scenarios run: what the machine did is not held against the patches.
use super::on_metal::Canary;
use crate::device::metal::{Gpu, MetalError, Wake};
use crate::run::job::{Arm, Job, JobResult, Outcome};
use crate::run::scenarios::{Guard, ScenarioError, Standing};
use std::collections::BTreeMap;

/// What Metal says when the GPU is gone.
const LOST: [&str; 3] = [
    "DeviceRemoved",
    "IOGPUCommandBufferCallbackErrorInvalidResource",
    "GPU device has been removed",
];

/// The watch.
#[derive(Debug)]
pub(super) struct Watch {
    woken: Wake,
    canaries: BTreeMap<Arm, Canary>,
    gpu: Gpu,
}

impl Watch {
    pub(super) fn new(canaries: BTreeMap<Arm, Canary>, gpu: Gpu) -> Result<Self, MetalError> {
        Ok(Self {
            woken: Wake::now()?,
            canaries,
            gpu,
        })
    }

    fn sound(&self, arm: Arm) -> Result<(), MetalError> {
        match self.canaries.get(&arm) {
            Some(canary) => canary.check(&self.gpu),
            None => Ok(()),
        }
    }

    fn look(&self, job: &Job, result: &JobResult, attempts: u32) -> Result<Standing, MetalError> {
        self.woken.still()?;
        let said = &result.last_output;
        if let Some(line) = said
            .lines()
            .find(|line| LOST.iter().any(|mark| line.contains(mark)))
        {
            return Err(MetalError::Lost {
                what: job.to_string(),
                said: line.trim().to_owned(),
            });
        }
        match &result.outcome {
            Outcome::Crashed { by } if by.starts_with("SIGKILL") => {
                if attempts >= 2 {
                    return Err(MetalError::Killed {
                        what: job.to_string(),
                    });
                }
                Ok(Standing::Again)
            }
            Outcome::Crashed { .. } | Outcome::TimedOut { .. } | Outcome::Error { .. } => {
                // is it the program or the device? a device that the baseline cannot use either is not the patches' doing
                self.sound(Arm::Baseline)?;
                Ok(Standing::Counts)
            }
            _ => Ok(Standing::Counts),
        }
    }
}

impl Guard for Watch {
    fn examine(
        &self,
        job: &Job,
        result: &JobResult,
        attempts: u32,
    ) -> Result<Standing, ScenarioError> {
        self.look(job, result, attempts)
            .map_err(|error| ScenarioError::Halted(Box::new(error)))
    }
}
