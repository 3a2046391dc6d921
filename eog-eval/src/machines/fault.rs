//! What goes wrong in a plant, and where it begins.

use eog_simulate::Stream;

use super::plant::{Place, Plant};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    /// The drive or the feedback of an actuator does not follow its command.
    NoResponse { station: usize, actuator: usize, at_drive: bool },
    /// The feedback goes away without a command.
    Unasked { station: usize, actuator: usize },
    /// The feedback comes this many times later than usual.
    Late { station: usize, actuator: usize, times: f64 },
    /// A command out of its turn.
    OutOfOrder { station: usize, actuator: usize },
    /// A feedback that goes on and off.
    Chatter { station: usize, actuator: usize },
    /// A value that falls by so much a second, whatever the controller does.
    Drift { number: usize, rate: f64 },
    /// A value that is no longer read.
    Hang { number: usize },
    /// A controller that no longer switches.
    DeadController { number: usize },
    /// A setpoint that is moved by so much.
    Setpoint { number: usize, by: f64 },
}

/// What goes wrong, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) what: What,
    /// Second of the run.
    pub(super) at: f64,
}

impl Fault {
    pub(super) fn draw(plant: &Plant, at: f64, draw: &mut Stream) -> Self {
        let station = draw.position(plant.stations.len());
        let actuators = &plant.stations[station].actuators;
        let actuator = draw.position(actuators.len());
        let number = draw.position(plant.loops.len());
        let has_drive = actuators[actuator].drive.is_some();
        let what = match draw.below(10) {
            0 | 1 => {
                let at_drive = has_drive && draw.chance(0.5);
                What::NoResponse { station, actuator, at_drive }
            }
            2 => What::Unasked { station, actuator },
            3 => What::Late { station, actuator, times: 9.0 + 4.0 * draw.share() },
            4 => What::OutOfOrder { station, actuator },
            5 => What::Chatter { station, actuator },
            6 => What::Drift { number, rate: 0.3 + 0.5 * draw.share() },
            7 => What::Hang { number },
            8 => What::DeadController { number },
            _ => {
                let by = (4.0 + 3.0 * draw.share()) * if draw.chance(0.5) { 1.0 } else { -1.0 };
                What::Setpoint { number, by: (by * 10.0).round() / 10.0 }
            }
        };
        Self { what, at }
    }

    /// Where it begins, and what kind it is.
    pub(super) fn cause(&self, plant: &Plant) -> (Place, &'static str) {
        let of = |station: usize, actuator: usize| &plant.stations[station].actuators[actuator];
        match self.what {
            What::NoResponse { station, actuator, at_drive } => {
                let one = of(station, actuator);
                let drive = one.drive.filter(|_| at_drive);
                (drive.unwrap_or(one.feedback), "no response")
            }
            What::Unasked { station, actuator } => {
                (of(station, actuator).feedback, "response without command")
            }
            // Where there is a drive, it is the drive that takes so long.
            What::Late { station, actuator, .. } => {
                let one = of(station, actuator);
                (one.drive.unwrap_or(one.feedback), "late")
            }
            What::OutOfOrder { station, actuator } => {
                (of(station, actuator).command, "out of order")
            }
            What::Chatter { station, actuator } => (of(station, actuator).feedback, "chatter"),
            What::Drift { number, .. } => (plant.loops[number].value, "drift"),
            What::Hang { number } => (plant.loops[number].value, "hang"),
            What::DeadController { number } => (plant.loops[number].controller, "dead controller"),
            What::Setpoint { number, .. } => (plant.loops[number].setpoint, "setpoint"),
        }
    }
}
